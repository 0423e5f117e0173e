"""Inputs for a model: random numbers, ids within the vocabulary, masks of ones.

`inputs_of` lists the inputs of a model, `write` stores contents of them for the worker.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.errors import ModelError
from perfc.ir import DType, Graph, Module, TensorType, Value, evaluate, record
from perfc.ir.ops import (
    Cast,
    Expand,
    Flatten,
    Gather,
    Identity,
    Reshape,
    Squeeze,
    Transpose,
    Unsqueeze,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Array = npt.NDArray[np.generic]

LARGEST_BYTES = 8 << 30
"""Maximum bytes of the inputs of a run, which are made in memory."""
_PASSING = (Cast, Reshape, Unsqueeze, Squeeze, Identity, Flatten, Expand, Transpose)
"""Operators whose result has the elements of their first operand, as ids on the way to a table."""


@record
class Input:
    """Specification of one input.

    Args:
        name: name of the input.
        dtype: its element type.
        shape: its extents.
        limit: number of rows of the smallest table that it indexes, which ids must be below; None
            if it indexes none.
    """

    name: str
    dtype: DType
    shape: tuple[int, ...]
    limit: int | None

    @property
    def nbytes(self) -> int:
        """Return the size of its content."""
        bits = self.dtype.bits
        for d in self.shape:
            bits *= d
        return bits // 8


def inputs_of(module: Module, env: Mapping[str, int]) -> tuple[Input, ...]:
    """Return the inputs of a run, with symbols at ``env``.

    Raises:
        ModelError: an input is no tensor of numbers, or its extents are not known.
    """
    graph = module.graph
    stored = set(graph.weights)
    inputs: list[Input] = []
    for v in graph.inputs:
        if v in stored or v.weight is not None:
            continue
        type_ = v.type
        if not isinstance(type_, TensorType) or type_.dtype in (DType.STR, DType.UNKNOWN):
            raise ModelError(f"cannot make up an input of type {v.type}", where=v.name)
        if type_.shape is None:
            raise ModelError("its rank is not declared", where=v.name)
        shape = tuple(int(evaluate(d, env)) for d in type_.shape)
        inputs.append(Input(v.name, type_.dtype, shape, id_limit(graph, v, env)))
    total = sum(i.nbytes for i in inputs)
    if total > LARGEST_BYTES:
        raise ModelError(f"the inputs take {total / 2**30:.1f} GiB", hint="set smaller --dim")
    return tuple(inputs)


def id_limit(graph: Graph, value: Value, env: Mapping[str, int]) -> int | None:
    """Return the rows of the smallest table that ``value`` indexes, also through `_PASSING`."""
    limits: list[int] = []
    waiting, seen = [value], {value}
    while waiting:
        v = waiting.pop()
        for node in graph.users.get(v, ()):
            op = node.op
            if isinstance(op, Gather) and len(node.inputs) > 1 and node.inputs[1] is v:
                table = node.inputs[0]
                if table is not None and isinstance(table.type, TensorType) and table.type.shape:
                    limits.append(int(evaluate(table.type.shape[op.axis], env)))
            elif isinstance(op, _PASSING) and node.inputs and node.inputs[0] is v:
                waiting += [r for r in node.results if r not in seen]
                seen.update(node.results)
    return min(limits, default=None)


def contents(inputs: tuple[Input, ...], seed: int) -> dict[str, Array]:
    """Return the contents by name; bfloat16 and narrower floats as the integers of their bits.

    Floats are normal with deviation one, ids uniform below their limit; other integers and truth
    values are ones, as an attention mask that hides nothing.
    """
    import numpy as np

    rng = np.random.default_rng(seed)
    result: dict[str, Array] = {}
    for i in inputs:
        kind = numpy_type(i.dtype)
        if i.dtype in (DType.F32, DType.F16, DType.F64):
            result[i.name] = rng.standard_normal(i.shape, dtype=np.float32).astype(kind)
        elif i.dtype is DType.BF16:
            # bfloat16 is the upper half of an f32
            high = rng.standard_normal(i.shape, dtype=np.float32).view(np.uint32) >> 16
            result[i.name] = high.astype(kind)
        elif i.dtype.is_float:
            # bits of positive finite numbers: 0.25 to 1 as E4M3, 1/32 to 0.5 as E5M2
            result[i.name] = rng.integers(0x28, 0x38, i.shape, dtype=np.uint8)
        # integers of 8 bits are no ids
        elif i.limit is not None and i.dtype.bits >= 16:
            result[i.name] = rng.integers(0, max(i.limit, 1), i.shape).astype(kind)
        else:
            result[i.name] = np.ones(i.shape, kind)
    return result


def numpy_type(dtype: DType) -> type[np.generic]:
    """Return the NumPy type that stores ``dtype``.

    Raises:
        ModelError: there is none.
    """
    import numpy as np

    others = {DType.BOOL: np.bool_, DType.BF16: np.uint16, DType.C64: np.complex64}
    if dtype in others:
        return others[dtype]
    if dtype.bits < 8 or not (dtype.is_integer or dtype.is_float):
        raise ModelError(f"cannot make up elements of type {dtype}")
    letter = "i" if dtype.is_integer and dtype.is_signed else "u"
    kind = "f" if dtype in (DType.F16, DType.F32, DType.F64) else letter
    return np.dtype(f"{kind}{dtype.bits // 8}").type


def write(inputs: tuple[Input, ...], path: Path, seed: int) -> None:
    """Write the contents for one run; names are the inputs' positions, as names may be anything."""
    import numpy as np

    arrays = contents(inputs, seed)
    np.savez(path, **{f"i{n}": arrays[i.name] for n, i in enumerate(inputs)})  # type: ignore[arg-type]
