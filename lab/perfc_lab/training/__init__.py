"""Training and testing of predictors; needs the ``train`` extra."""
