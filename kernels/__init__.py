"""Microbenchmark kernels that measure the ceilings of a machine."""
