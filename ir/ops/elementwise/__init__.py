"""Elementwise operators: arithmetic, activations, casts, dropout and random tensors."""
