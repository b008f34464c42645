"""What a forecast is worth: capacity held with and without it, at equal work left unserved."""
