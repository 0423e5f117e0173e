"""Gradients of `perfc.ir.ops.quantized`."""
