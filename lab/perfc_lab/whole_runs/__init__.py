"""Train predictors of whole runs: the shipped physics residual, and other candidates."""
