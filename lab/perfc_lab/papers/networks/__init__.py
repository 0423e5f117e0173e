"""What networks of papers share: batches of graphs, layers, the training loop."""
