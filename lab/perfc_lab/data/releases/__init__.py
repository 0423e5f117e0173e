"""Data sets that authors of predictors published, read by path into data sets of perfc."""
