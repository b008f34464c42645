"""How shapes are made real, one way per module."""
