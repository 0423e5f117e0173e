"""Public sources: one file each, discovered by import."""
