"""What reproduces a publication, one file a predictor; on the same rows, and not shipped."""
