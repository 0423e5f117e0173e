"""Train predictors of whole runs: the shipped physics residual, and candidates to compare it with."""
