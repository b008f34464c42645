"""Kubernetes objects as plain JSON to and from foreslice's own words; every cluster adapter uses these."""
