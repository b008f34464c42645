"""Change sets in, cluster changed: observe, diff, execute, verify."""
