"""Operating points out of benchmark files, a module for each format."""
