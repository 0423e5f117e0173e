"""Optimizers, one a file: ``OPTIMIZER`` says what it keeps and launches."""
