"""Gradients of `perfc.ir.ops.movement`."""
