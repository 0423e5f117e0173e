"""Changes that save memory, one per file; each offers ways to run the same model."""
