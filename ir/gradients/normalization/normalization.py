"""Gradients of normalizations: rules by the mnemonics of their operators."""

from __future__ import annotations

import math

from ... import Op, Value
from ...ops.convolution.pool import AveragePool
from ...ops.elementwise.elementwise import Pow
from ...ops.normalization.normalization import (
    LRN,
    BatchNormalization,
    GroupNormalization,
    InstanceNormalization,
    LayerNormalization,
)
from ...ops.normalization.normalization_grad import (
    BatchNormalizationGrad,
    GroupNormalizationGrad,
    LayerNormalizationGrad,
    SimplifiedLayerNormalizationGrad,
)
from ..adjoint import Adjoint, Gradients
from ..tape import Tape, shape_of


def _applied(at: Adjoint, op: Op, ins: tuple[Value, ...], results: int) -> Gradients:
    """Return gradients of operand, scale and offset by one operator, as far as they are needed.

    Args:
        at: node and the gradients of its results.
        op: operator whose results are the gradients.
        ins: operands of ``op``.
        results: number of its results: 3, or 2 without an offset.
    """
    gradients = at.in_one_kernel(op, ins, results)
    # the gradient of the offset has the shape of the scale; the offset may have a smaller one
    return {i: at.tape.sum_to(v, at.shape(i)) for i, v in gradients.items() if v}


def layer_norm(at: Adjoint) -> Gradients:
    """Return gradients from the operand and the saved means and inverse deviations."""
    assert isinstance(at.op, LayerNormalization)
    op = LayerNormalizationGrad(axis=at.op.axis)
    ins = (at.dy, at.operand(0), at.operand(1), at.result(1), at.result(2))
    return _applied(at, op, ins, 3)


def rms_norm(at: Adjoint) -> Gradients:
    """Return gradients from the operand and the saved inverse root mean squares."""
    assert isinstance(at.op, LayerNormalization)
    op = SimplifiedLayerNormalizationGrad(axis=at.op.axis)
    ins = (at.dy, at.operand(0), at.operand(1), at.result(1))
    return _applied(at, op, ins, 2)


def batch_norm(at: Adjoint) -> Gradients:
    """Return gradients from the operand and the statistics of the batch.

    Outside training mode they are the running statistics, through which no gradient flows.
    """
    op = at.op
    assert isinstance(op, BatchNormalization)
    is_fixed = not op.training_mode
    # running mean and variance are operands 3 and 4; mean and inverse deviation of the batch are
    # results 3 and 4
    mean = at.operand(3) if is_fixed else at.result(3)
    spread = at.operand(4) if is_fixed else at.result(4)
    grad_op = BatchNormalizationGrad(epsilon=op.epsilon, is_fixed=is_fixed)
    return _applied(at, grad_op, (at.dy, at.operand(0), at.operand(1), mean, spread), 3)


def instance_norm(at: Adjoint) -> Gradients:
    """Return gradients as of a group normalization with one channel per group."""
    assert isinstance(at.op, InstanceNormalization)
    op = GroupNormalizationGrad(epsilon=at.op.epsilon)  # by default one channel per group
    return _applied(at, op, (at.dy, at.operand(0), at.operand(1)), 3)


def group_norm(at: Adjoint) -> Gradients:
    """Return gradients by one operator, which recomputes statistics from the operand."""
    assert isinstance(at.op, GroupNormalization)
    op = GroupNormalizationGrad(num_groups=at.op.num_groups, epsilon=at.op.epsilon)
    return _applied(at, op, (at.dy, at.operand(0), at.operand(1)), 3)


def lrn(at: Adjoint) -> Gradients:
    """Return the gradient, recomputing means over neighbouring channels from the operand.

    With ``s = bias + alpha * mean(x**2)`` over the neighbours of a channel, the gradient is ``dy *
    s**-beta`` less ``2 * alpha * beta * x`` times the mean of ``dy * x * s**(-beta - 1)`` over the
    channels that have this one as a neighbour.
    """
    op, tape, x = at.op, at.tape, at.operand(0)
    assert isinstance(op, LRN)
    before = (op.size - 1) // 2
    after = op.size - 1 - before
    means = _neighbours(tape, tape.mul(x, x), before, after)
    dtype = x.dtype
    base = tape.add(tape.scaled(means, op.alpha), tape.number(op.bias, dtype))
    divided = tape.mul(at.dy, tape.apply(Pow(), base, tape.number(-op.beta, dtype)))
    weighted = tape.div(tape.mul(divided, x), base)
    # a channel with `before` neighbours below it is itself a neighbour of `before` channels above
    # it, so that the sides change places
    shared = tape.mul(x, _neighbours(tape, weighted, after, before))
    return {0: tape.sub(divided, tape.scaled(shared, 2 * op.alpha * op.beta))}


def _neighbours(tape: Tape, v: Value, before: int, after: int) -> Value:
    """Return the mean over each channel with its neighbours.

    Args:
        tape: tape that the operators are added to.
        v: operand ``[n, c, d...]``.
        before: number of neighbours below a channel.
        after: number of neighbours above it.
    """
    shape = shape_of(v)
    rest = math.prod(shape[2:], start=1)
    # missing channels at the ends count as 0, and every sum is divided by the number of neighbours
    pool = AveragePool(
        kernel_shape=(before + after + 1, 1), pads=(before, 0, after, 0), count_include_pad=1
    )
    means = tape.apply(pool, tape.reshape(v, (shape[0], 1, shape[1], rest)))
    return tape.reshape(means, shape)
