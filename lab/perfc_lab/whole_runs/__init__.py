"""Training of predictors of whole runs, and candidates that do not ship."""
