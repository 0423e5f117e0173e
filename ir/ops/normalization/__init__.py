"""Normalizations, softmax and reductions."""
