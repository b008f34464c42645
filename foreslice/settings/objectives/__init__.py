"""Objectives as other tools write them, read into our own words."""
