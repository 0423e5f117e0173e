"""Higher-order operators: branches, loops, scans and maps, which run graphs that are operands."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from os.path import commonpath
from typing import Any

from ..lowering.builder import Meta
from ..lowering.elements import DataType
from ..reading.proto import ProtoGraph, ValueInfo
from .call import AtenCall, ProgramScope, names_in, names_of
from .sizes import member_of, size_of

FLOWS = frozenset({"cond", "while_loop", "scan", "map_impl", "map"})
"""Higher-order operators, which have graphs as operands."""
I64 = DataType.INT64
"""Type of the counts of loops."""
Body = Callable[[ProgramScope, Sequence[Mapping[str, Any]]], None]
"""Function that lowers the nodes of a graph."""


def lower_flow(c: AtenCall, given: Sequence[Mapping[str, Any]], lower: Body) -> list[str]:
    """Return the results of a higher-order operator.

    Args:
        c: the call.
        given: its arguments in order.
        lower: lowers the nodes of a graph.
    """
    graphs = [arg["as_graph"] for arg in given if "as_graph" in arg]
    # the file lists sizes as tensors too: only tensors have values here
    groups = [
        [raw for raw in names_of(arg) if raw in c.scope.values]
        for arg in given
        if "as_tensors" in arg
    ]
    match c.operator:
        case "cond":
            return branches(c, given[0], graphs, groups[-1] if groups else [], lower)
        case "while_loop":
            return repeated(c, graphs, groups, lower)
        case _:
            # scan has states, tensors to cut into parts, and others; a map has no states
            states = groups[0] if c.operator == "scan" else []
            parts, *others = groups[1:] if c.operator == "scan" else groups
            return over_parts(c, graphs[0], states, parts, others, lower)


def results_of(
    c: AtenCall,
    graph: Mapping[str, Any],
    given: Sequence[str],
    lower: Body,
    values: Sequence[str] = (),
    suffix: str = "",
) -> list[str]:
    """Return the results of a graph, whose nodes go to the graph of ONNX that the builder is at.

    Args:
        c: the call.
        graph: the graph, with its name.
        given: names of its operands in the graph of the call.
        lower: lowers its nodes.
        values: values that replace those of its first operands: the states within a loop.
        suffix: end of the prefix of its names, if the graph is lowered more than once.
    """
    content = graph["graph"]
    name = f"{c.outputs[0]}.{graph['name']}{suffix}"
    scope = c.scope.inner(content, name, given, c.frames)
    formal = names_in(content["inputs"])
    scope.values.update(zip(formal, values, strict=False))
    scope.path = module_of(c, scope, content["nodes"])
    lower(scope, content["nodes"])
    results = names_in(content["outputs"])
    # a graph of ONNX must make its results, but this one may pass an operand on
    return [c.emit("Identity", scope.values[raw]) for raw in results]


def module_of(c: AtenCall, scope: ProgramScope, nodes: Sequence[Mapping[str, Any]]) -> str:
    """Return the path of the module around all modules whose parameters a graph reads.

    The module of the call, if that is further inside.
    """
    raws = (raw for node in nodes for given in node["inputs"] for raw in names_of(given["arg"]))
    read = (scope.values.get(raw, "") for raw in raws)
    # the last part is the parameter, the one before it the module that has it
    holders = ["/".join(v.split(".")[:-2]) for v in read if v in c.builder.parameters]
    return max(commonpath(holders or [""]), c.path.rpartition("/")[0], key=len)


def ended(c: AtenCall, outer: Any, name: str, results: Sequence[str]) -> ProtoGraph:
    """Return the graph that the builder is at, with its results, and go back to ``outer``."""
    c.builder.graph.output.extend(map(ValueInfo, results))
    graph = c.builder.leave(outer)
    graph.name = name
    return graph


def branches(
    c: AtenCall,
    condition: Mapping[str, Any],
    graphs: Sequence[Mapping[str, Any]],
    given: Sequence[str],
    lower: Body,
) -> list[str]:
    """Return the results of one of two graphs."""
    subgraphs: list[ProtoGraph] = []
    for graph in graphs:
        outer = c.builder.enter()
        subgraphs.append(ended(c, outer, graph["name"], results_of(c, graph, given, lower)))
    raw = next(names_of(condition), "")
    # a condition on sizes is no tensor, and any truth value stands for it
    condition_value = c.scope.values[raw] if raw else c.builder.filled((), DataType.BOOL)
    return c.several(
        "If", (condition_value,), len(c.outputs), then_branch=subgraphs[0], else_branch=subgraphs[1]
    )


def repeated(
    c: AtenCall, graphs: Sequence[Mapping[str, Any]], groups: Sequence[Sequence[str]], lower: Body
) -> list[str]:
    """Return the last states of a graph that runs while another one is true.

    Operands are the states, and others that do not change.
    """
    condition, body = graphs
    states, given = groups[0], [raw for group in groups for raw in group]
    limit = steps_of(c, condition["graph"], body["graph"], states)
    # ONNX needs either a number of steps or the condition before the first one
    begins = "" if limit else results_of(c, condition, given, lower, suffix=".first")[0]
    outer = c.builder.enter()
    _number, goes_on, *arguments = c.builder.loop_inputs(
        c.name, [c.scope.meta(raw) for raw in states]
    )
    after = results_of(c, body, given, lower, arguments)
    (goes_on_after,) = results_of(c, condition, given, lower, after)
    # with a number of steps, the loop passes its condition on as it is
    graph = ended(c, outer, body["name"], [goes_on if limit else goes_on_after, *after])
    initial = [c.scope.values[raw] for raw in states]
    return c.several("Loop", (limit, begins, *initial), len(states), body=graph)


def steps_of(
    c: AtenCall, condition: Mapping[str, Any], body: Mapping[str, Any], states: Sequence[str]
) -> str:
    """Return the steps of a loop that counts one of its states up or down to a limit.

    The limit is a number or a size; "" for any other loop.
    """
    # the condition must be one comparison of a state, and the body change that state by a fixed
    # step; any other form lacks one of the entries below
    try:
        (test,) = condition["nodes"]
        compared = {str(a["name"]): a["arg"] for a in test["inputs"]}
        counter = compared["self"]["as_tensor"]["name"]
        state = names_in(condition["inputs"]).index(counter)
        after = names_in(body["outputs"])[state]
        before = names_in(body["inputs"])[state]
        change = next(n for n in body["nodes"] if after in names_of(n["outputs"][0]))
        changed = {str(a["name"]): a["arg"] for a in change["inputs"]}
        # targets are as torch.ops.aten.lt.Scalar
        operators = [str(n["target"]).split(".")[3] for n in (test, change)]
        sign = {"add": 1, "sub": -1}[operators[1]]
        step, is_up = sign * changed["other"]["as_int"], operators[0] in ("lt", "le")
        is_counter = changed["self"]["as_tensor"]["name"] == before and "alpha" not in changed
        if not is_counter or operators[0] not in ("lt", "le", "gt", "ge") or is_up != (step > 0):
            return ""
        kind, value = member_of(compared["other"])
        is_size = kind == "as_sym_int" and "as_name" in value
        limit = size_of(condition["sym_int_values"][value["as_name"]]) if is_size else int(value)
    except (LookupError, ValueError, TypeError, StopIteration):
        return ""
    raw = states[state]
    ends = (c.size(limit), c.cast(c.scope.values[raw], c.scope.meta(raw).dtype, I64))
    upper, lower = ends if is_up else ends[::-1]
    # ceil((upper - lower) / step); for le and ge, which run at the limit too, floor(...) + 1
    rounding = abs(step) - int(operators[0] in ("lt", "gt"))
    distance = c.emit("Add", c.emit("Sub", upper, lower), c.scalar(rounding, I64))
    return c.emit("Div", distance, c.scalar(abs(step), I64))


def over_parts(
    c: AtenCall,
    body: Mapping[str, Any],
    states: Sequence[str],
    parts: Sequence[str],
    others: Sequence[Sequence[str]],
    lower: Body,
) -> list[str]:
    """Return the last states and the stacked results of a graph that runs for each part.

    Args:
        c: the call.
        body: the graph, whose operands are states, parts and others.
        states: tensors that each run changes.
        parts: tensors that are cut along their first axis, a part for each run.
        others: tensors that every run reads.
        lower: lowers its nodes.
    """
    metas = [c.scope.meta(raw) for raw in states]
    metas += [Meta(m.dtype, m.sizes[1:]) for m in map(c.scope.meta, parts)]
    outer = c.builder.enter()
    arguments = [c.builder.fresh(c.name) for _ in metas]
    c.builder.graph.input += [
        ValueInfo(n, c.builder.type(m)) for n, m in zip(arguments, metas, strict=True)
    ]
    given = [*states, *parts, *(raw for group in others for raw in group)]
    results = results_of(c, body, given, lower, arguments)
    graph = ended(c, outer, body["name"], results)
    operands = [c.scope.values[raw] for raw in (*states, *parts)]
    return c.several("Scan", operands, len(results), num_scan_inputs=len(parts), body=graph)
