"""Gradients of `perfc.ir.ops.normalization`."""
