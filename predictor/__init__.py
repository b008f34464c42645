"""Signals in, calibrated peaks of work out."""
