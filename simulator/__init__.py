"""Worlds and rivals: a GPU fleet under a virtual clock, its engines and agents, and the policies to beat."""
