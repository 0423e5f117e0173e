"""Readers that lower a model into the performance IR."""
