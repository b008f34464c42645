"""How often the device plugin offers the cards of a node, one idea per module."""
