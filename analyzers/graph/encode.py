"""Encode a module of the IR as arrays of operators, tensors and launches (`ModelGraph`).

Predictors of whole runs read these arrays, so that a graph is counted once for all features.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfc.errors import ModelError
from perfc.ir import (
    Dim,
    DType,
    Env,
    Kind,
    Module,
    Node,
    Numbers,
    Poly,
    TensorType,
    Type,
    Value,
    dim_sum,
    element_count,
    walk,
)
from perfc.ir.problem import Problem, SlidingWindow
from perfc.passes.fusion.fuse import KernelTable
from perfc.passes.memory.liveness import Liveness
from perfc.passes.roofline.cost import Cost, CostTable

from ..steps.columns import LinearColumns, tabulated
from ..steps.geometry import shape
from ..steps.launch import Launch
from ..steps.launches import launches
from ..steps.setting import Setting
from .model_graph import BATCHES, RANK, KernelGraph, ModelGraph, OpGraph

if TYPE_CHECKING:
    from perfc.passes.manager import Analyses

    from ..features.classes import Array

LEFT_OUT = frozenset({Kind.SHAPE, Kind.CONTAINER, Kind.CONTROL})
"""Kinds of nodes that compute no tensor on the device; nodes of their regions are encoded."""
UNREAD = (TensorType(DType.F32, ()),)
"""Placeholder type for a graph in which no operator reads a result of another."""


def encode(
    name: str,
    module: Module,
    am: Analyses,
    settings: Iterable[Setting],
    fixed: Mapping[str, int] | None = None,
) -> ModelGraph:
    """Return the arrays of a typed, canonical f32 module.

    Symbols that are not in ``fixed`` count as the batch.

    Args:
        name: name of the graph.
        module: typed and canonical module.
        am: results of passes: costs, fusion, autocast and strides.
        settings: settings of runs; kernels are stored once for each different list of launches.
        fixed: values of symbols other than the batch.
    """
    envs = environments(module, fixed)
    # in the order of their keys: a built data set has the same bytes in every process
    distinct = sorted({setting.launch_key: setting for setting in settings}.items())
    kernels = {key: kernel_graph(*launches(module, am, setting, envs)) for key, setting in distinct}
    return ModelGraph(name, op_graph(module, am, envs), kernels)


def environments(module: Module, fixed: Mapping[str, int] | None = None) -> list[dict[str, int]]:
    """Return the values of all symbols at each of `BATCHES`; the batch is all that is not fixed."""
    return [{s.name: (fixed or {}).get(s.name, b) for s in module.symbols} for b in BATCHES]


def encode_module(
    name: str,
    module: Module,
    settings: Iterable[Setting],
    fixed: Mapping[str, int] | None = None,
) -> ModelGraph:
    """Return the arrays of a module that is not typed or canonical yet.

    Raises:
        PerfcError: it contradicts itself.
    """
    from perfc.frontend.collector import paused_collector
    from perfc.passes.inference.shapes import Shapes
    from perfc.passes.manager import Analyses
    from perfc.passes.rewriting.canonicalize import Canonicalize

    # passes create many objects and no garbage: the collector would only search them
    with paused_collector():
        am = Analyses()
        canonical = am.apply(Canonicalize(), am.apply(Shapes(), module))
        return encode(name, canonical, am, settings, fixed)


def op_graph(module: Module, am: Analyses, envs: Sequence[Env] | None = None) -> OpGraph:
    """Return operators of a module and tensors between them, with counts at each of `BATCHES`."""
    cost = am.get(Cost(), module)
    at = [Numbers(env) for env in envs or environments(module)]  # one evaluator per batch
    # `Cost` counts only one side of a branch that is not decided before execution
    nodes = [n for n in walk(module.graph) if n in cost.nodes and n.op.kind not in LEFT_OUT]
    makers = {v: i for i, n in enumerate(nodes) for v in n.results}
    if not nodes:
        raise ModelError("it has no operator that a device runs", where=module.name)
    unique, group = distinct(nodes, cost)
    # one edge per tensor that one node writes and another reads, by source, target and name
    read = {
        (makers[v], i, v.name): v.type
        for i, n in enumerate(nodes)
        for v in n.inputs
        if v is not None and v in makers
    }
    ordered = sorted(read)
    # equal types are evaluated once: index of each distinct type, and of the type of each edge
    index_of: dict[Type, int] = {}
    types = [index_of.setdefault(read[edge], len(index_of)) for edge in ordered]
    tensors = evaluated([_tensor(t) for t in index_of or UNREAD], at)
    return OpGraph(
        tuple([n.op.mnemonic for n in nodes]),
        np.array([_fixed(n, cost.nodes[n].problem) for n in unique], np.float64).reshape(
            len(unique), -1
        )[group],
        evaluated([_scaled(n, cost) for n in unique], at)[:, group],
        np.array([(s, t) for s, t, _ in ordered], np.int64).reshape(-1, 2).T,
        tensors[:, types],
        _whole(module, am, cost, at),
    )


def distinct(nodes: Sequence[Node], cost: CostTable) -> tuple[list[Node], list[int]]:
    """Return one node of each group of equal ones, and the index of the group of every node.

    `Cost` has one object for all nodes with equal operators and types, whose identity is compared.
    Which operands are stored tensors is compared here in addition, as features depend on it.
    """
    seen: dict[object, int] = {}
    unique: list[Node] = []
    groups: list[int] = []
    for node in nodes:
        key = (id(cost.nodes[node]), *[v is not None and v.weight is None for v in node.inputs])
        group = seen.setdefault(key, len(unique))
        if group == len(unique):
            unique.append(node)
        groups.append(group)
    return unique, groups


def evaluated(rows: Sequence[Sequence[Dim]], at: Sequence[Numbers]) -> Array:
    """Return the values of extents at each batch, ``[batches, rows, columns]``.

    Constants are filled in first, and each different polynomial is evaluated once.
    """
    plain = np.array([[0 if isinstance(d, Poly) else d for d in row] for row in rows], np.float64)
    numbers: Array = np.repeat(plain.reshape(1, len(rows), -1), len(at), axis=0)
    index_of: dict[Poly, int] = {}
    # row, column and number of each polynomial
    positions = [
        (i, j, index_of.setdefault(d, len(index_of)))
        for i, row in enumerate(rows)
        for j, d in enumerate(row)
        if isinstance(d, Poly)
    ]
    if positions:
        i, j, index = np.array(positions).T
        values = np.array([[float(number(d)) for d in index_of] for number in at])
        numbers[:, i, j] = values[:, index]
    return numbers


def _stored(cost: CostTable) -> Dim:
    """Return the number of elements of all parameters that kernels read."""
    read = (v.type for v, w in cost.weights.items() if w.is_parameter)
    return dim_sum(t.numel or 0 for t in read if isinstance(t, TensorType))


def _whole(module: Module, am: Analyses, cost: CostTable, at: Sequence[Numbers]) -> Array:
    """Return the columns `WHOLE` of a graph at each batch."""
    live = am.get(Liveness(), module)
    graph = module.graph
    totals: tuple[Dim, ...] = (_stored(cost), cost.weight_bytes)
    ins = [sum(float(number(element_count(shape(v)))) for v in graph.inputs) for number in at]
    outs = [sum(float(number(element_count(shape(v)))) for v in graph.outputs) for number in at]
    # many nodes have the same polynomial of live bytes
    peaks = [float(max((number(d) for d in set(live.live)), default=0)) for number in at]
    rows = [
        [*(float(number(d)) for d in totals), peaks[i], ins[i], outs[i]]
        for i, number in enumerate(at)
    ]
    return np.array(rows, np.float64)


def _fixed(node: Node, problem: Problem | None) -> list[float]:
    """Return the columns `OP_FIXED` of a node."""
    given = [v for v in node.inputs if v is not None]
    stored = [v for v in given if v.weight is not None]
    extents = [shape(v) for v in stored]
    # the first stored matrix or filter; vectors are biases and statistics
    filters = next((dims for dims in extents if len(dims) >= 2), ())
    data = _data(node)
    # at most four columns `weight_0` to `weight_3`; a 3D filter has one extent more, left out
    weight = [float(d) if isinstance(d, int) else 0.0 for d in filters[:4]]
    return [
        *(_moving(problem) if isinstance(problem, SlidingWindow) else NOT_WINDOWED),
        float(len(given) - len(stored)),
        float(len(stored)),
        float(sum([_elements(v) for v in stored])),
        float(len(shape(data))),
        float(len(shape(node.results[0]))) if node.results else 0.0,
        *weight,
        *[0.0] * (4 - len(weight)),
        float(1 in map(len, extents)),  # a stored vector is a bias
        float(data.type.dtype.bits) if data and isinstance(data.type, TensorType) else 0.0,
    ]


NOT_WINDOWED = (0.0,) * 9
"""Window, strides, dilations and pads (two numbers each) and groups of an operator without a
window."""


def _moving(window: SlidingWindow) -> list[float]:
    """Return extents of a window, strides, dilations, the sums of both pads, and groups."""
    return [
        *_pair(window.extents, 0),
        *_pair(window.strides, 1),
        *_pair(window.dilations, 1),
        *_pair([before + after for before, after in window.pads], 0),
        float(window.groups),
    ]


def _pair(extents: Sequence[Dim | float], default: float) -> list[float]:
    """Return the last two of some extents as numbers; symbolic ones do not count.

    Without any, both are the default. A single one, of a 1D window, is completed by a second one
    without effect: strides and dilations (default 1) by 1, extents and pads (default 0) by itself.
    """
    numbers = [float(d) for d in extents if isinstance(d, int | float)][-2:]
    match numbers:
        case []:
            return [default, default]
        case [first]:
            return [first, 1.0 if default else first]
        case _:
            return numbers


def _elements(v: Value) -> float:
    """Return the elements of a stored tensor; 0 if its shape is symbolic."""
    numel = v.numel
    return float(numel) if isinstance(numel, int) else 0.0


def _data(node: Node) -> Value | None:
    """Return the input with most axes among those that are not stored; else the first input."""
    given = [v for v in node.inputs if v is not None]
    data = [v for v in given if v.weight is None]
    if len(data) == 1:
        return data[0]
    return max(data, key=lambda v: len(shape(v)), default=given[0] if given else None)


def _scaled(node: Node, cost: CostTable) -> list[Dim]:
    """Return the columns `OP_SCALED` of a node."""
    counted = cost.nodes[node]
    work, traffic = counted.work, counted.traffic
    out = shape(node.results[0]) if node.results else ()
    data = [v for v in node.inputs if v is not None and v.weight is None]
    read: Dim = 0
    for extents in map(shape, data):
        read = read + (element_count(extents) if extents else 0)
    return [
        work.mac,
        work.floor_mac,
        work.alu,
        work.sfu,
        work.integer,
        traffic.read_bytes,
        traffic.write_bytes,
        read,
        element_count(out) if out else 0,
        *_extents(shape(_data(node))),
        *_extents(out),
    ]


def _extents(extents: tuple[Dim, ...]) -> list[Dim]:
    """Return `RANK` extents: further ones multiplied into the last, missing ones 0."""
    if len(extents) > RANK:
        extents = (*extents[: RANK - 1], element_count(extents[RANK - 1 :]))
    return [*extents, *[0] * (RANK - len(extents))]


def _tensor(kind: Type) -> list[Dim]:
    """Return the columns `EDGE_SCALED` of a type; other types than tensors have 1 element."""
    nbytes = kind.nbytes if isinstance(kind, TensorType) else None
    extents = (kind.shape or ()) if isinstance(kind, TensorType) else ()
    return [nbytes or 0, element_count(extents) if extents else 1, *_extents(extents)]


def kernel_graph(table: KernelTable, launches: Sequence[Launch]) -> KernelGraph:
    """Return launches in order, and their dependencies by the tensors of kernels.

    Casts and copies (without a kernel) depend on nothing, and precede the next kernel.
    """
    launch_of = {launch.kernel: i for i, launch in enumerate(launches) if launch.kernel >= 0}
    makers = {v: launch_of[i] for i, k in enumerate(table.kernels) for v in k.writes}
    edges = {
        (makers[v], launch_of[i])
        for i, k in enumerate(table.kernels)
        for v in k.reads
        if v in makers
    }
    # the kernel number of casts and copies is negative
    for i, launch in enumerate(launches):
        if launch.kernel < 0:
            after = next((j for j in range(i + 1, len(launches)) if launches[j].kernel >= 0), None)
            if after is not None:
                edges.add((i, after))
    columns = LinearColumns(BATCHES, tabulated(launches, len(BATCHES)))
    pairs = np.array(sorted(edges), np.int64).reshape(-1, 2).T
    return KernelGraph(columns, pairs)
