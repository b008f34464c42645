"""Models at any URL: kept with what proves them, loaded without unpickling, promoted only if they won."""
