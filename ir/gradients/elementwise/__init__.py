"""Gradients of `perfc.ir.ops.elementwise`."""
