"""Shared parts of the networks of papers: batches of graphs, layers, the training loop."""
