"""Lock file with the baseline figures."""
