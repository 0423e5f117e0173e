"""Products of tensors: matrix products, einsum, grouped products, mixtures of experts."""
