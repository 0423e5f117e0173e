"""Types of values and contents known before a run."""
