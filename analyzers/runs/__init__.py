"""Predicts runs from kernels: copies, launches, hosts, streams, energy, whole-run predictors."""
