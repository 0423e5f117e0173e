"""Exported programs as messages of ONNX, which the lowering of ONNX models reads."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from perfc.errors import ModelError
from perfc.ir.graph import CHECKPOINTED

from ..lowering.builder import GraphBuilder, text_of
from ..lowering.elements import is_small, stored_bytes
from ..lowering.emitter import reading
from ..reading.proto import ProtoModel, SymbolRange, ValueInfo
from ..reading.provenance import numbered, place_of
from ..source import one_line
from .archive import read_archive
from .autocast import enter_region, retype
from .call import LOWERINGS, AtenCall, ProgramScope, names_in, names_of
from .control import FLOWS, lower_flow
from .sizes import member_of, parsed

FLOP = "perfc.flop"
"""Key of the work of a custom operator in the metadata of its node."""
MAJOR = 8
"""Version of the schema. Source: torch/_export/serde/schema.py."""
DEEPEST = 32
"""Maximum nesting of the graphs of higher-order operators, which are lowered by recursion."""
INLINED = frozenset(
    {
        "wrap_with_set_grad_enabled",
        "wrap_with_autocast",
        "wrap",
        "tag_activation_checkpoint",
        "wrap_activation_checkpoint",
        "strict_mode",
        "invoke_subgraph",
        "hints_wrapper",
    }
)
"""Higher-order operators that run their graph once."""
CHECKS = re.compile(
    r"_?assert.*|sym_constrain_range.*|_functional_assert.*|sym_size|sym_stride|sym_numel"
    r"|sym_storage_offset|is_nonzero|_local_scalar_dense_guard"
)
"""Operators that only check values or compute sizes, and get no node."""
VIEWS = re.compile(
    r"slice|select|narrow|view|view_as|reshape|flatten|unflatten|permute|transpose|swapaxes|t|mT|numpy_T"
    r"|unsqueeze|squeeze|expand|split|split_with_sizes|chunk|unbind|diagonal|alias|detach|movedim"
)
"""Operators whose results are views of their first operand."""


def read_program(model: str | bytes, root: str = "") -> ProtoModel:
    """Return the program of an archive in messages of ONNX, its parameters without elements.

    Args:
        model: path of a file, or the bytes of one.
        root: folder that files of sources are named from; "" for the current one.

    Raises:
        ModelError: the model is no archive of an exported program, or does not follow its schema.
    """
    where = "model" if isinstance(model, bytes) else one_line(model)
    hint = "save it with a released version of PyTorch, 2.5 or newer"
    with reading(where, "its program does not keep to the schema", hint):
        archive = read_archive(model, where)
        folder = os.path.realpath(root or os.curdir)
        result = translated(archive.program, archive.ties, folder, archive.constants)
    result.origin = archive.origin
    return result


def translated(
    program: Mapping[str, Any],
    ties: Mapping[str, str],
    root: str = "",
    constants: Mapping[str, bytes] | None = None,
) -> ProtoModel:
    """Return a program in messages of ONNX.

    Args:
        program: object of its JSON document.
        ties: name of the first parameter with the same elements, by name of a parameter.
        root: folder that files of sources are named from.
        constants: elements of small constants by name.

    Raises:
        ModelError: another version of the schema.
        KeyError, IndexError, TypeError, ValueError, AttributeError: it does not follow the schema.
    """
    version = program["schema_version"]
    if version["major"] != MAJOR:
        raise ModelError(
            f"version {version['major']!r} of the schema of exported programs",
            hint=f"save it with a PyTorch of schema {MAJOR}, such as 2.5 to 2.13",
        )
    module = program["graph_module"]
    graph = module["graph"]
    builder = GraphBuilder(root=root)
    builder.graph.name = "main_graph"
    scope = ProgramScope(builder, graph["tensor_values"], graph["sym_int_values"])
    declare_inputs(scope, module["signature"]["input_specs"], ties, constants or {})
    lower_nodes(scope, graph["nodes"], 0)
    for spec in module["signature"]["output_specs"]:
        declare_output(scope, spec)
    result = builder.model("torch.export", str(program.get("torch_version", "")))
    result.ranges = ranges_of(builder, program.get("range_constraints") or {})
    sizes = {info.name: graph["tensor_values"][info.name]["sizes"] for info in result.graph.input}
    result.examples = {name: [*map(example_of, given)] for name, given in sizes.items()}
    return result


def ranges_of(builder: GraphBuilder, allowed: Mapping[str, Any]) -> dict[str, SymbolRange]:
    """Return the ranges of symbols by name.

    PyTorch writes separate programs for sizes of 0 and 1. A least value of 2 means no more than
    that a size is neither, and is left out.
    """
    result: dict[str, SymbolRange] = {}
    for raw, limits in allowed.items():
        least, greatest = int(limits["min_val"] or 0), limits["max_val"]
        range_ = SymbolRange(least if least > 2 else 0, None if greatest is None else int(greatest))
        result[builder.symbols.get(raw, raw)] = range_
    return result


def example_of(size: Mapping[str, Any]) -> int | None:
    """Return a symbolic size in the example inputs of the export; None for other sizes."""
    hint = size["as_expr"].get("hint") if "as_expr" in size else None
    return hint.get("as_int") if hint else None


def declare_inputs(
    scope: ProgramScope,
    specs: Sequence[Mapping[str, Any]],
    ties: Mapping[str, str],
    constants: Mapping[str, bytes],
) -> None:
    """Add the parameters, buffers, constants and inputs of the program."""
    builder, used = scope.builder, {str(name) for name in scope.tensors}
    inputs: list[str] = []
    stored: dict[str, str] = {}
    for spec in specs:
        kind, content = member_of(spec)
        if kind == "user_input":
            inputs += names_of(content["arg"])
        elif kind in ("parameter", "buffer", "tensor_constant"):
            raw = str(content["arg"]["name"])
            full_name = str(next(v for k, v in content.items() if k.endswith("_name")))
            full_name = ties.get(full_name, full_name)
            # tied parameters are one tensor, stored at its first occurrence
            if full_name not in stored:
                # a parameter must not have the name of another value of the graph
                stored[full_name] = raw if full_name in used else full_name
                meta, payload = scope.meta(raw), constants.get(full_name, b"")
                count, nbytes = meta.count, len(payload)
                # a file of another size than the type gives is not trusted
                is_whole = nbytes == stored_bytes(meta.dtype, count)
                elements = payload if is_whole and is_small(meta.dtype, count, nbytes) else None
                is_parameter = kind == "parameter"
                builder.stored(stored[full_name], meta, is_parameter=is_parameter, payload=elements)
            scope.values[raw] = stored[full_name]
    name_symbols(scope, inputs)
    for raw in inputs:
        scope.values[raw] = raw
        builder.graph.input.append(ValueInfo(raw, builder.type(scope.meta(raw))))


def name_symbols(scope: ProgramScope, inputs: Iterable[str]) -> None:
    """Name the symbols of the inputs by their axes.

    The first axis of a tensor with several is the batch; that of a vector may count anything. The
    second axis of a matrix of whole numbers is a sequence, of tokens. Other symbols keep the names
    of PyTorch, as does a second symbol that would be named like an earlier one.
    """
    builder = scope.builder
    for raw in inputs:
        meta = scope.meta(raw)
        for axis, size in enumerate(meta.sizes):
            if not isinstance(size, str) or size in builder.axes:
                continue
            builder.axes[size] = (raw, axis)
            is_tokens = axis == 1 and meta.rank == 2 and not meta.is_float
            name = "batch" if axis == 0 and meta.rank > 1 else "seq" if is_tokens else size
            builder.symbols[size] = size if name in builder.symbols.values() else name


def declare_output(scope: ProgramScope, spec: Mapping[str, Any]) -> None:
    """Add an output of the program; mutated buffers and scalars are none."""
    kind, content = member_of(spec)
    if kind != "user_output":
        return
    for raw in names_of(content["arg"]):
        type_ = scope.builder.type(scope.meta(raw))
        scope.builder.graph.output.append(ValueInfo(scope.values[raw], type_))


def lower_nodes(scope: ProgramScope, nodes: Sequence[Mapping[str, Any]], depth: int) -> None:
    """Lower the nodes of a graph in their order.

    Raises:
        ModelError: higher-order operators nested too deep.
    """
    if depth > DEEPEST:
        raise ModelError(f"graphs nested deeper than {DEEPEST}")
    for node in nodes:
        target = str(node["target"])
        outputs = names_in(node["outputs"])
        space, _, operator = target.removeprefix("torch.ops.").partition(".")
        name, _, overload = operator.partition(".")
        # functions of Python's `operator` and `math` compute sizes
        is_check = CHECKS.fullmatch(name) or target.startswith(("_operator", "math"))
        if space == "higher_order" and name in INLINED:
            inline(scope, node, outputs, depth)
        elif outputs and not is_check:
            lower_node(scope, node, outputs, f"{space}::{name}", overload, depth)


def lower_node(
    scope: ProgramScope,
    node: Mapping[str, Any],
    outputs: list[str],
    operator: str,
    overload: str,
    depth: int,
) -> None:
    """Lower a call of an operator; one without a lowering becomes an unknown operator."""
    args = {str(a["name"]): member_of(a["arg"]) for a in node["inputs"]}
    space, _, name = operator.partition("::")
    # an operator that works in place has a trailing underscore: add_ for add
    plain = name if name.startswith("__") else name.rstrip("_")
    stem, metadata = scope.prefix + outputs[0], node["metadata"]
    raws = [raw for a in node["inputs"] for raw in names_of(a["arg"])]
    call_path = plain
    if "nn_module_stack" not in metadata:
        # nodes of a branch or of the body of a loop name no module: that of the first parameter
        # that they read stands for it, else that of the whole graph
        read = (scope.values.get(raw, "") for raw in raws)
        stored = next((v for v in read if v in scope.builder.parameters), "")
        owner = stored.rpartition(".")[0].replace(".", "/") if stored else scope.path
        call_path = f"{owner}/{plain}".lstrip("/")
    path, frames = place_of(metadata, call_path, scope.builder.root)
    custom = json.loads(metadata.get("custom", "{}"))
    # a region of activation checkpointing becomes the outermost frame, where passes look for it
    if CHECKPOINTED in custom:
        frames = (f"{CHECKPOINTED}:{custom[CHECKPOINTED]}", *frames)
    path = numbered(scope.builder.calls, path)
    retype(scope, plain, args, raws, outputs)
    call = AtenCall(scope, stem, path, frames or scope.frames, plain, args, outputs)
    # operators of other libraries are known by their full names
    is_torch = space in ("aten", "prims", "higher_order")
    lowering = LOWERINGS.find(*((f"{plain}.{overload}", plain) if is_torch else (operator,)))
    given = [a["arg"] for a in node["inputs"]]
    if space == "higher_order" and name in FLOWS:
        lowering = partial(lower_flow, given=given, lower=partial(lower_nodes, depth=depth + 1))
    start = len(scope.builder.graph.node)
    if lowering is not None:
        # the nodes of a lowering that fails are removed; the call is then an unknown operator
        with call.attempt():
            results = lowering(call)
            result_names = [results] if isinstance(results, str) else list(results)
            if len(result_names) < len(outputs):
                raise ValueError("fewer results than the program has")
            bind(scope, outputs, result_names, start)
            follow_mutation(scope, name, node, outputs)
            return
    values = [scope.values[raw] for raw in raws if raw in scope.values]
    flop = custom.get(FLOP)
    work = None if flop is None else text_of(parsed(flop), scope.builder.symbols)
    kind = f"{name}.{overload}".rstrip(".")
    result_names = call.several(kind, values, len(outputs), domain=space, flop=work)
    bind(scope, outputs, result_names, start)


def bind(scope: ProgramScope, outputs: Sequence[str], made: Sequence[str], start: int) -> None:
    """Give results the names and types of the program, unless they are earlier values.

    Args:
        scope: scope of the call, which gets the values.
        outputs: names of the results in the program.
        made: values of the results; a lowering may make more than the program has.
        start: index of the first node that the call became.
    """
    names, metas = [scope.prefix + raw for raw in outputs], [scope.meta(raw) for raw in outputs]
    values = scope.builder.settle(start, made, names, metas)
    scope.values.update(zip(outputs, values, strict=False))


def follow_mutation(
    scope: ProgramScope, name: str, node: Mapping[str, Any], outputs: Sequence[str]
) -> None:
    """Let the argument that an operator changes in place mean the result from here on.

    If the argument is a view, a change of it changes the tensor that it is a view of, too. The node
    ``in_place`` returns that tensor with the change: its operands are the tensor and the new view.
    """
    first = next(iter(node["inputs"]), None)
    changed = next(names_of(first["arg"]), "") if first is not None else ""
    if VIEWS.fullmatch(name):
        scope.views.update(dict.fromkeys(outputs, changed))
    if not name.endswith("_") or name.startswith("__") or not changed:
        return
    value, builder = scope.values[outputs[0]], scope.builder
    # a view may be one of another view
    while changed:
        scope.values[changed] = value
        changed = scope.views.get(changed, "")
        if changed:
            updated = builder.fresh(scope.prefix + changed)
            operands = (scope.values[changed], value)
            builder.node("in_place", operands, (updated,), updated, {}, "aten")
            builder.declare(updated, scope.meta(changed))
            value = updated


def inline(
    scope: ProgramScope, node: Mapping[str, Any], outputs: Sequence[str], depth: int
) -> None:
    """Put the graph of a higher-order operator in place of its call."""
    given = [a["arg"] for a in node["inputs"]]
    graph = next(arg["as_graph"]["graph"] for arg in given if "as_graph" in arg)
    actual = names_in(given)
    inner = scope.inner(graph, node.get("name") or outputs[0], actual)
    if "autocast" in node["target"]:
        enter_region(given, graph, scope, inner)
    lower_nodes(inner, graph["nodes"], depth + 1)
    results = names_in(graph["outputs"])
    for raw, result in zip(outputs, results, strict=True):
        scope.values[raw] = inner.values[result]
        # autocast may have changed the element type within; the extents are those of the file
        scope.metas[raw] = replace(scope.meta(raw), dtype=inner.meta(result).dtype)
