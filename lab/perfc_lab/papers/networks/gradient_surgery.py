"""PCGrad: combine the gradients of several tasks without their conflicts (Yu et al., NeurIPS 2020).

`seernet_multi` updates its weights by the result.
"""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch
from torch import Tensor, nn


def surgery(gradients: Sequence[Tensor], generator: random.Random) -> Tensor:
    """Return the sum of the tasks' gradients, each without its conflicts with others (Algorithm 1).

    Where ``gᵢ · gⱼ < 0``, the part of ``gᵢ`` along the *original* ``gⱼ`` is subtracted. The tasks
    ``j`` come in a random order.

    Args:
        gradients: gradient of each task, ``[parameters]``.
        generator: random generator of the order.
    """
    result: list[Tensor] = []
    for i, gradient in enumerate(gradients):
        projected = gradient.clone()
        others = [j for j in range(len(gradients)) if j != i]
        generator.shuffle(others)
        for j in others:
            other = gradients[j]
            product = torch.dot(projected, other)
            if product < 0:
                # the clamp avoids a division by 0 for a gradient without length
                projected -= product / torch.dot(other, other).clamp(min=1e-30) * other
        result.append(projected)
    return torch.stack(result).sum(0)


def task_gradients(losses: Sequence[Tensor], parameters: Sequence[nn.Parameter]) -> list[Tensor]:
    """Return the gradient of each loss as a flat vector over all parameters.

    It is 0 for parameters that the loss does not depend on.
    """
    gradients: list[Tensor] = []
    for i, loss in enumerate(losses):
        # the graph of the forward pass is freed after the last loss
        parts = torch.autograd.grad(
            loss, list(parameters), retain_graph=i + 1 < len(losses), allow_unused=True
        )
        flat = [
            torch.zeros_like(p).reshape(-1) if g is None else g.reshape(-1)
            for p, g in zip(parameters, parts, strict=True)
        ]
        gradients.append(torch.cat(flat))
    return gradients


def assign(gradient: Tensor, parameters: Sequence[nn.Parameter]) -> None:
    """Write a flat gradient to ``grad`` of each parameter."""
    start = 0
    for parameter in parameters:
        count = parameter.numel()
        parameter.grad = gradient[start : start + count].reshape(parameter.shape)
        start += count
