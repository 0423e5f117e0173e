"""The bench of predictors of whole models: splits, trainings, scores and their page."""
