"""Gradients of `perfc.ir.ops.resampling`."""
