"""A scrape read as foreslice reads it: normalised signals with their sources, and what is doubtful."""
