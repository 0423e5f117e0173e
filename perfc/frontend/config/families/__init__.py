"""Readers of the configuration of each family of models; one file per group of families."""
