"""Whole runs and steps as tables, and what is learned of them beyond their kernels."""
