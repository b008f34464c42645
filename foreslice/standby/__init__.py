"""The standby pool in the service."""
