"""The mean squared difference from a target."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir import Node, Value
from perfc.ir.gradients.tape import Tape
from perfc.ir.ops.normalization.reduce import ReduceMean

from ..loss import Head


def head(tape: Tape, outputs: Sequence[Value], nodes: Sequence[Node]) -> Head:
    """Return the mean squared error of the first result; the target is an input."""
    del nodes
    target = Value(tape.fresh("target"), outputs[0].type)
    difference = tape.sub(outputs[0], target)
    squared = tape.mul(difference, difference)
    return Head(tape.apply(ReduceMean(keepdims=0), squared), (target,))
