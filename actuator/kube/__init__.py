"""A real Kubernetes cluster behind `actuator.ports.Cluster`: raw JSON in, server-side apply out."""
