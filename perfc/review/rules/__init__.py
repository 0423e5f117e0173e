"""Lint rules, one file each, discovered by file; their docstrings are the documentation."""
