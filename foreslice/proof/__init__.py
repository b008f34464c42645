"""Replays of recorded demand: what foreslice and its rivals would have held, and left unserved."""
