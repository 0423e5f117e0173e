"""Quantization, and operators on quantized tensors."""
