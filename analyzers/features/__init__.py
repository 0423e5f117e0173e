"""Inputs of predictors before any training: columns of kernels, data sheets and physical scales."""
