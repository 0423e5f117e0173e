"""Gradients of normalizations."""

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
    """Return as many gradients of operand, scale and offset as are needed."""
    gradients = at.in_one_kernel(op, ins, results)
    return {i: at.tape.sum_to(v, at.shape(i)) for i, v in gradients.items() if v}


def layer_norm(at: Adjoint) -> Gradients:
    """Differentiate from the operand and the saved means and inverse deviations."""
    assert isinstance(at.op, LayerNormalization)
    op = LayerNormalizationGrad(axis=at.op.axis)
    ins = (at.dy, at.operand(0), at.operand(1), at.result(1), at.result(2))
    return _applied(at, op, ins, 3)


def rms_norm(at: Adjoint) -> Gradients:
    """Differentiate from the operand and the saved inverse root mean squares."""
    assert isinstance(at.op, LayerNormalization)
    op = SimplifiedLayerNormalizationGrad(axis=at.op.axis)
    ins = (at.dy, at.operand(0), at.operand(1), at.result(1))
    return _applied(at, op, ins, 2)


def batch_norm(at: Adjoint) -> Gradients:
    """Differentiate from operand and statistics; running statistics outside training."""
    op = at.op
    assert isinstance(op, BatchNormalization)
    is_fixed = not op.training_mode
    mean = at.operand(3) if is_fixed else at.result(3)
    # running statistics are operands 3 and 4, those of the batch results 3 and 4
    spread = at.operand(4) if is_fixed else at.result(4)
    grad_op = BatchNormalizationGrad(epsilon=op.epsilon, is_fixed=is_fixed)
    return _applied(at, grad_op, (at.dy, at.operand(0), at.operand(1), mean, spread), 3)


def instance_norm(at: Adjoint) -> Gradients:
    """Differentiate as a group normalization with one channel per group."""
    assert isinstance(at.op, InstanceNormalization)
    op = GroupNormalizationGrad(epsilon=at.op.epsilon)
    return _applied(at, op, (at.dy, at.operand(0), at.operand(1)), 3)


def group_norm(at: Adjoint) -> Gradients:
    """Differentiate from the operand alone; statistics are recomputed."""
    assert isinstance(at.op, GroupNormalization)
    op = GroupNormalizationGrad(num_groups=at.op.num_groups, epsilon=at.op.epsilon)
    return _applied(at, op, (at.dy, at.operand(0), at.operand(1)), 3)


def lrn(at: Adjoint) -> Gradients:
    """Differentiate from the operand alone; sums over neighbouring channels are recomputed.

    With ``s = bias + alpha * mean(x**2)`` the gradient is ``dy * s**-beta`` less ``2 * alpha * beta
    * x`` times the mean of ``dy * x * s**(-beta - 1)`` over the channels whose neighbourhood
    contains the channel.
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
    # channels that a channel is a neighbour of lie on its other side
    shared = tape.mul(x, _neighbours(tape, weighted, after, before))
    return {0: tape.sub(divided, tape.scaled(shared, 2 * op.alpha * op.beta))}


def _neighbours(tape: Tape, v: Value, before: int, after: int) -> Value:
    """Return means over channels ``before`` to ``after`` each one; none beyond the ends."""
    shape = shape_of(v)
    rest = math.prod(shape[2:], start=1)
    pool = AveragePool(
        kernel_shape=(before + after + 1, 1), pads=(before, 0, after, 0), count_include_pad=1
    )
    means = tape.apply(pool, tape.reshape(v, (shape[0], 1, shape[1], rest)))
    return tape.reshape(means, shape)
