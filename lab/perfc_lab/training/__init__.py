"""Train, calibrate and test predictors of kernels, whole models and whole runs.

`perfc train` and `perfc eval` call it; it needs the ``train`` extra.
"""
