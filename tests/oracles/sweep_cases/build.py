"""A builder of small models whose outputs carry no declared types, and the cases made of them."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

NEWEST = onnx.defs.onnx_opset_version()
OLDEST = 7
FLOATS = ("f32", "f64", "f16", "bf16")

# Short names of the element types, by ONNX's type string.
DTYPES: dict[str, Any] = {
    "f32": np.float32,
    "f64": np.float64,
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "i8": np.int8,
    "i16": np.int16,
    "i32": np.int32,
    "i64": np.int64,
    "u8": np.uint8,
    "u16": np.uint16,
    "u32": np.uint32,
    "u64": np.uint64,
    "bool": np.bool_,
    "str": np.object_,
    "c64": np.complex64,
    "c128": np.complex128,
    "i4": ml_dtypes.int4,
    "u4": ml_dtypes.uint4,
    "i2": ml_dtypes.int2,
    "u2": ml_dtypes.uint2,
    "f8e4m3fn": ml_dtypes.float8_e4m3fn,
    "f8e4m3fnuz": ml_dtypes.float8_e4m3fnuz,
    "f8e5m2": ml_dtypes.float8_e5m2,
    "f8e5m2fnuz": ml_dtypes.float8_e5m2fnuz,
    "f8e8m0": ml_dtypes.float8_e8m0fnu,
    "f4": ml_dtypes.float4_e2m1fn,
}
_ONNX_NAMES = {
    "float": "f32",
    "double": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "string": "str",
    "complex64": "c64",
    "complex128": "c128",
    "float8e4m3fn": "f8e4m3fn",
    "float4e2m1": "f4",
    "float8e4m3fnuz": "f8e4m3fnuz",
    "float8e5m2": "f8e5m2",
    "float8e5m2fnuz": "f8e5m2fnuz",
    "float8e8m0": "f8e8m0",
}
_ONNX_NAMES |= {f"int{n}": f"i{n}" for n in (2, 4, 8, 16, 32, 64)}
_ONNX_NAMES |= {f"uint{n}": f"u{n}" for n in (2, 4, 8, 16, 32, 64)}
PACKED = {"i4", "u4", "i2", "u2", "f4"}


def elem(name: str) -> int:
    """ONNX element type of a short dtype name."""
    return (
        TensorProto.STRING
        if name == "str"
        else helper.np_dtype_to_tensor_dtype(np.dtype(DTYPES[name]))
    )


class NoCaseError(Exception):
    """This operator, at this opset, has no case of this kind."""


@dataclass(frozen=True)
class Case:
    """One model with the inputs it runs on, and what of them the analysis is told."""

    id: str
    family: str
    op: str
    opset: int
    model: onnx.ModelProto
    feeds: dict[str, Any]
    bound: tuple[str, ...]
    dims: dict[str, int]

    @property
    def declared(self) -> dict[str, int]:
        """What the symbols of the inputs' declared shapes were when the case ran."""
        found: dict[str, int] = {}
        for info in self.model.graph.input:
            fed = self.feeds.get(info.name)
            for axis, dim in enumerate(info.type.tensor_type.shape.dim):
                if dim.dim_param and hasattr(fed, "shape"):
                    found[dim.dim_param] = int(fed.shape[axis])
        return found

    @property
    def values(self) -> dict[str, Any]:
        """Inputs whose values the analysis is told."""
        return {n: self.feeds[n] for n in self.bound}


@cache
def schema(op: str, opset: int, domain: str = "") -> onnx.defs.OpSchema:
    """Schema in force, or NoCaseError."""
    try:
        found = onnx.defs.get_schema(op, opset, domain)
    except onnx.defs.SchemaError as error:
        raise NoCaseError(op) from error
    if found.deprecated:
        raise NoCaseError(op)
    return found


@cache
def allowed(op: str, opset: int, index: int = 0, output: bool = False) -> tuple[str, ...]:
    """Short dtype names the schema allows at one formal input or output."""
    formals = schema(op, opset).outputs if output else schema(op, opset).inputs
    types = formals[min(index, len(formals) - 1)].types
    names = (t[7:-1] for t in sorted(types) if t.startswith("tensor("))
    return tuple(n for n in (_ONNX_NAMES.get(n, n) for n in names) if n in DTYPES)


@dataclass
class Build:
    """Collects nodes, inputs and initializers of one case."""

    rng: random.Random
    opset: int
    extra: dict[str, int] = field(default_factory=dict)
    nodes: list[onnx.NodeProto] = field(default_factory=list)
    inputs: list[onnx.ValueInfoProto] = field(default_factory=list)
    inits: list[onnx.TensorProto] = field(default_factory=list)
    functions: list[onnx.FunctionProto] = field(default_factory=list)
    feeds: dict[str, Any] = field(default_factory=dict)
    bound: list[str] = field(default_factory=list)
    dims: dict[str, int] = field(default_factory=dict)
    count: list[int] = field(default_factory=lambda: [0])
    exact: bool = False

    # ---- choices

    def pick(self, *options: Any) -> Any:
        """One of the options."""
        return self.rng.choice(options)

    def chance(self, p: float) -> bool:
        """True with probability p."""
        return self.rng.random() < p

    def dtype(self, op: str, index: int = 0, among: Sequence[str] = ()) -> str:
        """A dtype the schema allows here; the usual ones more often."""
        names = [n for n in allowed(op, self.opset, index) if not among or n in among]
        if not names:
            raise NoCaseError(op)
        usual = [n for n in names if n in ("f32", "i64", "f16", "i32")]
        return self.rng.choice(usual if usual and self.chance(0.5) else names)

    def shape(self, rank: int | None = None, low: int = 1, high: int = 5) -> tuple[int, ...]:
        """A random shape; now and then with a dimension of zero."""
        rank = self.rng.randint(0, 5) if rank is None else rank
        dims = [self.rng.randint(low, high) for _ in range(rank)]
        if rank and low <= 1 and self.chance(0.06):
            dims[self.rng.randrange(rank)] = 0
        return tuple(dims)

    def axis(self, rank: int) -> int:
        """An axis of a tensor, negative half of the time."""
        return self.rng.randrange(rank) - (rank if self.chance(0.5) else 0)

    def axes(self, rank: int, at_least: int = 0) -> list[int]:
        """Distinct axes, some negative."""
        some = self.rng.sample(range(rank), self.rng.randint(min(at_least, rank), rank))
        return [a - (rank if self.chance(0.4) else 0) for a in some]

    def array(self, shape: Sequence[int], dtype: str = "f32", high: int = 3) -> np.ndarray:
        """Small values, positive for floats, of any dtype."""
        rng = np.random.default_rng(self.rng.getrandbits(32))
        shape = tuple(shape)
        if dtype == "str":
            words = np.array(["a", "bc", "d e f", ""], dtype=object)
            return np.array(words[rng.integers(0, 4, shape)], dtype=object).reshape(shape)
        if dtype == "bool":
            return rng.integers(0, 2, shape).astype(bool)
        if dtype in FLOATS:
            return rng.uniform(0.1, 0.9, shape).astype(DTYPES[dtype])
        if dtype in PACKED or dtype.startswith("f8"):
            return rng.integers(0, 2, shape).astype(np.float32).astype(DTYPES[dtype])
        return rng.integers(0, high + 1, shape).astype(DTYPES[dtype])

    # ---- values

    def name(self, stem: str) -> str:
        """A fresh value name."""
        self.count[0] += 1
        return f"{stem}{self.count[0]}"

    def const(self, array: Any) -> str:
        """An initializer."""
        name = self.name("w")
        self.inits.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def constant(self, array: Any) -> str:
        """The output of a Constant node."""
        return self.op("Constant", value=numpy_helper.from_array(np.asarray(array)))

    def data(self, array: Any, dtype: str = "") -> str:
        """A run-time input; its shape is declared in full, or by symbols that `dims` binds."""
        array = np.asarray(array)
        kind = dtype or next((n for n, t in DTYPES.items() if np.dtype(t) == array.dtype), "str")
        if kind in PACKED:
            return self.const(array)
        name = self.name("x")
        shape: list[int | str] = list(array.shape)
        if self.chance(0.2) and not self.exact:
            # Left open only where perfc's default range of a symbol, 1 and up, holds.
            bind = self.chance(0.95) or 0 in shape
            for i in range(len(shape)):
                if self.chance(0.6):
                    shape[i] = symbol = f"d{name}_{i}"
                    if bind:
                        self.dims[symbol] = array.shape[i]
        self.inputs.append(helper.make_tensor_value_info(name, elem(kind), shape))
        self.feeds[name] = array
        return name

    def rand(self, shape: Sequence[int], dtype: str = "f32", high: int = 3) -> str:
        """A run-time input of random data."""
        return self.data(self.array(shape, dtype, high))

    def sequence(self, arrays: list[np.ndarray], dtype: str) -> str:
        """A run-time input that is a sequence."""
        name = self.name("s")
        tensor = helper.make_tensor_type_proto(elem(dtype), None)
        self.inputs.append(helper.make_value_info(name, helper.make_sequence_type_proto(tensor)))
        self.feeds[name] = arrays
        return name

    def drive(self, array: Any, dtype: str = "i64") -> str:
        """An input whose value decides a shape: constant, computed, bound, rarely unbound."""
        array = np.asarray(array, dtype=DTYPES[dtype])
        how = self.rng.random()
        if how < 0.40:
            return self.const(array)
        if how < 0.55:
            return self.constant(array)
        if how < 0.68:
            return self.computed(array)
        name = self.name("v")
        self.inputs.append(helper.make_tensor_value_info(name, elem(dtype), array.shape))
        self.feeds[name] = array
        if how < 0.98:
            self.bound.append(name)
        return name

    def computed(self, array: np.ndarray) -> str:
        """A constant that only arithmetic on constants or on shapes gives."""
        if array.dtype == np.int64 and array.ndim == 1 and array.size and array.min() >= 0:
            if self.chance(0.5) and array.max() < 9:
                return self.op("Shape", self.data(np.zeros(array.shape and tuple(array), np.int8)))
            parts = [self.const(array[i : i + 1]) for i in range(array.size)]
            return self.op("Concat", *parts, axis=0)
        return self.op("Identity", self.const(array))

    # ---- nodes

    def op(self, op: str, *inputs: str, n: int = 1, domain: str = "", **attrs: Any) -> Any:
        """Add a node; its output name, or a list of n of them."""
        outputs = [self.name("y") for _ in range(n)]
        args = list(inputs)
        while args and not args[-1]:
            args.pop()
        if domain and domain not in self.extra:
            self.extra[domain] = 1
        some = {k: v for k, v in attrs.items() if v is not None and v != []}
        node = helper.make_node(op, args, outputs, domain=domain, **some)
        for name in (k for k, v in attrs.items() if v == []):
            node.attribute.add(name=name, type=onnx.AttributeProto.INTS)
        self.nodes.append(node)
        return outputs[0] if n == 1 else outputs

    def graph(
        self, body: Callable[[Build, list[str]], list[str]], inputs: Sequence[Any] = ()
    ) -> onnx.GraphProto:
        """A subgraph; each of `inputs` is (dtype, shape or None), or a TypeProto."""
        sub = Build(self.rng, self.opset, self.extra, functions=self.functions, count=self.count)
        sub.exact = True
        names, infos = [], []
        for given in inputs:
            names.append(self.name("b"))
            if isinstance(given, onnx.TypeProto):
                infos.append(helper.make_value_info(names[-1], given))
            else:
                infos.append(helper.make_tensor_value_info(names[-1], elem(given[0]), given[1]))
        outputs = body(sub, names)
        if sub.inputs:
            raise AssertionError("a subgraph takes its inputs from outside")
        made = [onnx.ValueInfoProto(name=o) for o in outputs]
        return helper.make_graph(sub.nodes, self.name("g"), infos, made, sub.inits)

    def case(self, case_id: str, family: str, op: str) -> Case:
        """The finished case: every node output is a graph output, without a type."""
        outputs = [o for node in self.nodes for o in node.output if o]
        graph = helper.make_graph(
            self.nodes,
            "case",
            self.inputs,
            [onnx.ValueInfoProto(name=o) for o in outputs],
            self.inits,
        )
        imports = [helper.make_opsetid("", self.opset)]
        imports += [helper.make_opsetid(d, v) for d, v in self.extra.items()]
        model = helper.make_model(graph, opset_imports=imports, functions=self.functions)
        model.ir_version = 8 if self.opset < 19 else 10 if self.opset < 23 else 11
        return Case(
            case_id, family, op, self.opset, model, self.feeds, tuple(self.bound), self.dims
        )
