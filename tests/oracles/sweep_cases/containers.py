"""Sequences and optionals."""

from __future__ import annotations

import numpy as np
from onnx import helper

from . import sweep
from .build import Build, NoCaseError, elem


def tensors(b: Build, kind: str, same: bool = False) -> list[np.ndarray]:
    """Arrays of one rank, of one shape or of several."""
    rank = b.rng.randint(1, 3)
    first = tuple(max(1, d) for d in b.shape(rank))
    return [
        b.array(first if same else tuple(max(1, d) for d in b.shape(rank)), kind)
        for _ in range(b.rng.randint(1, 3))
    ]


def construct(b: Build, kind: str, same: bool = False) -> str:
    """A sequence, made in the graph or given as an input."""
    made = tensors(b, kind, same)
    if b.chance(0.4):
        return b.sequence(made, kind)
    return b.op("SequenceConstruct", *(b.data(a) for a in made))


def kind_of(b: Build, op: str = "SequenceConstruct") -> str:
    """A dtype sequences are commonly of."""
    return b.dtype(op, 0, ("f32", "i64", "f64", "i32", "bool", "u8"))


@sweep("SequenceConstruct", repeats=12)
def sequence_construct(b: Build, op: str) -> None:
    b.op(op, *(b.data(a) for a in tensors(b, kind_of(b))))


@sweep("SequenceEmpty", repeats=8)
def sequence_empty(b: Build, op: str) -> None:
    attrs = {"dtype": elem(b.pick("f32", "i64", "f64"))} if b.chance(0.7) else {}
    b.op("SequenceLength", b.op(op, **attrs))


@sweep("SequenceAt", repeats=12)
def sequence_at(b: Build, op: str) -> None:
    same = b.chance(0.6)
    made = construct(b, kind_of(b), same)
    b.op(op, made, b.drive(np.array(b.pick(0, -1)), b.pick("i64", "i32")))


@sweep("SequenceErase", repeats=10)
def sequence_erase(b: Build, op: str) -> None:
    at = b.drive(np.array(b.pick(0, -1))) if b.chance(0.6) else ""
    b.op("SequenceLength", b.op(op, construct(b, kind_of(b)), at))


@sweep("SequenceInsert", repeats=12)
def sequence_insert(b: Build, op: str) -> None:
    kind = kind_of(b)
    at = b.drive(np.array(0)) if b.chance(0.6) else ""
    start = b.op("SequenceEmpty", dtype=elem(kind)) if b.chance(0.4) else construct(b, kind)
    if start.startswith("y") and at:
        at = b.const(np.array(0))
    grown = b.op(op, start, b.data(tensors(b, kind)[0]), at)
    b.op("SequenceAt", grown, b.const(np.array(0)))


@sweep("SequenceLength", repeats=8)
def sequence_length(b: Build, op: str) -> None:
    b.op(op, construct(b, kind_of(b)))


@sweep("SplitToSequence", repeats=10)
def split_to_sequence(b: Build, op: str) -> None:
    rank = b.rng.randint(1, 4)
    axis = b.axis(rank)
    dims = [max(1, d) for d in b.shape(rank)]
    parts = [b.rng.randint(1, 3) for _ in range(b.rng.randint(1, 3))]
    dims[axis] = sum(parts)
    x = b.rand(dims, b.dtype(op, 0, ("f32", "i64", "f64", "i32")))
    match b.pick(0, 1, 2):
        case 0:
            split = b.drive(np.array(parts))
        case 1:
            split = b.drive(np.array(2))
        case _:
            split = ""
    made = b.op(op, x, split, axis=axis, keepdims=b.pick(0, 1))
    b.op("SequenceAt", made, b.const(np.array(0)))
    b.op("SequenceLength", made)


@sweep("ConcatFromSequence", repeats=14)
def concat_from_sequence(b: Build, op: str) -> None:
    new = b.pick(0, 1)
    made = tensors(b, kind_of(b), same=True)
    rank = made[0].ndim
    axis = b.rng.randint(-rank - new, rank - 1 + new)
    b.op(op, b.op("SequenceConstruct", *(b.data(a) for a in made)), axis=axis, new_axis=new)


@sweep("SequenceMap", repeats=10)
def sequence_map(b: Build, op: str) -> None:
    if b.opset < 17:
        raise NoCaseError(op)
    kind = "f32"
    made = tensors(b, kind, same=b.chance(0.5))
    seq = b.op("SequenceConstruct", *(b.data(a) for a in made))
    what = b.pick("Relu", "Shape", "Size")
    body = b.graph(lambda g, i: [g.op(what, i[0])], [(kind, None)])
    out = b.op(op, seq, body=body)
    b.op("SequenceAt", out, b.const(np.array(0)))


@sweep("Optional", "OptionalGetElement", "OptionalHasElement", repeats=6)
def optional(b: Build, op: str) -> None:
    kind = "f32"
    content = b.rand(b.shape(), kind) if b.chance(0.6) else construct(b, kind)
    if op == "Optional" and b.chance(0.2):
        tensor = helper.make_tensor_type_proto(elem(kind), [2, 3])
        b.op("OptionalHasElement", b.op(op, type=tensor))
        return
    if b.opset >= 18 and op != "Optional" and b.chance(0.4):
        b.op(op, content)
        return
    made = b.op("Optional", content)
    if op != "Optional" or b.chance(0.5):
        b.op("OptionalGetElement" if op == "Optional" else op, made)


@sweep("ConcatFromSequence", "SequenceAt", "SequenceErase", "SequenceInsert", repeats=6)
def contents(b: Build, op: str) -> None:
    """What went through a sequence drives a shape."""
    x = b.rand((2, 3, 4))
    shape = b.op("Shape", x)
    parts = [b.op("Slice", shape, *(b.const(np.array([k])) for k in (i, i + 1))) for i in (0, 1, 2)]
    sequence = b.op("SequenceConstruct", *parts)
    match op:
        case "SequenceAt":
            last = b.op(op, sequence, b.const(np.array(-1)))
            b.op("Reshape", x, b.op("Concat", last, b.const(np.array([-1])), axis=0))
            return
        case "SequenceErase":
            sequence = b.op(op, sequence, b.const(np.array(b.pick(0, 1, -1))))
            sequence = b.op("SequenceInsert", sequence, b.const(np.array([-1])))
        case "SequenceInsert":
            ahead = b.const(np.array([1])), b.const(np.array(b.pick(0, 1, 3)))
            sequence = b.op(op, sequence, *ahead)
        case _:
            pass
    b.op("Reshape", x, b.op("ConcatFromSequence", sequence, axis=0))
