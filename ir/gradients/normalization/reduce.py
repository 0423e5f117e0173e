"""Gradients of reductions: rules by the mnemonics of their operators."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ... import Dim, Value
from ...ops.elementwise.elementwise import Sign
from ...ops.elementwise.logic import Equal
from ...ops.elementwise.rounding import Exp
from ...ops.normalization.reduce import Reduce
from ..adjoint import Adjoint, Gradients


def axes_of(at: Adjoint) -> tuple[int, ...]:
    """Return the reduced axes.

    Raises:
        PassError: they depend on data.
    """
    assert isinstance(at.op, Reduce)
    axes = at.op.axes(at.node.inputs, len(at.shape()))
    if axes is None:
        raise at.error("its axes are not known")
    return axes


def with_reduced_axes(at: Adjoint, v: Value) -> Value:
    """Return a value of the result's shape with the reduced axes as extents of 1."""
    axes = axes_of(at)
    return at.tape.reshape(v, tuple(1 if i in axes else d for i, d in enumerate(at.shape())))


def spread(at: Adjoint) -> Value:
    """Return the gradient broadcast to the operand."""
    return at.tape.expand(with_reduced_axes(at, at.dy), at.shape())


def reduce_sum(at: Adjoint) -> Gradients:
    """Return the gradient of the sum for every element."""
    return {0: spread(at)}


def reduce_mean(at: Adjoint) -> Gradients:
    """Return the gradient of the mean, divided by the number of its elements, for every element."""
    scaled = equal_share(at, prod((at.shape()[i] for i in axes_of(at)), start=1))
    return {0: at.tape.expand(with_reduced_axes(at, scaled), at.shape())}


def equal_share(at: Adjoint, total: Dim | None) -> Value:
    """Return the gradient divided by a number of elements, which may be symbolic or unknown."""
    if isinstance(total, int):
        return at.tape.scaled(at.dy, 1 / max(total, 1))
    # times a scalar constant of unknown content: it costs as much as one of known content
    return at.tape.mul(at.dy, at.tape.constant((None,), (), at.dy.dtype))


def reduce_max(at: Adjoint) -> Gradients:
    """Return the gradient divided equally among the elements that equal the extremum."""
    result, dy = with_reduced_axes(at, at.result()), with_reduced_axes(at, at.dy)
    return among_extrema(at, result, dy, axes_of(at))


def among_extrema(at: Adjoint, result: Value, dy: Value, axes: Sequence[int]) -> Gradients:
    """Return the gradient divided equally among the elements that equal the result.

    Args:
        at: node and the gradients of its results.
        result: maximum or minimum, in a shape that broadcasts to the operand.
        dy: gradient of the result in that shape.
        axes: reduced axes.
    """
    is_extremum = at.tape.apply(Equal(), at.operand(0), result)
    one, zero = at.tape.number(1, dy.dtype), at.tape.number(0, dy.dtype)
    hits = at.tape.where(is_extremum, one, zero)
    # each of several equal extrema gets an equal part
    share = at.tape.div(dy, at.tape.sum(hits, axes, keepdims=True))
    return {0: at.tape.mul(hits, share)}


reduce_min = reduce_max


def reduce_prod(at: Adjoint) -> Gradients:
    """Return the gradient times the product, divided by each element."""
    weighted = at.tape.mul(with_reduced_axes(at, at.dy), with_reduced_axes(at, at.result()))
    return {0: at.tape.div(weighted, at.operand(0))}


def reduce_l1(at: Adjoint) -> Gradients:
    """Return the gradient times the sign of each element."""
    return {0: at.tape.mul(at.tape.apply(Sign(), at.operand(0)), with_reduced_axes(at, at.dy))}


def reduce_l2(at: Adjoint) -> Gradients:
    """Return the gradient times each element, divided by the norm."""
    share = at.tape.div(with_reduced_axes(at, at.dy), with_reduced_axes(at, at.result()))
    return {0: at.tape.mul(at.operand(0), share)}


def reduce_sum_square(at: Adjoint) -> Gradients:
    """Return the gradient times twice each element."""
    twice = at.tape.scaled(with_reduced_axes(at, at.dy), 2.0)
    return {0: at.tape.mul(at.operand(0), twice)}


def reduce_log_sum(at: Adjoint) -> Gradients:
    """Return the gradient divided by the sum, which is the exponential of the result."""
    total = at.tape.apply(Exp(), with_reduced_axes(at, at.result()))
    return {0: at.tape.expand(at.tape.div(with_reduced_axes(at, at.dy), total), at.shape())}


def reduce_log_sum_exp(at: Adjoint) -> Gradients:
    """Return the gradient times the softmax of the elements."""
    # the exponential of the logarithm of each element's softmax
    log_softmax = at.tape.sub(at.operand(0), with_reduced_axes(at, at.result()))
    return {0: at.tape.mul(at.tape.apply(Exp(), log_softmax), with_reduced_axes(at, at.dy))}
