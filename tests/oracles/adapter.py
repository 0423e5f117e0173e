"""The one place where the oracles call perfc, and the peers they compare it with.

Every engine answers the same question, `infer(model, dims, values) -> {name: type}`, in the types
of `truth.py`. Change this file when perfc's API changes; nothing else has to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import onnx

from .truth import Map, Optional, Sequence, Symbol, Tensor, Type

Answer = dict[str, Type | None]
Engine = Callable[[onnx.ModelProto, Mapping[str, int], Mapping[str, Any]], Answer]


# ------------------------------------------------------------------------------------ perfc


def perfc_error() -> type[Exception]:
    """The class of every error perfc promises to raise."""
    from perfc.errors import PerfcError

    return PerfcError


def infer_perfc(
    model: onnx.ModelProto, dims: Mapping[str, int], values: Mapping[str, Any]
) -> Answer:
    """Types perfc gives to every top-level value."""
    from perfc.api import infer_shapes

    found = infer_shapes(model, dims=dict(dims), values=dict(values))
    return {name: from_perfc(t) for name, t in found.items()}


def from_perfc(t: Any) -> Type | None:
    """One perfc type in the terms of truth.py."""
    match type(t).__name__:
        case "TensorType":
            elem = int(t.dtype.onnx)
            shape = None if t.shape is None else tuple(from_dim(d) for d in t.shape)
            known = shape is not None and all(isinstance(d, int) for d in shape)
            return Tensor(elem, shape, t.nbytes if known else None)
        case "SequenceType":
            return Sequence(from_perfc(t.elem))
        case "OptionalType":
            return Optional(from_perfc(t.elem))
        case "MapType":
            return Map(int(t.key.onnx), from_perfc(t.value))
    return None


def from_dim(dim: Any) -> int | Symbol:
    """One perfc dimension; a polynomial keeps its symbols and limits so that it can be checked."""
    if isinstance(dim, int):
        return dim
    from perfc.ir.symbolic.dim import interval, substitute, symbols

    names = frozenset(atom.key for atom in symbols(dim))

    def at(env: Mapping[str, int]) -> int | None:
        got = substitute(dim, dict(env))
        return got if isinstance(got, int) else None

    low, high = interval(dim)
    return Symbol(str(dim), names, at, low, high)


def analyze(model: onnx.ModelProto | str | Path, dims: Mapping[str, int] | None = None) -> Any:
    """The whole analysis of one model."""
    from perfc.api import analyze

    return analyze(model, target="a100", dims=dict(dims or {}))


def negative_figures(report: Any) -> list[str]:
    """Counts of a report that are plain numbers and below zero: there are to be none."""
    counted = {
        f"{name} of {node.op.mnemonic}": count
        for node, cost in report.cost.nodes.items()
        for part in (cost.work, cost.traffic)
        for name in ("mac", "alu", "sfu", "integer", "read_bytes", "write_bytes")
        if (count := getattr(part, name, 0)) is not None
    }
    counted["floor"] = report.roofline.floor_s
    counted["peak"] = report.liveness.peak(report.env)[0]
    return [f"{name} is {n}" for name, n in counted.items() if isinstance(n, int | float) and n < 0]


def written(report: Any) -> list[str]:
    """A report as text, JSON and HTML, without predictions."""
    from perfc.view.html import page
    from perfc.view.report import Format, collect, render

    texts = [render(report, form, predict=False) for form in (Format.TEXT, Format.JSON)]
    return [*texts, page(report, collect(report, predict=False))]


def total_mac(model: onnx.ModelProto | str | Path, dims: Mapping[str, int] | None = None) -> Any:
    """Multiply-accumulates of the whole model, symbols at their defaults; None if a bound only."""
    from perfc.ir.symbolic.dim import substitute

    result = analyze(model, dims)
    if result.cost.is_bound:
        return None
    return substitute(result.cost.work.mac, dict(result.env))


def has_operator(name: str, domain: str = "") -> bool:
    """Whether perfc has an operator of this name itself."""
    from perfc.ir.ops import operator_for

    return operator_for(domain, name) is not None


# ------------------------------------------------------------------------------------ peers


def infer_onnx(
    model: onnx.ModelProto, dims: Mapping[str, int], values: Mapping[str, Any]
) -> Answer:
    """Types onnx.shape_inference gives; bound values become initializers, so that it sees them."""
    inferred = onnx.shape_inference.infer_shapes(
        bake(model, dims, values), check_type=False, strict_mode=False, data_prop=True
    )
    return read_types(inferred.graph)


def infer_ort_symbolic(
    model: onnx.ModelProto, dims: Mapping[str, int], values: Mapping[str, Any]
) -> Answer:
    """Types onnxruntime's symbolic_shape_infer gives (it needs sympy)."""
    import logging

    from onnxruntime.tools.symbolic_shape_infer import SymbolicShapeInference

    logging.disable(logging.CRITICAL)
    baked = bake(model, dims, values)
    found = SymbolicShapeInference.infer_shapes(baked, auto_merge=True, guess_output_rank=False)
    return read_types((found or baked).graph)


def read_types(graph: onnx.GraphProto) -> Answer:
    """Types written in a graph's inputs, outputs and value_info."""
    found: Answer = {}
    for info in (*graph.input, *graph.value_info, *graph.output):
        found[info.name] = from_proto(info.type)
    return found


def from_proto(t: onnx.TypeProto) -> Type | None:
    """A TypeProto in the terms of truth.py."""
    match t.WhichOneof("value"):
        case "tensor_type":
            body = t.tensor_type
            if not body.elem_type:
                return None
            dims = tuple(_proto_dim(d) for d in body.shape.dim)
            return Tensor(body.elem_type, dims if body.HasField("shape") else None)
        case "sequence_type":
            return Sequence(from_proto(t.sequence_type.elem_type))
        case "optional_type":
            return Optional(from_proto(t.optional_type.elem_type))
        case "map_type":
            return Map(t.map_type.key_type, from_proto(t.map_type.value_type))
    return None


def _proto_dim(d: onnx.TensorShapeProto.Dimension) -> int | Symbol | None:
    if d.HasField("dim_value"):
        return int(d.dim_value)
    name = d.dim_param
    # A peer's generated names promise nothing, so only that they are not numbers is kept.
    return Symbol(name) if name else None


def bake(
    model: onnx.ModelProto, dims: Mapping[str, int], values: Mapping[str, Any]
) -> onnx.ModelProto:
    """A copy in which bound inputs are initializers and bound symbols are numbers."""
    import numpy as np

    out = onnx.ModelProto()
    out.CopyFrom(model)
    for name, value in values.items():
        for i, info in enumerate(out.graph.input):
            if info.name == name and info.type.HasField("tensor_type"):
                del out.graph.input[i]
                out.graph.initializer.append(onnx.numpy_helper.from_array(np.asarray(value), name))
                break
    for info in out.graph.input:
        for d in info.type.tensor_type.shape.dim:
            if d.dim_param in dims:
                d.dim_value = dims[d.dim_param]
    return out


ENGINES: dict[str, Engine] = {
    "perfc": infer_perfc,
    "onnx": infer_onnx,
    "ort-symbolic": infer_ort_symbolic,
}
