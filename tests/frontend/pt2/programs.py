"""Programs of ``torch.export`` as their JSON documents, made without PyTorch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import perfc
from perfc.frontend.formats import ReadOptions
from perfc.frontend.lowering import lowered
from perfc.frontend.pt2.program import translated
from perfc.ir.graph import Module

F32, F16, BF16, I64, BOOL, C64 = 7, 6, 13, 5, 12, 10
"""Element types. Source: torch/_export/serde/schema.py."""
Type = tuple[int, Sequence[Any]]
"""Element type and extents of a tensor; text is an expression of symbols."""


def tensor(type_: Type, device: str = "cpu") -> dict[str, Any]:
    """Return the ``TensorMeta`` of a type."""
    dtype, sizes = type_
    made = [{"as_int": s} if isinstance(s, int) else {"as_expr": {"expr_str": s}} for s in sizes]
    return {"dtype": dtype, "sizes": made, "device": {"type": device, "index": None}}


def argument(value: Any) -> dict[str, Any]:
    """Return the ``Argument`` of a number, text, graph, or list; a text that starts with $ is a
    tensor."""
    match value:
        case None:
            return {"as_none": True}
        case bool():
            return {"as_bool": value}
        case int():
            return {"as_int": value}
        case float():
            return {"as_float": value}
        case {"scalar_type": dtype}:
            return {"as_scalar_type": dtype}
        case {"nodes": _}:
            return {"as_graph": {"name": value["name"], "graph": value}}
        case str() if value.startswith("$"):
            return {"as_tensor": {"name": value[1:]}}
        case str():
            return {"as_string": value}
        case [str(), *_]:
            return {"as_tensors": [{"name": v[1:]} for v in value]}
        case _:
            return {"as_ints": list(value)}


def node(target: str, results: str, *given: Any, **named: Any) -> dict[str, Any]:
    """Return a call: ``aten.NAME.OVERLOAD`` with arguments by name, or a higher-order operator."""
    inputs = [{"name": "", "arg": argument(v)} for v in given]
    inputs += [{"name": name, "arg": argument(v)} for name, v in named.items()]
    names = results.split()
    outputs = [{"as_tensor": {"name": name}} for name in names]
    return {
        "target": f"torch.ops.{target}",
        "inputs": inputs,
        "outputs": outputs,
        "metadata": {},
        "name": names[0],
    }


def graph(
    inputs: str,
    outputs: str,
    nodes: Sequence[Mapping[str, Any]],
    values: Mapping[str, Type],
    name: str = "body",
    device: str = "cpu",
) -> dict[str, Any]:
    """Return a ``Graph``: names of its inputs and outputs, nodes, and the types of its values."""
    return {
        "name": name,
        "nodes": list(nodes),
        "sym_int_values": {},
        "inputs": [{"as_tensor": {"name": n}} for n in inputs.split()],
        "outputs": [{"as_tensor": {"name": n}} for n in outputs.split()],
        "tensor_values": {n: tensor(t, device) for n, t in values.items()},
    }


def program(
    top: Mapping[str, Any], parameters: str = "", ranges: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the document of a graph, some inputs of which are parameters or ``c_`` constants."""
    stored = parameters.split()
    specs: list[dict[str, Any]] = []
    for given in top["inputs"]:
        name = given["as_tensor"]["name"]
        kind = "tensor_constant" if name.startswith("c_") else "parameter"
        specs.append(
            {kind: {"arg": {"name": name}, f"{kind}_name": name}}
            if name in stored
            else {"user_input": {"arg": given}}
        )
    results = [{"user_output": {"arg": given}} for given in top["outputs"]]
    module = {"graph": top, "signature": {"input_specs": specs, "output_specs": results}}
    return {
        "schema_version": {"major": 8, "minor": 0},
        "graph_module": module,
        "range_constraints": dict(ranges or {}),
    }


def module_of(document: Mapping[str, Any], constants: Mapping[str, bytes] | None = None) -> Module:
    """Return the module of a document."""
    return lowered(translated(document, {}, "", constants), ReadOptions())


def report_of(document: Mapping[str, Any], constants: Mapping[str, bytes] | None = None) -> Any:
    """Return the report of a document."""
    return perfc.analyze(module_of(document, constants), "a100", runtime="eager")
