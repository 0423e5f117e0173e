"""Symbolic extents and their numbers."""
