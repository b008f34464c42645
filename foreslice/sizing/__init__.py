"""Sizes asked for by a person: what a shape carries, and what an SLO costs, before anything is set."""
