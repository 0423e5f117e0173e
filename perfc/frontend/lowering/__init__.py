"""Lowering of ONNX graphs to the IR."""
