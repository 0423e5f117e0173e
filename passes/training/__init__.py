"""A training step as a graph: gradients, losses, optimisers, frozen and saved tensors."""
