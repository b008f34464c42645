"""The standby pool in a cluster: whose turn a slice is, and how engines are woken and put back to sleep."""
