"""Predictors of kernels and runs, fitted to measurements and never below the lower bound."""
