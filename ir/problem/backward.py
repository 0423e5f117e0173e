"""The gradient of a fused kernel: the forward kernel's extents, and what it does more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .attention import Attention
from .experts import Experts
from .linear_attention import LinearAttention
from .mixed_attention import MixedAttention
from .window import Window

if TYPE_CHECKING:
    from . import Problem


class Backward(NamedTuple):
    """A kernel that goes back through ``of``, over the same tiles.

    Args:
        of: the problem of the forward kernel.
        products: its multiply–accumulates over those of the forward kernel.
        rate: how fast it does them, over how fast the forward kernel does.
    """

    of: Attention | MixedAttention | LinearAttention | Experts | Window
    products: float
    rate: float = 1.0

    @property
    def times(self) -> float:
        """How many times as long as the forward kernel it takes."""
        return self.products / self.rate


def forward_of(problem: Problem | None) -> Problem | None:
    """The problem itself, or that of the forward kernel which it goes back through."""
    return problem.of if isinstance(problem, Backward) else problem
