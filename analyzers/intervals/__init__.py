"""Prediction intervals: calibration, mixtures, sums, and adaptation to a new machine."""
