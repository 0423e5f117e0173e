"""Fits of predictions to measurements, and their residuals."""
