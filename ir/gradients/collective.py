"""Exchanges: what one rank's result is to the ranks whose tensors it came from.

Every rank computes the loss of what it holds. Ranks that share products hold the same sum, so that
its gradient, which all of them have, is that of every part.
"""

from __future__ import annotations

from ..ops.collective import AllGather, AllToAll, ReduceScatter
from .adjoint import Adjoint, Gradients


def all_reduce(at: Adjoint) -> Gradients:
    """The gradient itself, as of the row-parallel layers of arXiv:1909.08053, section 3."""
    return {0: at.dy}


def all_gather(at: Adjoint) -> Gradients:
    """Every rank's gradients of this rank's part, summed."""
    assert isinstance(at.op, AllGather)
    return {0: at.tape.apply(ReduceScatter(at.op.ranks, at.op.nodes, axis=at.op.axis), at.dy)}


def reduce_scatter(at: Adjoint) -> Gradients:
    """The gradients of all parts, joined."""
    assert isinstance(at.op, ReduceScatter)
    return {0: at.tape.apply(AllGather(at.op.ranks, at.op.nodes, axis=at.op.axis), at.dy)}


def all_to_all(at: Adjoint) -> Gradients:
    """Gradients of rows, back where the rows came from."""
    return {0: at.tape.apply(AllToAll(at.op.ranks, at.op.nodes), at.dy)}  # type: ignore[attr-defined]
