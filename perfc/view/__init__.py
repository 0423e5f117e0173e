"""Outputs for readers and tools: reports, pages, charts, annotated models."""
