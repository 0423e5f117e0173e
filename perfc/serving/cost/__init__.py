"""What a step of a serving engine costs: its kernels at any sizes, and the memory it needs."""
