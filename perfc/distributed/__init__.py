"""A training step on many devices: parallelism, exchanges, memory, and what is best."""
