"""The decision core: need in, configuration and layout out, with reasons. Pure functions."""
