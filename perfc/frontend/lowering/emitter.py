"""Operators of other formats: their lowerings, and the nodes that one operator becomes."""

from __future__ import annotations

import math
import struct
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import field
from typing import Any, TypeVar

from perfc.common.declared import modules
from perfc.errors import ModelError
from perfc.ir import mutable

from ..collector import paused_collector
from .builder import GraphBuilder, Meta, Size
from .elements import DataType

FAULTS = (
    LookupError,
    TypeError,
    ValueError,
    AttributeError,
    ArithmeticError,
    StopIteration,
    struct.error,
)
"""Errors raised while a model is read that does not follow the schema of its format."""
FIRST = (0, 3, 1, 2)
"""Permutation of a feature map with channels last to channels first."""
LAST = (0, 2, 3, 1)
"""Permutation of a feature map with channels first to channels last."""
FARTHEST = (1 << 31) - 1
"""End of a slice up to the last element: ONNX cuts an end off at the extent of its axis."""

L = TypeVar("L", bound=Callable[..., Any])


class Lowerings(dict[str, L]):
    """Lowerings of a format by operator; importing the modules of its folder records them.

    Args:
        package: the folder.
    """

    def __init__(self, package: str) -> None:
        super().__init__()
        self._package = package

    def lowers(self, *names: str) -> Callable[[L], L]:
        """Return a decorator that records the lowering of operators."""

        def recorded(lowering: L) -> L:
            self.update(dict.fromkeys(names, lowering))
            return lowering

        return recorded

    def find(self, *names: str) -> L | None:
        """Return the lowering of the first of several names that has one; None if none has."""
        if self._package:
            # modules register their lowerings as they are imported, at the first use
            list(modules(self._package))
            self._package = ""
        return next((self[name] for name in names if name in self), None)


@contextmanager
def reading(where: str, what: str, hint: str) -> Iterator[None]:
    """Turn errors that a damaged model causes into errors of one line.

    Args:
        where: the model.
        what: beginning of the error of a model that does not follow the schema.
        hint: what to do about it.

    Raises:
        ModelError: any of `FAULTS`, graphs nested too deep, or another error of the model.
    """
    try:
        # reading makes many objects that all stay, so collections would only take time
        with paused_collector():
            yield
    except ModelError as error:
        # an inner error may already name its place
        error.where = error.where or where
        raise
    except RecursionError:
        raise ModelError("its graphs are nested too deep", where=where) from None
    except FAULTS as error:
        # cut to about two lines of a terminal: an error may quote the whole model
        message = f"{what}: {type(error).__name__} {error}"[:200]
        raise ModelError(message, hint=hint, where=where) from None


@mutable
class ValueScope:
    """Values of a graph. Each format derives a class that has the values by name or by number.

    Args:
        builder: messages of ONNX built so far.
    """

    builder: GraphBuilder


@mutable
class Emitter:
    """Nodes of one operator of a model.

    Args:
        scope: values of the graph that has the operator.
        name: name of its first result.
        path: name of its nodes, with the path of its module.
        frames: lines of the program that call it, outermost first.
        made: number of nodes emitted so far.
    """

    scope: ValueScope
    name: str
    path: str
    frames: tuple[str, ...] = field(default=(), init=False)
    made: int = field(default=0, init=False)

    @property
    def builder(self) -> GraphBuilder:
        """Return the builder of the messages."""
        return self.scope.builder

    @contextmanager
    def attempt(self, *values: dict[Any, Any]) -> Iterator[None]:
        """Run a lowering; if the operator does not follow the schema, remove what it added.

        Args:
            values: names of values, from which new entries are removed too.
        """
        undo = self.builder.mark(*values)
        try:
            yield
        except FAULTS:
            undo()
            self.made = 0  # names of nodes start again

    def emit(self, op_type: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        """Append a node and return its only result."""
        return self.several(op_type, inputs, 1, domain=domain, **attributes)[0]

    def several(
        self, op_type: str, inputs: Iterable[str], count: int, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Append a node and return its results."""
        names = [self.builder.fresh(self.name) for _ in range(count)]
        path = self.place(op_type)
        self.builder.node(op_type, tuple(inputs), names, path, attributes, domain, self.frames)
        return names

    def place(self, op_type: str) -> str:
        """Return the name of the next node, with the path of its module."""
        self.made += 1
        return self.path if self.made == 1 else f"{self.path}.{self.made - 1}"

    def gelu(self, x: str, dtype: int, *, is_tanh: bool) -> str:
        """Return GELU.

        The exact form is written in operators of ONNX 18, which predictors of whole runs know. The
        form with tanh is one `Gelu` of ONNX 20.
        """
        if is_tanh:
            return self.emit("Gelu", x, approximate="tanh")
        erf = self.emit("Erf", self.emit("Div", x, self.scalar(math.sqrt(2), dtype)))
        gated = self.emit("Mul", x, self.emit("Add", erf, self.scalar(1, dtype)))
        return self.emit("Mul", gated, self.scalar(0.5, dtype))

    def ints(self, *values: int) -> str:
        """Return a constant of one axis with these elements."""
        return self.builder.constant(values, DataType.INT64)

    def scalar(self, value: float, dtype: int) -> str:
        """Return a constant scalar."""
        return self.builder.constant((value,), dtype, is_scalar=True)

    def shape(self, sizes: Sequence[Size]) -> str:
        """Return extents as a constant, -1 for an unknown one.

        Raises:
            ValueError: several are unknown.
        """
        shape = [s if isinstance(s, int) else -1 for s in sizes]
        # Reshape computes the extent of a single -1 from the number of elements
        if shape.count(-1) > 1:
            raise ValueError("several unknown extents")
        return self.ints(*shape)

    def extents(self, sizes: Sequence[Size]) -> str:
        """Return extents as a tensor of one axis, computed where they are not numbers.

        Raises:
            LookupError: an extent that no input has, so that nothing can compute it.
        """
        numbers = [s for s in sizes if isinstance(s, int)]
        if len(numbers) == len(sizes):
            return self.ints(*numbers)
        parts = [self.builder.extent(s) for s in sizes]
        return parts[0] if len(parts) == 1 else self.emit("Concat", *parts, axis=0)

    def cast(self, value: str, given: int, wanted: int) -> str:
        """Return a value of type ``given`` with the element type ``wanted``; 0 keeps its type."""
        is_same = given == wanted or not wanted
        return value if is_same else self.emit("Cast", value, to=int(wanted))

    def reduced(
        self, operator: str, value: str, dtype: int, axes: Iterable[int], *, keepdims: int = 0
    ) -> str:
        """Return a reduction; truth values are cast to numbers and back, as ONNX reduces none."""
        is_bool = dtype == DataType.BOOL
        value = self.emit("Cast", value, to=int(DataType.UINT8)) if is_bool else value
        result = self.emit(operator, value, self.ints(*axes), keepdims=keepdims)
        return self.emit("Cast", result, to=int(DataType.BOOL)) if is_bool else result


@mutable
class OperandEmitter(Emitter, ABC):
    """Nodes of an operator whose operands are numbered from 0."""

    @abstractmethod
    def value(self, at: int) -> str:
        """Return an operand."""

    @abstractmethod
    def meta(self, at: int) -> Meta:
        """Return the type of an operand."""

    @property
    def x(self) -> str:
        """Return the first operand."""
        return self.value(0)

    @property
    def given(self) -> Meta:
        """Return the type of the first operand."""
        return self.meta(0)
