"""Builder of operator sequences for gradient rules and expansions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from .. import (
    NOWHERE,
    Dim,
    DType,
    Inputs,
    Item,
    Known,
    Loc,
    Node,
    Op,
    Phase,
    Shape,
    TensorType,
    Types,
    Value,
    Weight,
)
from ..op import REGISTRY
from ..ops.elementwise.elementwise import Add, Div, Mul, Neg, Sub
from ..ops.elementwise.logic import Where
from ..ops.movement.movement import Expand, Transpose
from ..ops.movement.slice import Concat, Slice
from ..ops.movement.view import Reshape
from ..ops.normalization.reduce import ReduceMean, ReduceSum


def shape_of(v: Value) -> Shape:
    """Return the shape of a tensor.

    Raises:
        ValueError: its rank is unknown.
    """
    if not isinstance(v.type, TensorType) or v.type.shape is None:
        raise ValueError(f"the rank of {v.name} is not known")
    return v.type.shape


def title_of(op: Op) -> str:
    """Return the name of an operator in reports: its ONNX name, or that of its base class."""
    # a gradient's operator may have the mnemonic of the operator that it differentiates
    of = getattr(op, "of", "")
    if of in REGISTRY:
        return f"{title_of(REGISTRY[of]())}Grad"
    return op.onnx.split()[0].rpartition("::")[2] if op.onnx else type(op).__name__


class Tape:
    """Nodes in the order in which rules write them, and the constants that the nodes read.

    Args:
        taken: names already in use.
        phase: the part of a training step to which the nodes belong.

    ``place`` is the origin of the node for which nodes are written; callers set it, and it gives
    them their name, with ``suffix``, and their lines of code.
    """

    def __init__(self, taken: Iterable[str] = (), phase: Phase = Phase.BACKWARD) -> None:
        self.nodes: list[Node] = []
        self.constants: dict[tuple[object, ...], Value] = {}
        self.phase = phase
        self.place = NOWHERE
        self.suffix = ".grad"
        self._taken = set(taken)
        self._counts: dict[str, int] = {}

    def fresh(self, name: str) -> str:
        """Return an unused name similar to this one."""
        unused, count = name, self._counts.get(name, 0)
        while unused in self._taken:
            count += 1
            unused = f"{name}.{count}"
        self._counts[name] = count
        self._taken.add(unused)
        return unused

    def several(self, op: Op, ins: Inputs, count: int, name: str = "") -> tuple[Value, ...]:
        """Return the first ``count`` results of an operator.

        Args:
            op: the operator.
            ins: its operands.
            count: number of results that are used.
            name: name of the first result; by default derived from the node that ``place`` names.
        """
        types: Types = op.infer(ins)
        stem = name or f"{self.place.name}{self.suffix}"
        values = [Value(self.fresh(stem), t) for t in types[:count]]
        # the name of the node for which it is written, even if the result has another name
        name, frames = f"{self.place.name}{self.suffix}", self.place.frames
        loc = Loc(name, title_of(op), False, self.phase, frames)
        self.nodes.append(Node(op, ins, tuple(values), (), loc))
        return tuple(values)

    def named(self, op: Op, ins: Inputs, names: Sequence[str], name: str) -> tuple[Value, ...]:
        """Return results with these names, from a node called ``name``, whatever ``place`` is."""
        types = op.infer(ins)
        values = tuple(Value(self.fresh(n), t) for n, t in zip(names, types, strict=False))
        loc = Loc(self.fresh(name), name, False, self.phase)
        self.nodes.append(Node(op, ins, values, (), loc))
        return values

    def apply(self, op: Op, *ins: Value | None, name: str = "") -> Value:
        """Return the result of an operator."""
        return self.several(op, ins, 1, name)[0]

    def ints(self, items: Sequence[Dim]) -> Value:
        """Return a vector of integers, which may contain symbols."""
        return self.constant(tuple(items), (len(items),), DType.I64)

    def number(self, value: float, dtype: DType = DType.F32) -> Value:
        """Return a scalar tensor."""
        return self.constant((float(value) if dtype.is_float else value,), (), dtype)

    def constant(self, items: tuple[Item, ...], shape: tuple[int, ...], dtype: DType) -> Value:
        """Return a stored tensor with these contents; equal constants are shared."""
        # 1, 1.0 and True are equal, but other constants
        key = (items, tuple(map(type, items)), shape, dtype)
        stored = self.constants.get(key)
        if stored is None:
            type_ = TensorType(dtype, shape)
            weight = Weight(type_.known_nbytes, is_parameter=False)
            name = self.fresh("constant.grad")
            stored = self.constants[key] = Value(name, type_, Known(shape, items), weight)
        return stored

    def add(self, a: Value, b: Value) -> Value:
        """Return the sum."""
        return self.apply(Add(), a, b)

    def sub(self, a: Value, b: Value) -> Value:
        """Return the difference."""
        return self.apply(Sub(), a, b)

    def mul(self, a: Value, b: Value) -> Value:
        """Return the product."""
        return self.apply(Mul(), a, b)

    def div(self, a: Value, b: Value) -> Value:
        """Return the quotient."""
        return self.apply(Div(), a, b)

    def neg(self, a: Value) -> Value:
        """Return the negative."""
        return self.apply(Neg(), a)

    def scaled(self, a: Value, factor: float) -> Value:
        """Return the product with a number; the operand itself if the number is 1."""
        return a if factor == 1.0 else self.mul(a, self.number(factor, a.dtype))

    def where(self, condition: Value, a: Value, b: Value) -> Value:
        """Return ``a`` where the condition holds, ``b`` elsewhere."""
        return self.apply(Where(), condition, a, b)

    def reshape(self, v: Value, shape: Shape) -> Value:
        """Return the same elements with another shape; the operand itself if it has that shape."""
        if shape_of(v) == shape:
            return v
        return self.apply(Reshape(allowzero=0), v, self.ints(shape))

    def expand(self, v: Value, shape: Shape) -> Value:
        """Return a value broadcast to a shape."""
        return v if shape_of(v) == shape else self.apply(Expand(), v, self.ints(shape))

    def transpose(self, v: Value, perm: Sequence[int]) -> Value:
        """Return a value with permuted axes; the operand itself if the order is unchanged."""
        if list(perm) == list(range(len(perm))):
            return v
        return self.apply(Transpose(perm=tuple(perm)), v)

    def swapped(self, v: Value) -> Value:
        """Return a value with the last two axes exchanged."""
        rank = len(shape_of(v))
        return self.transpose(v, (*range(rank - 2), rank - 1, rank - 2))

    def sum(self, v: Value, axes: Sequence[int], keepdims: bool = False) -> Value:
        """Return the sum over axes; the operand itself if there are none."""
        if not axes:
            return v
        return self.apply(ReduceSum(keepdims=int(keepdims)), v, self.ints(tuple(axes)))

    def sum_to(self, v: Value, shape: Shape) -> Value:
        """Return ``v`` summed to ``shape``, over the axes along which broadcasting repeated it."""
        extents = shape_of(v)
        if extents == shape:
            return v
        # broadcasting adds axes in front, and repeats axes of one element
        lead = len(extents) - len(shape)
        repeated = [i + lead for i, d in enumerate(shape) if d == 1 and extents[i + lead] != 1]
        summed = self.sum(v, (*range(lead), *repeated))
        return self.reshape(summed, shape)

    def part(self, v: Value, ranges: Mapping[int, tuple[Dim, Dim]]) -> Value:
        """Return a part of a tensor; the operand itself if the part is all of it.

        ``ranges`` are the start and the end along each axis that is cut.
        """
        shape = shape_of(v)
        cut = {a: r for a, r in ranges.items() if r != (0, shape[a])}
        if not cut:
            return v
        starts, ends = zip(*cut.values(), strict=True)
        ins = (v, self.ints(starts), self.ints(ends), self.ints(tuple(cut)))
        return self.apply(Slice(), *ins)

    def reversed(self, v: Value, axis: int) -> Value:
        """Return a value with the elements along an axis reversed."""
        # operands start, end, axis, step: from the last element (-1) in steps of -1 to before the
        # first, which a negative end far below any extent stands for
        ends = (self.ints((-1,)), self.ints((-(1 << 31),)), self.ints((axis,)), self.ints((-1,)))
        return self.apply(Slice(), v, *ends)

    def repeated(self, v: Value, heads: Dim) -> Value:
        """Return keys or values with one head for each head of the queries, shared heads copied."""
        b, g, t, d = shape_of(v)
        if g == heads:
            return v
        copies = self.expand(self.reshape(v, (b, g, 1, t, d)), (b, g, heads // g, t, d))
        return self.reshape(copies, (b, heads, t, d))

    def zeros(self, shape: Shape, dtype: DType = DType.F32) -> Value:
        """Return zeros of a shape: one stored element, broadcast."""
        return self.expand(self.constant((0.0,), (1,) * len(shape), dtype), shape)

    def concat(self, parts: Sequence[Value], axis: int) -> Value:
        """Return values concatenated along an axis; a single one as it is."""
        return parts[0] if len(parts) == 1 else self.apply(Concat(axis=axis), *parts)

    def mean(self, v: Value, axes: Sequence[int]) -> Value:
        """Return the mean over axes, which stay with an extent of 1."""
        return self.apply(ReduceMean(keepdims=1), v, self.ints(tuple(axes)))
