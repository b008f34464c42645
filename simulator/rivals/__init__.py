"""What a run is compared with, where it is not foreslice: one rule each, as it was published."""
