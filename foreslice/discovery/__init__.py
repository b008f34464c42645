"""What there is in a cluster and its Prometheus, proposed as settings, and settings proved against it."""
