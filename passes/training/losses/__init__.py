"""Losses, one a file: ``head`` writes it behind the results of a model."""
