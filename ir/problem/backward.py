"""Problem size of the gradient of a fused kernel, relative to the forward kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from .attention import Attention
from .experts import Experts
from .linear_attention import LinearAttention
from .mixed_attention import MixedAttention
from .window import SlidingWindow

if TYPE_CHECKING:
    from . import Problem


class Backward(NamedTuple):
    """The backward kernel of ``of``, over the same tiles.

    Args:
        of: the problem of the forward kernel.
        products: its multiply–accumulates divided by those of the forward kernel.
        rate: its rate divided by that of the forward kernel.
    """

    of: Attention | MixedAttention | LinearAttention | Experts | SlidingWindow
    products: float
    rate: float = 1.0

    @property
    def times(self) -> float:
        """Return its duration divided by that of the forward kernel."""
        return self.products / self.rate


def forward_of(problem: Problem | None) -> Problem | None:
    """Return the problem of the forward kernel, or the problem itself if it is not a gradient."""
    return problem.of if isinstance(problem, Backward) else problem
