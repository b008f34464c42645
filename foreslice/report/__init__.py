"""The page that a replay leaves behind: one file, no assets from elsewhere."""
