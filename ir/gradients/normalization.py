"""Normalisations."""

from __future__ import annotations

import math

from ..graph import Value
from ..op import Op
from ..ops.elementwise import Pow
from ..ops.normalization import (
    LRN,
    BatchNormalization,
    GroupNormalization,
    InstanceNormalization,
    LayerNormalization,
)
from ..ops.normalization_grad import (
    BatchNormalizationGrad,
    GroupNormalizationGrad,
    LayerNormalizationGrad,
    SimplifiedLayerNormalizationGrad,
)
from ..ops.pool import AveragePool
from .adjoint import Adjoint, Gradients
from .tape import Tape, dtype_of, shape_of


def _applied(at: Adjoint, op: Op, ins: tuple[Value, ...], results: int) -> Gradients:
    """Gradients of operand, scale and offset, as many as are wanted."""
    wanted = [i for i in range(results) if at.wants(i)]
    made = at.tape.several(op, ins, max(wanted, default=-1) + 1)
    return {i: at.tape.sum_to(made[i], at.shape(i)) for i in wanted}


def layer_norm(at: Adjoint) -> Gradients:
    """From the operand, the means and the inverse deviations, which are kept."""
    assert isinstance(at.op, LayerNormalization)
    op = LayerNormalizationGrad(axis=at.op.axis)
    ins = (at.dy, at.operand(0), at.operand(1), at.result(1), at.result(2))
    return _applied(at, op, ins, 3)


def rms_norm(at: Adjoint) -> Gradients:
    """From the operand and the inverse roots of mean squares, which are kept."""
    assert isinstance(at.op, LayerNormalization)
    op = SimplifiedLayerNormalizationGrad(axis=at.op.axis)
    ins = (at.dy, at.operand(0), at.operand(1), at.result(1))
    return _applied(at, op, ins, 2)


def batch_norm(at: Adjoint) -> Gradients:
    """From the operand and the statistics; running ones where it does not train."""
    op = at.op
    assert isinstance(op, BatchNormalization)
    is_fixed = not op.training_mode
    mean = at.operand(3) if is_fixed else at.result(3)
    spread = at.operand(4) if is_fixed else at.result(4)
    made = BatchNormalizationGrad(epsilon=op.epsilon, is_fixed=is_fixed)
    return _applied(at, made, (at.dy, at.operand(0), at.operand(1), mean, spread), 3)


def instance_norm(at: Adjoint) -> Gradients:
    """As group normalisation of one channel a group."""
    assert isinstance(at.op, InstanceNormalization)
    op = GroupNormalizationGrad(epsilon=at.op.epsilon)
    return _applied(at, op, (at.dy, at.operand(0), at.operand(1)), 3)


def group_norm(at: Adjoint) -> Gradients:
    """From the operand alone; statistics are computed again."""
    assert isinstance(at.op, GroupNormalization)
    op = GroupNormalizationGrad(num_groups=at.op.num_groups, epsilon=at.op.epsilon)
    return _applied(at, op, (at.dy, at.operand(0), at.operand(1)), 3)


def lrn(at: Adjoint) -> Gradients:
    """From the operand alone; sums over neighbouring channels are computed again.

    With ``s = bias + alpha * mean(x**2)`` the gradient is ``dy * s**-beta`` less ``2 * alpha * beta
    * x`` times the mean of ``dy * x * s**(-beta - 1)`` over the channels that a channel is a
    neighbour of.
    """
    op, tape, x = at.op, at.tape, at.operand(0)
    assert isinstance(op, LRN)
    before = (op.size - 1) // 2
    after = op.size - 1 - before
    means = _neighbours(tape, tape.mul(x, x), before, after)
    number = dtype_of(x)
    base = tape.add(tape.scaled(means, op.alpha), tape.number(op.bias, number))
    divided = tape.mul(at.dy, tape.apply(Pow(), base, tape.number(-op.beta, number)))
    felt = tape.div(tape.mul(divided, x), base)
    shared = tape.mul(x, _neighbours(tape, felt, after, before))
    return {0: tape.sub(divided, tape.scaled(shared, 2 * op.alpha * op.beta))}


def _neighbours(tape: Tape, v: Value, before: int, after: int) -> Value:
    """Sums over so many channels before and after each, over their number; none beyond the ends."""
    shape = shape_of(v)
    rest = math.prod(shape[2:], start=1)
    pool = AveragePool(
        kernel_shape=(before + after + 1, 1), pads=(before, 0, after, 0), count_include_pad=1
    )
    means = tape.apply(pool, tape.reshape(v, (shape[0], 1, shape[1], rest)))
    return tape.reshape(means, shape)
