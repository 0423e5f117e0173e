"""Layers of the network."""

import torch


def activated(x: torch.Tensor) -> torch.Tensor:
    """Return the activation of a layer."""
    return torch.relu(x)
