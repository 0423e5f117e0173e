"""A small network with example inputs, so that perfc.toml needs none."""

import torch

from .layers import activated


class Net(torch.nn.Module):
    """Two convolutions and a classifier."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.stem = torch.nn.Conv2d(3, width, 3, stride=2)
        self.body = torch.nn.Conv2d(width, width, 3)
        self.head = torch.nn.Linear(width, 10)

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        """Return the scores of each class."""
        features = activated(self.body(activated(self.stem(images))))
        scores: torch.Tensor = self.head(features.mean((2, 3)))
        return scores

    def example_inputs(self) -> tuple[tuple[int, ...]]:
        """Return the shape of an image."""
        return ((3, 128, 128),)
