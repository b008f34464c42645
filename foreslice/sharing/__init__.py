"""Who shares which card: read from a cluster and its metrics, or from what was dumped of both."""
