"""Cost of a step of a serving engine: its kernels at any sizes, and the memory it needs."""
