"""Gradients of operators outside the families of layers."""
