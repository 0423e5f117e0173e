"""Precision what-ifs: autocast, mixed precision, another element type."""
