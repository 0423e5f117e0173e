"""One operator of a model: its operands in either order of the axes, and the nodes it becomes.

Feature maps of a file are channels-last. Convolutions become channels-first, as in ONNX, and
elementwise operators between them stay so: a transposition is inserted only where an operator
needs the order of the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import TypeAlias

from perfc.ir import mutable, record

from ..lowering.builder import Meta
from ..lowering.elements import DataType
from ..lowering.emitter import FIRST, LAST, Emitter, Lowerings, ValueScope
from .flatbuffer import FlatTable
from .schema import ACTIVATIONS, OPTIONS

Lowering: TypeAlias = "Callable[[FlatCall], None]"
"""Function that makes the nodes of an operator and binds its results."""
LOWERINGS: Lowerings[Lowering] = Lowerings(__package__)
"""Lowerings by operator."""
lowers = LOWERINGS.lowers
CONVERSIONS = frozenset({"DequantizeLinear", "QuantizeLinear", "Transpose"})
"""Operators that convert operands and results; their nodes are named by their operator."""
QUANTIZED = (
    DataType.INT8,
    DataType.UINT8,
    DataType.INT16,
    DataType.INT32,
    DataType.INT4,
    DataType.UINT4,
    DataType.INT2,
)
"""Element types of quantized tensors; the scale of a tensor of any other type has no effect."""


@record
class FlatTensor:
    """Tensor of a graph.

    Args:
        name: its name in the file.
        meta: element type and extents.
        data: elements of a small constant; None for any other tensor.
        is_stored: whether the file has its elements.
        is_variable: whether it keeps its elements from run to run.
        scales: scales of a quantized tensor; empty without quantization.
        zeros: zero points, one for each scale; empty if all are 0.
        axis: axis along which the scales differ, if there are several.
    """

    name: str
    meta: Meta
    data: bytes | None = None
    is_stored: bool = False
    is_variable: bool = False
    scales: tuple[float, ...] = ()
    zeros: tuple[int, ...] = ()
    axis: int = 0

    @property
    def rank(self) -> int:
        """Return the number of axes."""
        return self.meta.rank

    @property
    def is_quantized(self) -> bool:
        """Return True for whole numbers that stand for real ones."""
        return bool(self.scales) and self.meta.dtype in QUANTIZED

    @property
    def is_parameter(self) -> bool:
        """Return True for more than one real number, quantized or not, and for large constants."""
        is_one = all(s == 1 for s in self.meta.sizes)
        return not is_one and (self.meta.is_float or self.is_quantized or self.data is None)


@mutable
class TensorScope(ValueScope):
    """Values of a graph by the index of their tensor.

    Args:
        builder: messages made so far.
        tensors: tensors of the graph.
        plain: values in the order of axes of the file.
        first: channels-first feature maps; a tensor may be in both.
        sources: index of the stored tensor by that of a tensor that is only converted from it.
        depth: number of graphs around this one.
    """

    tensors: Sequence[FlatTensor]
    plain: dict[int, str] = field(default_factory=dict)
    first: dict[int, str] = field(default_factory=dict)
    sources: dict[int, int] = field(default_factory=dict)
    depth: int = 0

    def tensor(self, index: int) -> FlatTensor:
        """Return a tensor; a converted constant is its stored one."""
        # a negative index, which is an omitted operand, would count from the last tensor
        if not 0 <= index < len(self.tensors):
            raise IndexError(f"tensor {index} of {len(self.tensors)}")
        return self.tensors[self.sources.get(index, index)]

    def has(self, index: int) -> bool:
        """Return True if the file has a tensor's elements or an operator so far makes them."""
        return index in self.plain or index in self.first or self.tensor(index).is_stored


@mutable
class FlatCall(Emitter):
    """One operator of a graph.

    Args:
        scope: values of the graph.
        name: name of its first result.
        path: name of its nodes.
        operator: name of the operator in the schema.
        options: table of its options; None if it has none.
        inputs: indices of its operands; -1 for omitted ones.
        outputs: indices of its results.
        conversions: number of its nodes so far that only convert operands and results.
    """

    scope: TensorScope
    operator: str
    options: FlatTable | None
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]
    conversions: int = 0

    def place(self, op_type: str) -> str:
        """Return the name of the next node; the node of the operator has the name of its result."""
        if op_type not in CONVERSIONS:
            # `super()` fails here: slots make the decorator define the class a second time
            return Emitter.place(self, op_type)
        self.conversions += 1
        return f"{self.path}.{op_type}{self.conversions}"

    def number(self, name: str, default: float = 0) -> float:
        """Return an option; ``default`` where the file leaves it out."""
        # an entry is ``name:format``; its position is the number of the field in the file
        for index, entry in enumerate(OPTIONS[self.operator].split()):
            if entry.partition(":")[0] == name and self.options is not None:
                return self.options.number(index, entry.partition(":")[2], default)
        return default

    def option(self, name: str, default: int = 0) -> int:
        """Return an option that is a whole number."""
        return int(self.number(name, default))

    def has(self, at: int) -> bool:
        """Return True if an operand is given."""
        return at < len(self.inputs) and self.inputs[at] >= 0

    def tensor(self, at: int) -> FlatTensor:
        """Return the type of an operand."""
        return self.scope.tensor(self.inputs[at])

    def result(self, at: int = 0) -> FlatTensor:
        """Return the type of a result."""
        return self.scope.tensor(self.outputs[at])

    def integers(self, at: int) -> list[int]:
        """Return the elements of an operand of whole numbers.

        Raises:
            ValueError: it is computed, large, or of another type.
        """
        tensor = self.tensor(at)
        width = {DataType.INT32: 4, DataType.INT64: 8}.get(DataType(tensor.meta.dtype))
        if tensor.data is None or width is None:
            raise ValueError("a computed operand")
        starts = range(0, len(tensor.data), width)
        return [int.from_bytes(tensor.data[s : s + width], "little", signed=True) for s in starts]

    def axes(self, at: int) -> tuple[int, ...]:
        """Return the axes of operand 0 that another operand lists; negative ones are wrapped."""
        rank = self.tensor(0).rank
        return tuple(a % rank for a in self.integers(at))

    @property
    def is_first(self) -> bool:
        """Return True if an operand is a feature map that exists only channels-first."""
        return any(i in self.scope.first and i not in self.scope.plain for i in self.inputs)

    def can_be_first(self, ats: Iterable[int]) -> bool:
        """Return True if all operands can be channels-first, and one is only so.

        Stored operands can, as `stored` writes them in any order.
        """
        tensors = [self.tensor(at) for at in ats]
        return self.is_first and all(t.rank == 4 or t.is_stored for t in tensors)

    def value(self, at: int, *, first: bool = False, real: bool = True) -> str:
        """Return an operand; empty for an omitted one.

        Args:
            at: position of the operand.
            first: whether to return a feature map channels-first.
            real: whether to convert a quantized operand to real numbers.
        """
        if not self.has(at):
            return ""
        index = self.inputs[at]
        tensor = self.scope.tensor(index)
        if tensor.is_stored:
            perm = self.broadcast(tensor) if first else tuple(range(tensor.rank))
            return self.stored(at, perm, real=real)
        if first and tensor.rank != 4 and index not in self.scope.first:
            raise ValueError(f"a feature map of {tensor.rank} axes")
        value = self.ordered(index, first=first)
        return self.dequantized(value, tensor, tensor.axis) if real else value

    def broadcast(self, tensor: FlatTensor) -> tuple[int, ...]:
        """Return the order of axes in which a constant broadcasts to a channels-first map.

        A new axis is -1: a vector of channels gets (0, -1, -1), for the extents [c, 1, 1].
        """
        if tensor.rank == 0 or tensor.rank > 4:
            return tuple(range(tensor.rank))
        # axes of a map that the constant lacks are new ones; broadcasting adds those in front
        new = 4 - tensor.rank
        perm = tuple(a - new if a >= new else -1 for a in FIRST)
        leading = next(i for i, a in enumerate(perm) if a >= 0)
        return perm[leading:]

    def ordered(self, index: int, *, first: bool) -> str:
        """Return a value in one order of the axes, transposed from the other order if need be."""
        scope = self.scope
        here, other = (scope.first, scope.plain) if first else (scope.plain, scope.first)
        if index not in here:
            if index not in other:
                raise LookupError(f"nothing makes tensor {index}")
            perm, sizes = (FIRST if first else LAST), scope.tensors[index].meta.sizes
            if sizes[1:3] == (1, 1):
                # one pixel: both orders have the elements in the same order
                order = FIRST if first else range(4)
                shape = [s if isinstance(s, int) else -1 for s in (sizes[a] for a in order)]
                here[index] = self.emit("Reshape", other[index], self.ints(*shape))
            else:
                here[index] = self.emit("Transpose", other[index], perm=perm)
        return here[index]

    def stored(self, at: int, perm: Sequence[int], *, real: bool = True) -> str:
        """Return an operand with its axes in another order; -1 is a new axis of extent 1.

        A stored operand is written in that order, without a node; another one is transposed.
        """
        tensor, builder = self.tensor(at), self.builder
        if sorted(a for a in perm if a >= 0) != [*range(tensor.rank)]:
            raise ValueError(f"an operand of {tensor.rank} axes")
        if not tensor.is_stored:
            value = self.ordered(self.inputs[at], first=False)
            value = self.dequantized(value, tensor, tensor.axis) if real else value
            return (
                value
                if list(perm) == [*range(tensor.rank)]
                else self.emit("Transpose", value, perm=tuple(perm))
            )
        index = self.scope.sources.get(self.inputs[at], self.inputs[at])
        # several operators may read one tensor, and graphs number their tensors separately
        key = "stored", id(self.scope.tensors), index, tuple(perm)
        name = builder.constants.get(key)
        if name is None:
            name = builder.constants[key] = builder.reserved(tensor.name)
            sizes = tuple(tensor.meta.sizes[a] if a >= 0 else 1 for a in perm)
            builder.stored(
                name,
                Meta(tensor.meta.dtype, sizes),
                is_parameter=tensor.is_parameter,
                payload=tensor.data,
            )
        if not real:
            return name
        axis = tuple(perm).index(tensor.axis) if tensor.axis in perm else 0
        value = self.dequantized(name, tensor, axis)
        # a model in f32 may store its weights in f16
        is_half = (
            tensor.meta.dtype == DataType.FLOAT16 and self.result().meta.dtype != DataType.FLOAT16
        )
        return self.emit("Cast", value, to=int(DataType.FLOAT)) if is_half else value

    def dequantized(self, value: str, tensor: FlatTensor, axis: int) -> str:
        """Return the real numbers of a quantized value."""
        if not tensor.is_quantized:
            return value
        return self.emit(
            "DequantizeLinear",
            value,
            *self.scale(tensor),
            axis=axis if len(tensor.scales) > 1 else None,
        )

    def scale(self, tensor: FlatTensor) -> tuple[str, str]:
        """Return the scale and the zero point of a quantized tensor."""
        is_scalar = len(tensor.scales) == 1
        zeros = tensor.zeros or (0,) * len(tensor.scales)
        if len(zeros) != len(tensor.scales):
            raise ValueError("not as many zero points as scales")
        scale = self.builder.constant(tensor.scales, DataType.FLOAT, is_scalar=is_scalar)
        # the zero point of these types is 0, the default of ONNX
        if tensor.meta.dtype in (DataType.INT32, DataType.INT4, DataType.UINT4, DataType.INT2):
            return scale, ""
        return scale, self.builder.constant(zeros, tensor.meta.dtype, is_scalar=is_scalar)

    def bind(self, value: str, at: int = 0, *, first: bool = False, real: bool = True) -> None:
        """Make a value a result, after the activation that is fused into the operator.

        Args:
            value: the value.
            at: position of the result.
            first: whether the value is channels-first.
            real: whether the value is of real numbers: a quantized result then needs a
                quantization. Otherwise its elements were only moved, and no activation follows.
        """
        tensor = self.result(at)
        if real:
            value = self.activated(value)
        if real and tensor.is_quantized:
            value = self.emit(
                "QuantizeLinear",
                value,
                *self.scale(tensor),
                axis=tensor.axis if len(tensor.scales) > 1 else None,
            )
        self.named(value, at, first=first)

    def activated(self, value: str) -> str:
        """Return a value after the fused activation."""
        # 0 is no activation; operators without options are not in the table
        code = self.option("activation") if "activation" in OPTIONS.get(self.operator, "") else 0
        operator, *bounds = ACTIVATIONS[code].split() or [""]
        if not operator:
            return value
        ends = [self.scalar(float(b), DataType.FLOAT) for b in bounds]
        return self.emit(operator, value, *ends)

    def named(self, value: str, at: int, *, first: bool = False) -> None:
        """Make a value a result, with the name and the type that it has in the file."""
        scope, builder, index = self.scope, self.builder, self.outputs[at]
        tensor = scope.tensors[index]
        # rank 0 is also that of a result without declared extents
        if first and tensor.rank not in (4, 0):
            raise ValueError(f"a feature map of {tensor.rank} axes")
        last = builder.graph.node[-1] if builder.graph.node else None
        if last is not None and value in last.output and tensor.name not in builder.constants:
            # the last node makes the value, and nothing reads it yet: it can be renamed
            if tensor.name:
                last.output[last.output.index(value)] = value = tensor.name
                builder.constants[value] = value
            sizes = tensor.meta.sizes
            if sizes:
                sizes = tuple(sizes[a] for a in FIRST) if first else sizes
                builder.declare(value, Meta(tensor.meta.dtype, sizes))
        (scope.first if first else scope.plain)[index] = value
