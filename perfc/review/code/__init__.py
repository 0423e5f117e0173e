"""Models in PyTorch code: their sources, their exports, and checkouts of earlier revisions."""
