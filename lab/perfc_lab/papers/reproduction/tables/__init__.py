"""One paper, one file with its tables."""
