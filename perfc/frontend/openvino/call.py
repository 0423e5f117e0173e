"""One layer of a model: its operands and attributes, and the nodes it becomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import field
from typing import TypeAlias

from perfc.ir import mutable

from ..lowering.builder import Meta, Size
from ..lowering.elements import FLOATS, DataType
from ..lowering.emitter import Lowerings, OperandEmitter, ValueScope
from .document import Elements, LayerGraph, NetLayer, Port
from .stored import StoredTensor, stored_of

Lowering: TypeAlias = "Callable[[LayerCall], str | Sequence[str]]"
"""Function that makes the nodes of a layer and returns its results."""
LOWERINGS: Lowerings[Lowering] = Lowerings(__package__)
"""Lowerings by type of layer."""
lowers = LOWERINGS.lowers


@mutable
class LayerScope(ValueScope):
    """Values of a graph by layer and port.

    Args:
        builder: messages of ONNX built so far.
        network: layers of the graph.
        elements: file of weights.
        values: names of values in ONNX, by port.
        stored: stored tensors by port; None for computed values.
        depth: number of graphs around this one.
    """

    network: LayerGraph
    elements: Elements
    values: dict[Port, str] = field(default_factory=dict)
    stored: dict[Port, StoredTensor | None] = field(default_factory=dict)
    depth: int = 0

    def stored_at(self, port: Port) -> StoredTensor | None:
        """Return a value that is a stored tensor; None for a computed one."""
        if port not in self.stored:
            self.stored[port] = stored_of(self.network, port, self.elements)
        return self.stored[port]


@mutable
class LayerCall(OperandEmitter):
    """One layer of a graph.

    Args:
        scope: values of the graph.
        name: name of its first result.
        path: name of its nodes in ONNX.
        layer: the layer.
        followers: results of later layers that this layer includes, as a scale after a
            normalization; they get the value of its result.
    """

    scope: LayerScope
    layer: NetLayer
    followers: list[Port] = field(default_factory=list)

    def text(self, name: str, default: str = "") -> str:
        """Return an attribute as text."""
        return self.layer.data.get(name, default)

    def flag(self, name: str, *, default: bool = False) -> int:
        """Return an attribute that is a truth value as 0 or 1, as attributes of ONNX are."""
        return int(self.text(name, str(default)).lower() in ("true", "1"))

    def integer(self, name: str, default: int = 0) -> int:
        """Return an attribute that is a whole number."""
        return int(self.text(name, str(default)))

    def number(self, name: str, default: float = 0.0) -> float:
        """Return an attribute that is a number."""
        return float(self.text(name, str(default)))

    def listed(self, name: str) -> tuple[int, ...]:
        """Return an attribute of whole numbers."""
        return tuple(int(v) for v in self.text(name).split(",") if v.strip())

    def port(self, at: int) -> Port:
        """Return the port that an operand comes from.

        Raises:
            LookupError: the operand has no source.
        """
        return self.scope.network.edges[self.layer.index, self.layer.inputs[at]]

    def has(self, at: int) -> bool:
        """Return True if an operand is given."""
        return at < len(self.layer.inputs)

    def meta(self, at: int) -> Meta:
        """Return the type of an operand."""
        index, port = self.port(at)
        return next(o.meta for o in self.scope.network.layers[index].outputs if o.port == port)

    def result(self, at: int = 0) -> Meta:
        """Return the type of a result."""
        return self.layer.outputs[at].meta

    def stored(self, at: int) -> StoredTensor | None:
        """Return an operand that is a stored tensor; None for a computed one."""
        return self.scope.stored_at(self.port(at))

    def integers(self, at: int) -> list[int]:
        """Return the elements of an operand.

        Raises:
            ValueError: it is computed.
        """
        return [int(v) for v in self.numbers(at)]

    def numbers(self, at: int) -> tuple[float, ...]:
        """Return the elements of an operand as numbers.

        Raises:
            ValueError: it is computed.
        """
        stored = self.stored(at)
        if stored is None:
            raise ValueError("a computed operand")
        return stored.values()

    def axes(self, at: int, rank: int | None = None) -> list[int]:
        """Return the axes of the first operand that an operand lists; negative ones are wrapped."""
        rank = self.given.rank if rank is None else rank
        return [a % (rank or 1) for a in self.integers(at)]

    def value(self, at: int) -> str:
        """Return an operand; empty for an omitted one."""
        if not self.has(at):
            return ""
        port = self.port(at)
        if port in self.scope.values:
            return self.scope.values[port]
        stored = self.stored(at)
        if stored is None:
            raise LookupError("an operand of no layer before it")
        return self.weight(stored, range(stored.meta.rank))

    def values(self) -> list[str]:
        """Return all operands."""
        return [self.value(at) for at in range(len(self.layer.inputs))]

    def ordered(self, at: int, perm: Sequence[int], sizes: Sequence[Size] = ()) -> str:
        """Return an operand with its axes in another order; a stored one needs no transposition.

        Args:
            at: position of the operand.
            perm: its axes in the new order.
            sizes: extents of a stored operand before the new order, if they differ from the stored
                ones, as with a new axis of 1.
        """
        stored = self.stored(at)
        if stored is not None:
            return self.weight(stored, perm, sizes)
        value = self.value(at)
        return (
            value
            if list(perm) == [*range(len(perm))]
            else self.emit("Transpose", value, perm=tuple(perm))
        )

    def unsqueezed(self, at: int) -> str:
        """Return an operand with a new first axis of 1; a stored one needs no node for it."""
        sizes = (1, *self.meta(at).sizes)
        if self.stored(at) is not None:
            return self.ordered(at, range(len(sizes)), sizes)
        return self.emit("Unsqueeze", self.value(at), self.ints(0))

    def weight(
        self,
        stored: StoredTensor,
        perm: Sequence[int],
        sizes: Sequence[Size] = (),
        *,
        is_state: bool = False,
    ) -> str:
        """Return a stored tensor with its axes in another order; a state is no parameter."""
        builder, extents = self.builder, tuple(sizes or stored.meta.sizes)
        shape = tuple(extents[a] for a in perm)
        # one tensor with two orders of axes is stored twice
        key = "stored", id(self.scope.network), stored.key, shape
        name = builder.constants.get(key)
        if name is None:
            name = builder.constants[key] = builder.reserved(stored.name)
            is_one = all(s == 1 for s in shape)
            # elements that were not read are many: a weight
            is_weight = stored.meta.dtype in FLOATS or bool(stored.real) or stored.data is None
            builder.stored(
                name,
                Meta(stored.meta.dtype, shape),
                payload=stored.data,
                is_parameter=is_weight and not (is_one or is_state),
            )
        if not stored.real:
            return name
        if stored.scale is None:
            return self.emit("Cast", name, to=stored.real)
        scale, zero, axis, block = self.scales(stored, perm, extents)
        return self.emit("DequantizeLinear", name, scale, zero, axis=axis, block_size=block)

    def scales(
        self, stored: StoredTensor, perm: Sequence[int], given: Sequence[Size]
    ) -> tuple[str, str, int | None, int | None]:
        """Return the scales and zero points of a stored tensor, their axis and their block."""
        assert stored.scale is not None
        # a tensor has one scale, one for each channel, or one for each group of a row: the extents
        # of the scales show which
        sizes = stored.scale.meta.sizes
        counts = [s for s in sizes if isinstance(s, int)]
        total, block, axis, shape = math.prod(counts), None, None, tuple[int, ...]()
        if total > 1:
            rank, scaled = len(given), [i for i, s in enumerate(sizes) if s != 1]
            if len(scaled) > 1 and len(sizes) >= rank and isinstance(given[-1], int):
                # several axes with more than one scale: channels, and groups along the last axis
                block, axis = given[-1] // counts[rank - 1], tuple(perm).index(rank - 1)
                shape = tuple(counts[a] for a in perm)
            else:
                # one axis has the scales: the first one if the tensor lacks the axis of the scales
                axis, shape = tuple(perm).index(scaled[0] if scaled[0] in perm else 0), (total,)
        # values of scales are not read: only their number counts
        scale = self.builder.filled(shape, stored.real)
        zero = self.builder.filled(shape, stored.meta.dtype) if stored.zero is not None else ""
        return scale, zero, axis, block

    def as_integers(self, at: int) -> str:
        """Return an operand as whole numbers of 64 bits."""
        stored = self.stored(at)
        if stored is not None and stored.data is not None and stored.meta.rank < 2:
            numbers = [int(v) for v in stored.values()]
            return (
                self.scalar(numbers[0], DataType.INT64)
                if not stored.meta.rank
                else self.ints(*numbers)
            )
        return self.cast(self.value(at), self.meta(at).dtype, DataType.INT64)

    def vector(self, at: int) -> str:
        """Return an operand of whole numbers with one axis."""
        value = self.as_integers(at)
        return value if self.meta(at).rank == 1 else self.emit("Reshape", value, self.ints(1))
