"""StableHLO programs, parsed by JAX's library in another process."""
