"""Reproductions of publications, one file a predictor; on the same rows, and not shipped."""
