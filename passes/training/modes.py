"""Operators with a training mode: batch normalisation and dropout."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from perfc.ir import DType, Node
from perfc.ir.gradients.tape import Tape
from perfc.ir.ops.elementwise.random import Dropout, NativeDropout
from perfc.ir.ops.normalization.normalization import BatchNormalization


def trained_form(nodes: Sequence[Node], tape: Tape) -> list[Node]:
    """Return nodes as they run in training: statistics of the batch, dropped elements."""
    return [_trained(node, tape) for node in nodes]


def _trained(node: Node, tape: Tape) -> Node:
    """Return one node in its training mode; itself if it has none."""
    match node.op:
        case BatchNormalization(training_mode=0) as op:
            return replace(node, op=replace(op, training_mode=1))
        case Dropout(seed=seed, mask_is_bool=mask_is_bool) as op if op.is_exactly(Dropout):
            ratio = node.inputs[1] if len(node.inputs) > 1 else None
            mode = tape.constant((True,), (), DType.BOOL)
            node = replace(node, inputs=(node.inputs[0], ratio, mode))
            # with a ratio of 0 the dropout stays a view
            drops = NativeDropout(seed, mask_is_bool)
            return replace(node, op=drops) if op_trains(node) else node
        case _:
            return node


def op_trains(node: Node) -> bool:
    """Return True if a dropout node drops elements: in training mode, with a ratio above 0."""
    assert isinstance(node.op, Dropout)
    return node.op._trains(node.inputs)
