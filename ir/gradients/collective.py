"""Gradients of collectives: how one rank's result depends on the tensors of all ranks.

Every rank computes the loss of its data. Ranks that share matrix products hold the same sum,
so the gradient of the sum, which all of them have, is the gradient of every part.
"""

from __future__ import annotations

from ..ops.collective import AllGather, AllToAll, ReduceScatter
from .adjoint import Adjoint, Gradients


def all_reduce(at: Adjoint) -> Gradients:
    """Return the gradient itself, as for row-parallel layers in arXiv:1909.08053, section 3."""
    return {0: at.dy}


def all_gather(at: Adjoint) -> Gradients:
    """Sum every rank's gradients of this rank's part, or gather those of all parts."""
    op = at.op
    assert isinstance(op, AllGather | ReduceScatter)
    inverse = ReduceScatter if isinstance(op, AllGather) else AllGather
    return {0: at.tape.apply(inverse(op.ranks, op.nodes, axis=op.axis), at.dy)}


reduce_scatter = all_gather


def all_to_all(at: Adjoint) -> Gradients:
    """Send gradients of rows back to the ranks the rows came from."""
    return {0: at.tape.apply(AllToAll(at.op.ranks, at.op.nodes), at.dy)}  # type: ignore[attr-defined]
