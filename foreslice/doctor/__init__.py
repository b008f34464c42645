"""What is wrong with manifests and clusters, and how it is put right."""
