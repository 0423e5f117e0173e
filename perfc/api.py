"""The functions a program calls: analyse a model, infer its shapes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from perfc.errors import ModelError, ParseError, PerfcError
from perfc.frontend import load
from perfc.frontend.collector import paused_collector
from perfc.ir.dim import Poly
from perfc.ir.graph import Graph, Module, Value
from perfc.ir.known import Known
from perfc.ir.names import symbol_key
from perfc.ir.types import Type
from perfc.machine import Machine
from perfc.passes.canonicalize import Canonicalize
from perfc.passes.cost import Cost, CostTable
from perfc.passes.fuse import Fuse, KernelTable
from perfc.passes.liveness import Liveness, LivenessTable
from perfc.passes.manager import Analyses, Instrument
from perfc.passes.retype import precision_name
from perfc.passes.roofline import Roofline, RooflineTable
from perfc.passes.shapes import Shapes

if TYPE_CHECKING:
    from perfc.analyzers.prediction import PredictionTable


@dataclass(frozen=True)
class Report:
    """Everything the analysis of one model on one target found.

    Args:
        path: the file, or "" for a model given in memory.
        source: the module as read, typed; its nodes are the file's.
        module: what is left to execute after folding.
        given: symbols the caller set; the others have defaults in ``env``.
        env: every symbol's value.
        dtype: what-if precision, "" for the model's own.
        tf32: whether f32 products may use TF32.
        predictor: of whole runs, by name or card; "" for the best that knows such runs,
            ``kernels`` for none.
    """

    path: str
    source: Module
    module: Module
    given: Mapping[str, int]
    env: Mapping[str, int]
    machine: Machine
    cost: CostTable
    kernels: KernelTable
    liveness: LivenessTable
    roofline: RooflineTable
    dtype: str = ""
    tf32: bool = True
    predictor: str = ""

    @cached_property
    def prediction(self) -> PredictionTable:
        """What every kernel and the run will take; made when first asked for."""
        from perfc.analyzers.prediction import predict
        from perfc.analyzers.steps.kernels import Autocasting
        from perfc.analyzers.whole_run import with_whole

        table = predict(
            self.roofline, self.kernels, source=self.source, module=self.module, tf32=self.tf32,
            autocast=Autocasting.of(self.source, self.dtype),
        )  # fmt: skip
        return with_whole(
            table, self.source, self.machine, self.kernels.runtime.name, self.dtype,
            env=self.env, tf32=self.tf32, predictor=self.predictor,
        )  # fmt: skip


@paused_collector()
def analyze(
    model: Any,
    target: str = "a100",
    *,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
    runtime: str = "ort",
    dtype: str = "",
    tf32: bool = True,
    predictor: str = "",
    instruments: Sequence[Instrument] = (),
) -> Report:
    """Analyse a model on a target.

    Args:
        model: a path, a serialized model, or an ``onnx.ModelProto``.
        target: name of a target or path of a target file.
        dims: values of symbolic extents.
        values: contents of inputs that drive shapes, nested lists or arrays.
        runtime: whose fusion table groups nodes into kernels.
        dtype: what-if precision (``f16``, ``bf16``, ``tf32``, ``i8``, ``f8e4m3``; ``amp-f16`` and
            ``amp-bf16`` are autocast), or what frameworks call it (``half``, ``fp8``).
        tf32: whether f32 products may use TF32, as runtimes do by default.
        predictor: of the whole run, by name or card; by default the best that knows such runs,
            ``kernels`` for the sum of the kernels.
        instruments: watch the passes run.

    Raises:
        PerfcError: the model cannot be read, contradicts itself, or the target is not known.

    >>> analyze("examples/models/resnet50.onnx.gz", "a100", dims={"batch": 8}).cost.work.mac
    4089184256*batch
    """
    am = Analyses(tuple(instruments))
    dtype = precision_name(dtype)
    source = typed(model, dims, values, am)
    module = am.apply(Canonicalize(), source)
    if dtype:
        from perfc.passes.mixed import what_if

        module = am.apply(what_if(dtype), module)
    roofline = am.get(Roofline(target, runtime, tf32), module)
    return Report(
        source.origin.path,
        source,
        module,
        dict(dims or {}),
        source.defaults(),
        roofline.machine,
        am.get(Cost(), module),
        am.get(Fuse(runtime), module),
        am.get(Liveness(), module),
        roofline,
        dtype,
        tf32,
        predictor,
    )


def typed(
    model: Any,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
    am: Analyses | None = None,
    *,
    bind: bool = False,
) -> Module:
    """The module of a model with every value's type inferred, ``dims`` put in first if ``bind``.

    Raises:
        PerfcError: as ``analyze``.
    """
    path = os.fspath(model) if isinstance(model, str | os.PathLike) else ""
    try:
        dims = {symbol_key(name): value for name, value in (dims or {}).items()}
        module = load(serialized(model), dims, {k: contents(v) for k, v in (values or {}).items()})
        unknown = sorted(set(dims) - {s.name for s in module.symbols})
        if unknown:
            names = ", ".join(s.name for s in module.symbols) or "none"
            raise ParseError(f"no symbol {unknown[0]!r} in the model", hint=f"its symbols: {names}")
        inputs = [v.name for v in module.graph.inputs]
        strange = sorted(set(values or ()) - set(inputs))
        if strange:
            raise ParseError(
                f"no input {strange[0]!r} to give a value to",
                hint=f"its inputs: {', '.join(inputs)}",
            )
        if bind:
            module = bound_inputs(module, {symbol_key(k): n for k, n in (dims or {}).items()})
        return (am or Analyses()).apply(Shapes(), module)
    except PerfcError as error:
        if path and path not in str(error):
            error.where = f"{path}: {error.where}" if error.where else path
        raise


def serialized(model: Any) -> str | os.PathLike[str] | bytes:
    """A path or bytes as they are, a message object as its bytes."""
    if isinstance(model, str | os.PathLike | bytes):
        return model
    try:
        return bytes(model.SerializeToString())
    except AttributeError:
        raise TypeError("a model is a path, bytes or an onnx.ModelProto") from None
    except ValueError as error:
        raise ModelError(
            f"the model cannot be serialized: {error}", hint="save it to a file and give its path"
        ) from error


def contents(value: Any) -> Known:
    """Nested lists, a number or an array as the content of an input.

    Raises:
        ParseError: ragged lists, or more elements than are ever tracked.
    """
    if hasattr(value, "tolist"):
        flat = value.reshape(-1).tolist()
        array = Known.of(value.shape, flat)
        if array is None:
            raise ParseError(f"a value of {len(flat)} elements is too large to drive a shape")
        return array
    shape: list[int] = []
    level = value
    while isinstance(level, list | tuple):
        shape.append(len(level))
        level = level[0] if level else None
    items: list[Any] = [value]
    for extent in shape:
        if any(not isinstance(i, list | tuple) or len(i) != extent for i in items):
            raise ParseError("the lists of a value differ in length")
        items = [x for i in items for x in i]
    found = Known.of(shape, items)
    if found is None:
        raise ParseError(f"a value of {len(items)} elements is too large to drive a shape")
    return found


@paused_collector()
def infer_shapes(
    model: Any,
    dims: Mapping[str, int] | None = None,
    values: Mapping[str, Any] | None = None,
) -> dict[str, Type]:
    """The type of every value of the main graph, by name.

    Args:
        model: a path, a serialized model, or an ``onnx.ModelProto``.
        dims: numbers for symbolic extents. They are put in after inference; where that leaves an
            extent open, or one is 0, inference is repeated with the numbers.
        values: contents of inputs that drive shapes.

    Raises:
        PerfcError: as ``analyze``.
    """
    env = {symbol_key(name): value for name, value in (dims or {}).items()}
    found = _types(typed(model, dims, values).graph, env)
    # nothing to reduce, or to take the largest of, is a case of its own
    if 0 in env.values() or (env and not all(map(is_closed, found.values()))):
        found = _types(typed(model, dims, values, bind=True).graph, env)
    return found


def _types(graph: Graph, env: Mapping[str, int]) -> dict[str, Type]:
    every: list[Value] = [*graph.inputs, *graph.weights, *graph.outputs]
    every += [v for n in graph.nodes for v in n.results]
    return {v.name: bound_type(v.type, env) if env else v.type for v in every}


def is_closed(type_: Type) -> bool:
    """Whether every extent is a number."""
    from perfc.ir.types import MapType, OptionalType, SequenceType, TensorType

    match type_:
        case TensorType():
            return type_.is_static
        case SequenceType(elem) | OptionalType(elem) | MapType(_, elem):
            return is_closed(elem)
        case _:
            return False


def bound_inputs(module: Module, env: Mapping[str, int]) -> Module:
    """``module`` with numbers for symbols in the types of its inputs."""
    from perfc.ir.rewrite import Rewriter

    rewriter = Rewriter(module.graph)
    for v in module.graph.inputs:
        type_ = bound_type(v.type, env)
        if type_ != v.type:
            rewriter.redefine(v, Value(v.name, type_, v.known, v.weight))
    return Module(rewriter.result(), module.symbols, module.origin)


def bound_type(type_: Type, env: Mapping[str, int]) -> Type:
    """``type_`` with symbols replaced by numbers."""
    from perfc.ir.dim import substitute
    from perfc.ir.types import OptionalType, SequenceType, TensorType

    match type_:
        case TensorType(dtype, shape) if shape is not None:
            dims = tuple(substitute(d, env) if isinstance(d, Poly) else d for d in shape)
            return TensorType(dtype, dims)
        case SequenceType(elem, length, items):
            length = substitute(length, env) if isinstance(length, Poly) else length
            each = None if items is None else tuple(bound_type(t, env) for t in items)
            return SequenceType(bound_type(elem, env), length, each)
        case OptionalType(elem):
            return OptionalType(bound_type(elem, env))
        case _:
            return type_
