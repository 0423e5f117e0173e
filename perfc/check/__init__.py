"""Budgets on what a model costs, against limits and against a baseline."""
