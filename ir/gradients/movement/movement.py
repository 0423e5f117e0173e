"""Gradients of operators that reorder or repeat elements."""

from __future__ import annotations

from ...ops.movement.fold_grad import Col2ImGrad
from ...ops.movement.movement import Col2Im, DepthToSpace, SpaceToDepth, Transpose
from ...tensors.contents import elements
from ..adjoint import Adjoint, Gradients


def transpose(at: Adjoint) -> Gradients:
    """Return the inverse transposition."""
    assert isinstance(at.op, Transpose)
    rank = len(at.shape())
    perm = at.op.perm or tuple(range(rank - 1, -1, -1))
    return {0: at.tape.transpose(at.dy, tuple(perm.index(i) for i in range(rank)))}


def contiguous(at: Adjoint) -> Gradients:
    """Return the gradient itself: the operator changes only the order in memory."""
    return {0: at.dy}


def expand(at: Adjoint) -> Gradients:
    """Return the gradient summed over the repeated elements."""
    return {0: at.tape.sum_to(at.dy, at.shape())}


def tile(at: Adjoint) -> Gradients:
    """Return the gradient summed over the repetitions."""
    repeats = elements(at.node.inputs, 1)
    if repeats is None or None in repeats:
        raise at.error("its repeats are not known")
    # each axis of r·d elements is reshaped to r by d; the even axes of the result are summed
    pairs = [(r, d) for r, d in zip(repeats, at.shape(), strict=True) if r is not None]
    split = at.tape.reshape(at.dy, tuple(d for pair in pairs for d in pair))
    return {0: at.tape.reshape(at.tape.sum(split, range(0, 2 * len(pairs), 2)), at.shape())}


def depth_to_space(at: Adjoint) -> Gradients:
    """Return the inverse rearrangement: reshape, transpose, reshape."""
    op = at.op
    assert isinstance(op, DepthToSpace)
    n, c, h, w = at.shape()
    b = op.blocksize
    depth = c // (b * b)
    split = at.tape.reshape(at.dy, (n, depth, h, b, w, b))
    # in the operand, the two axes of a block lie before the depth (DCR) or after it (CRD)
    order = (0, 3, 5, 1, 2, 4) if op.mode == "DCR" else (0, 1, 3, 5, 2, 4)
    return {0: at.tape.reshape(at.tape.transpose(split, order), (n, c, h, w))}


def space_to_depth(at: Adjoint) -> Gradients:
    """Return the inverse rearrangement: reshape, transpose, reshape."""
    assert isinstance(at.op, SpaceToDepth)
    n, c, h, w = at.shape()
    b = at.op.blocksize
    split = at.tape.reshape(at.dy, (n, b, b, c, h // b, w // b))
    # to n, c, h // b, b, w // b, b
    return {0: at.tape.reshape(at.tape.transpose(split, (0, 3, 4, 1, 5, 2)), (n, c, h, w))}


def trilu(at: Adjoint) -> Gradients:
    """Return the same triangle of the gradient; elements outside of it had no effect."""
    offset = (at.operand(1),) if at.has(1) else ()
    return {0: at.tape.apply(at.op, at.dy, *offset)}


def col2im(at: Adjoint) -> Gradients:
    """Return the patches of the gradient, which `Col2Im` had added up to an image."""
    op, block = at.op, elements(at.node.inputs, 2)
    assert isinstance(op, Col2Im)
    sizes = tuple(b for b in block or () if isinstance(b, int))
    if block is None or len(sizes) != len(block):
        raise at.error("its blocks are not known")
    grad_op = Col2ImGrad(sizes, op.dilations, op.pads, op.strides)  # sizes of a block
    return {0: at.tape.apply(grad_op, at.dy, at.tape.ints(at.shape()))}
