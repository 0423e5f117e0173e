"""Measurements of machines and models, and what they calibrate."""
