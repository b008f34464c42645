"""Ledgers of cards that are shared, each in the arithmetic of the scheduler that keeps it.

Pure and exact: what a scheduler would grant, refuse and charge is worked out with its own roundings, so
that a plan holds when it is carried out.
"""
