"""Results of every estimator: times and their prediction intervals."""
