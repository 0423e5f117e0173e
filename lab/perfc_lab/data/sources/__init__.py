"""Public sources: one file each, found by looking."""
