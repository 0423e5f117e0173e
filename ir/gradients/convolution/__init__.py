"""Gradients of `perfc.ir.ops.convolution`."""
