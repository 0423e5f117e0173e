"""Calibrate prediction intervals on rows that a fit did not see; update machines in cards."""
