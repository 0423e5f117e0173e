"""Bounded readers of ONNX files."""
