"""Budgets: figures of models against limits and a baseline."""
