"""Nsight Compute reports as hierarchical rooflines: counters to flop, seconds and bytes."""
