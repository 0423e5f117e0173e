"""One call of an ATen operator: its arguments by name, and the nodes it becomes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, TypeAlias

from perfc.common.fitted import data_next_to
from perfc.ir import mutable

from ..lowering.builder import UNKNOWN, Meta, Size
from ..lowering.elements import DataType
from ..lowering.emitter import Emitter, Lowerings, ValueScope
from .sizes import member_of, size_of

Lowering: TypeAlias = "Callable[[AtenCall], str | Sequence[str]]"
"""Function that makes the nodes of a call and returns the values it results in."""
LOWERINGS: Lowerings[Lowering] = Lowerings(__package__)
"""Lowerings by ATen name without overload and trailing underscore, or with the overload."""
lowers = LOWERINGS.lowers
ELEMENT_TYPES: Mapping[int, int] = {
    int(number): DataType[name] for number, name in data_next_to(__file__).items()
}
"""ONNX element types by ``ScalarType``. Source: torch/_export/serde/schema.py."""


def meta_of(given: Mapping[str, Any]) -> Meta:
    """Return the type of a ``TensorMeta`` of the schema."""
    sizes = tuple([size_of(s) for s in given["sizes"]])
    return Meta(ELEMENT_TYPES.get(given["dtype"], 0), sizes)


def names_of(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of the tensors of an argument."""
    kind, value = member_of(given)
    match kind:
        case "as_tensor":
            yield str(value["name"])
        case "as_tensors":
            yield from (str(v["name"]) for v in value)
        case "as_optional_tensors":
            yield from (str(v["as_tensor"]["name"]) for v in value if "as_tensor" in v)
        case _:
            pass


def names_in(given: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the names of the tensors of several arguments."""
    return [name for argument in given for name in names_of(argument)]


def times(sizes: Sequence[Size]) -> Size:
    """Return the product of sizes."""
    symbolic = [s for s in sizes if not isinstance(s, int)]
    number = math.prod(s for s in sizes if isinstance(s, int))
    return number if not symbolic else ("*", number, *symbolic)


@mutable
class ProgramScope(ValueScope):
    """Names of a graph: of the program or of a higher-order operator.

    Args:
        builder: messages of ONNX built so far.
        tensors: ``tensor_values`` of the graph.
        sizes: ``sym_int_values`` of the graph.
        values: names of values in ONNX by those of the graph.
        prefix: prefix of new names.
        is_autocast: whether ``torch.autocast`` converts operands.
        reduced: type of an autocast region that the export switched off, since its device was
            missing; 0 for none.
        views: the tensor that a view is of, by name.
        metas: types by name, where they were read or changed.
        frames: lines of the program that call the operator of the graph, outermost first.
        path: path of the module for nodes that name none.
    """

    tensors: Mapping[str, Any]
    sizes: Mapping[str, Any]
    values: dict[str, str] = field(default_factory=dict)
    prefix: str = ""
    is_autocast: bool = False
    reduced: int = 0
    views: dict[str, str] = field(default_factory=dict)
    metas: dict[str, Meta] = field(default_factory=dict)
    frames: tuple[str, ...] = ()
    path: str = ""

    def meta(self, name: str) -> Meta:
        """Return the type of a tensor of the graph."""
        meta = self.metas.get(name)
        if meta is None:
            entry = self.tensors.get(name)
            meta = self.metas[name] = UNKNOWN if entry is None else meta_of(entry)
        return meta

    def inner(
        self,
        graph: Mapping[str, Any],
        name: str,
        given: Sequence[str],
        frames: tuple[str, ...] = (),
    ) -> ProgramScope:
        """Return the scope of a graph inside this one.

        Args:
            graph: a ``Graph`` of the schema.
            name: prefix of its names.
            given: names, in this graph, of the operands of the inner one.
            frames: lines of the program that call it, outermost first.
        """
        result = ProgramScope(
            self.builder,
            graph["tensor_values"],
            # sizes of the outer graph stay visible, tensors are passed
            {**self.sizes, **graph["sym_int_values"]},
            prefix=f"{self.prefix}{name}.",
            is_autocast=self.is_autocast,
            reduced=self.reduced,
            frames=frames,
        )
        formal = names_in(graph["inputs"])
        for raw, actual in zip(formal, given, strict=True):
            result.values[raw] = self.values[actual]
            result.metas[raw] = replace(result.meta(raw), dtype=self.meta(actual).dtype)
        return result

    def size(self, given: Mapping[str, Any]) -> Size:
        """Return the size of a ``SymIntArgument``, a number or the name of a size."""
        kind, value = member_of(given)
        return size_of(self.sizes[value]) if kind == "as_name" else int(value)


@mutable
class AtenCall(Emitter):
    """One node of the program.

    Args:
        scope: names of the graph that has the node.
        name: name of its first result.
        path: name of its nodes in ONNX, with the path of its module.
        frames: lines of the program that call it, outermost first.
        operator: name of its operator without overload and trailing underscore.
        args: kind and value of each argument in the file, by name.
        outputs: names of its results in the program.
    """

    scope: ProgramScope
    frames: tuple[str, ...]
    operator: str
    args: dict[str, tuple[str, Any]]
    outputs: list[str]

    def kind(self, name: str) -> str:
        """Return the kind of an argument, as ``as_tensor``; empty for an omitted one."""
        # the file lists omitted arguments too, as none
        kind, _ = self.args.get(name, ("", None))
        return "" if kind == "as_none" else kind

    def value(self, name: str, default: Any = None) -> Any:
        """Return an argument as a number, text, list, or size."""
        kind, value = self.args.get(name, ("as_none", None))
        match kind:
            case "as_none":
                return default
            case "as_sym_int":
                return self.scope.size(value)
            case "as_sym_ints":
                return [self.scope.size(v) for v in value]
            case "as_float":
                # JSON has no infinity: PyTorch writes it as text
                return float(value)
            case "as_ints" | "as_floats" | "as_bools":
                return list(value)
            case _:
                return value

    def number(self, name: str, default: float) -> float:
        """Return an argument that is a number.

        Raises:
            ValueError: it is computed by the program.
        """
        value = self.value(name, default)
        if not isinstance(value, int | float):
            raise ValueError(f"{name} is no number")
        return value

    def integer(self, name: str, default: int) -> int:
        """Return an argument that is a whole number."""
        return int(self.number(name, default))

    def flag(self, name: str, *, default: bool = False) -> int:
        """Return an argument that is a truth value as 0 or 1, as attributes of ONNX are."""
        return int(bool(self.value(name, default)))

    def integers(self, name: str, default: Sequence[int], rank: int = 0) -> list[int]:
        """Return an argument of whole numbers; one stands for ``rank`` of them.

        Raises:
            ValueError: they are computed by the program.
        """
        value = self.value(name, default)
        listed = list(value) if isinstance(value, list | tuple) else [value]
        if not all(isinstance(v, int) for v in listed):
            raise ValueError(f"{name} are no numbers")
        # PyTorch writes an empty list for a default, as for the stride of a pool
        listed = listed or list(default)
        return listed * rank if len(listed) == 1 and rank else listed

    def has(self, name: str) -> bool:
        """Return True if a tensor is given for an argument."""
        return self.kind(name) in ("as_tensor", "as_optional_tensor")

    def tensor(self, name: str) -> str:
        """Return the value of an argument; empty for an omitted one."""
        return self.read(self.raw(name))

    def read(self, raw: str) -> str:
        """Return the value of a tensor of the program, cast to the result's type by autocast.

        Vectors of normalizations are not cast: their kernels read them in any type.
        """
        value = self.scope.values[raw] if raw else ""
        meta, wanted = self.scope.meta(raw), self.result
        # any operand but the first is a scale, an offset or a statistic
        is_vector = "norm" in self.operator and raw not in (self.raw("input"), self.raw("self"))
        if self.scope.is_autocast and meta.is_float and wanted.is_float and not is_vector:
            return self.cast(value, meta.dtype, wanted.dtype)
        return value

    def raw(self, name: str) -> str:
        """Return the name of an argument in the program; empty for an omitted one."""
        kind, value = self.args.get(name, ("as_none", None))
        match kind:
            case "as_tensor":
                return str(value["name"])
            case "as_optional_tensor":
                return str(value["as_tensor"]["name"]) if "as_tensor" in value else ""
            case _:
                return ""

    def raws(self, name: str) -> list[str]:
        """Return the names of a list of tensors; empty for omitted ones."""
        kind, value = self.args.get(name, ("as_none", None))
        match kind:
            case "as_tensors":
                return [str(v["name"]) for v in value]
            case "as_optional_tensors":
                return [str(v["as_tensor"]["name"]) if "as_tensor" in v else "" for v in value]
            case _:
                return []

    def tensors(self, name: str) -> list[str]:
        """Return the values of a list of tensors."""
        return [*map(self.read, self.raws(name))]

    def meta(self, name: str) -> Meta:
        """Return the type of an argument."""
        return self.scope.meta(self.raw(name))

    @property
    def x(self) -> str:
        """Return ``self``."""
        return self.tensor("self")

    @property
    def given(self) -> Meta:
        """Return the type of ``self``."""
        return self.meta("self")

    @property
    def result(self) -> Meta:
        """Return the type of the first result."""
        return self.scope.meta(self.outputs[0])

    def dtype(self, name: str, default: int) -> int:
        """Return an argument that is an element type, as ONNX's."""
        value = self.value(name)
        return default if value is None else ELEMENT_TYPES.get(value, 0)

    def axis(self, name: str, default: int = 0, rank: int | None = None) -> int:
        """Return an axis of ``self``, or of ``rank`` axes; negative ones count from the last."""
        axis = self.integer(name, default)
        return axis + (self.given.rank if rank is None else rank) if axis < 0 else axis

    def axes(self, name: str) -> list[int]:
        """Return an argument of axes, negative ones wrapped; all axes if it is omitted."""
        rank = self.given.rank
        listed = self.integers(name, range(rank))
        return [a + rank if a < 0 else a for a in listed]

    def size(self, size: Size) -> str:
        """Return a size as a scalar value."""
        if isinstance(size, int):
            return self.scalar(size, DataType.INT64)
        return self.emit("Squeeze", self.scope.builder.extent(size))

    def operand(self, name: str, dtype: int) -> str:
        """Return an argument, a tensor or a number, as a value of an element type."""
        if self.has(name):
            return self.cast(self.scope.values[self.raw(name)], self.meta(name).dtype, dtype)
        value = self.value(name)
        if self.kind(name) == "as_complex":
            return self.builder.filled((), dtype)
        if isinstance(value, int | float):
            # complex numbers have real factors
            is_complex = dtype in (DataType.COMPLEX64, DataType.COMPLEX128)
            return self.scalar(value, DataType.FLOAT if is_complex else dtype)
        return self.cast(self.size(value), DataType.INT64, dtype)

    def reshaped(self, value: str, before: Sequence[Size], after: Sequence[Size]) -> str:
        """Return a value with other extents.

        In ONNX's shape, 0 copies the extent at the same axis and -1 is inferred; more than one
        unknown extent, or an extent of 0, needs the shape as a computed tensor.
        """
        if tuple(before) == tuple(after):
            return value
        shape: list[int] = []
        for at, size in enumerate(after):
            if isinstance(size, int):
                shape.append(size)
            else:
                # a symbolic extent that stays at its axis is copied
                is_kept = size is not None and at < len(before) and before[at] == size
                shape.append(0 if is_kept else -1)
        if shape.count(-1) <= 1 and all(
            s != 0 or not isinstance(a, int) for s, a in zip(shape, after, strict=True)
        ):
            return self.emit("Reshape", value, self.ints(*shape))
        return self.emit("Reshape", value, self.extents(after), allowzero=1)
