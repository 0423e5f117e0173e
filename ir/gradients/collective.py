"""Gradients of collectives: how one rank's result depends on the tensors of all ranks.

Every rank computes the loss of its data. If ranks share a matrix product, each has one part of a
sum. All ranks hold the whole sum and its gradient, which is also the gradient of every part.
"""

from __future__ import annotations

from ..ops.collective import AllGather, AllToAll, ReduceScatter
from .adjoint import Adjoint, Gradients


def all_reduce(at: Adjoint) -> Gradients:
    """Return the gradient itself, as for row-parallel layers in arXiv:1909.08053, section 3."""
    return {0: at.dy}


def all_gather(at: Adjoint) -> Gradients:
    """Return the gradient of this rank's operand, by the inverse collective.

    The result of an all-gather is on every rank: the gradients of all ranks are summed, and each
    rank gets its part. The gradient of a reduce-scatter is gathered from all ranks.
    """
    op = at.op
    assert isinstance(op, AllGather | ReduceScatter)
    inverse = ReduceScatter if isinstance(op, AllGather) else AllGather
    return {0: at.tape.apply(inverse(op.ranks, op.nodes, axis=op.axis), at.dy)}


reduce_scatter = all_gather  # rules are looked up by the mnemonic of the operator


def all_to_all(at: Adjoint) -> Gradients:
    """Return the gradients of rows, sent back to the ranks from which the rows came."""
    return {0: at.tape.apply(AllToAll(at.op.ranks, at.op.nodes), at.dy)}  # type: ignore[attr-defined]
