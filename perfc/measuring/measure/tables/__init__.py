"""Rows of measurements: tables, inputs and weights."""
