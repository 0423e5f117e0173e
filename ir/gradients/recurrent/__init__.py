"""Gradients of `perfc.ir.ops.recurrent`."""
