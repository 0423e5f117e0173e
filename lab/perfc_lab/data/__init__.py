"""Measured rows that others published: where they are, how to get them, how they become tables."""
