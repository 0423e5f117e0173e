"""What every estimator gives, and what is done with it: intervals and estimates of time."""
