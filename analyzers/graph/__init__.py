"""Predictors of whole models from their graphs, the rows they learn from, and one bench for all."""
