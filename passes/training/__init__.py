"""A training step as a graph: gradients, losses, optimizers, frozen and saved tensors."""
