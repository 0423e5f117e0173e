"""Fused operators written out as operators that have gradients."""
