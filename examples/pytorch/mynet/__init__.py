"""A small network."""
