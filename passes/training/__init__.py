"""A training step as a graph: gradients, losses, optimisers, what is frozen, what is kept."""
