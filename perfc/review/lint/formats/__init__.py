"""Formats of the report."""
