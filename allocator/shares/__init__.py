"""Where on shared cards a replica goes: expected fragmentation under the mix that is still to come."""
