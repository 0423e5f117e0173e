"""Gradients of `perfc.ir.ops.contraction`."""
