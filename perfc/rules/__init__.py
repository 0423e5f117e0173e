"""Rules of the linter, one file each: found by looking, documented by their docstrings."""
