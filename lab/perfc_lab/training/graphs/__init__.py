"""The bench of predictors of whole models: splits, scores, figures of the way users take."""
