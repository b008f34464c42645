"""What `from foreslice import ...` gives to notebooks and other programs."""
