"""What notebooks show, in functions: tables and pictures that read well on light and on dark."""
