"""A training step on many devices: parallelism, its exchanges, its memory, and which one is best."""
