"""Models as graphs: encoding, rows measured on them, data sets, what their predictors are."""
