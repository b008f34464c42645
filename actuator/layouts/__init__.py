"""MIG layouts of nodes as the MIG manager makes them: named configurations, and what changing them takes."""
