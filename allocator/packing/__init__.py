"""Packing: which configuration each workload takes and how each card is cut, with a certified bound."""
