"""Matching of what a runtime timed to analyzed kernels, and their comparison."""
