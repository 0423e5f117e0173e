"""Runtimes that execute and profile a model."""
