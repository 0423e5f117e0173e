"""What would make room: one change, one file; each offers ways of running the same model."""
