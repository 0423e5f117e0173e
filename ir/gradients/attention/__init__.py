"""Gradients of `perfc.ir.ops.attention`."""
