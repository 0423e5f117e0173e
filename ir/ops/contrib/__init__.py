"""ONNX Runtime operators that belong to no other family."""
