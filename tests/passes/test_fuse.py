"""Kernels form a schedule of every node, and move no more than the nodes apart."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfc.ir.cost import dim_sum
from perfc.ir.graph import Module, Node, Value, walk
from perfc.ir.op import Kind
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.types import TensorType
from perfc.passes.fusion.fuse import Fuse, KernelTable
from perfc.passes.fusion.grouping import Grouping
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.manager import Analyses
from perfc.passes.roofline.cost import Cost, CostTable
from perfc.passes.runtimes import LaunchMode, Runtime, runtimes
from tests.passes.random_graphs import modules

ENV = {"N": 3}
UNITS = ("mac", "alu", "sfu", "integer")


def analyzed(module: Module, runtime: str) -> tuple[CostTable, KernelTable]:
    am = Analyses()
    return am.get(Cost(), module), am.get(Fuse(runtime), module)


def counted(module: Module, cost: CostTable) -> list[Node]:
    return [n for n in walk(module.graph) if n in cost.nodes and not n.regions]


@settings(max_examples=150, deadline=None)
@given(modules(), st.sampled_from(runtimes()))
def test_every_node_is_in_one_kernel_or_on_the_host(module: Module, runtime: str) -> None:
    cost, table = analyzed(module, runtime)
    placed = [n for k in table.kernels for n in k.nodes] + list(table.host)
    assert sorted(map(id, placed)) == sorted(map(id, counted(module, cost)))


@settings(max_examples=150, deadline=None)
@given(modules(), st.sampled_from(runtimes()))
def test_kernels_in_order_read_only_what_is_made(module: Module, runtime: str) -> None:
    cost, table = analyzed(module, runtime)
    makers = {v: n for n in counted(module, cost) for v in n.results}
    done: set[Node] = {n for n in table.host if n.op.kind is Kind.SHAPE}
    for kernel in table.kernels:
        for node in kernel.nodes:
            for v in node.inputs:
                maker = makers.get(v) if v is not None else None
                assert maker is None or maker in done or maker in table.host, (node.name, v)
            done.add(node)


@settings(max_examples=150, deadline=None)
@given(modules(), st.sampled_from(runtimes()))
def test_work_of_kernels_is_work_of_their_nodes(module: Module, runtime: str) -> None:
    cost, table = analyzed(module, runtime)
    folded = {n for k in table.kernels for n in k.folded}
    launched = {n for k in table.kernels for n in k.nodes} - folded
    for unit in UNITS:
        of_kernels = dim_sum(getattr(k.work, unit) * k.repeat for k in table.kernels)
        of_nodes = dim_sum(
            getattr(cost.nodes[n].work, unit) * cost.nodes[n].repeat for n in launched
        )
        assert evaluate(of_kernels, ENV) == evaluate(of_nodes, ENV)


@settings(max_examples=200, deadline=None)
@given(modules(), st.sampled_from(runtimes()))
def test_fused_traffic_lies_between_what_crosses_and_what_nodes_move(
    module: Module, runtime: str
) -> None:
    cost, table = analyzed(module, runtime)
    for k in table.kernels:
        t = k.traffic
        apart = [cost.nodes[n].traffic for n in k.nodes]
        assert evaluate(t.read_bytes, ENV) <= evaluate(dim_sum(p.read_bytes for p in apart), ENV)
        assert evaluate(t.write_bytes, ENV) <= evaluate(dim_sum(p.write_bytes for p in apart), ENV)
        reads, writes = crossing(k, module, table)
        assert evaluate(t.read_bytes, ENV) >= reads
        assert evaluate(t.write_bytes, ENV) >= writes
        results = {v for n in k.nodes for v in n.results}
        assert set(k.writes) <= results
        assert not set(k.reads) & results


def crossing(kernel: Kernel, module: Module, table: KernelTable) -> tuple[int, int]:
    """Bytes that surely cross a kernel's border, counted by following every view by hand."""
    shown: dict[Value, Value] = {}
    # where products take dequantisations in, whatever reads one may read its integers
    takes_in = table.runtime.absorbs(Kind.MATMUL, Kind.QUANTIZE, "dequantize_linear")
    for n in walk(module.graph):
        is_taken_in = takes_in and n.op.mnemonic == "dequantize_linear"
        if (table.runtime.is_view(n) or is_taken_in) and n.inputs[0] is not None:
            for v in n.results:
                shown[v] = shown.get(n.inputs[0], n.inputs[0])
    real = [n for n in kernel.nodes if not table.runtime.is_view(n)]
    own = {v for n in real for v in n.results}
    reads: dict[Value, int] = {}
    for n in real:
        if n.op.mnemonic not in ("slice", "shape"):
            for v in n.inputs:
                root = v and shown.get(v, v)
                if v is not None and root is not None and root not in own and size(v) > 64:
                    reads[root] = max(reads.get(root, 0), min(size(v), size(root)))
    inside = set(kernel.nodes)
    outside: set[Value] = {shown.get(v, v) for v in module.graph.outputs}
    for n in walk(module.graph):
        if not table.runtime.is_view(n) and n not in inside and n.op.kind is not Kind.SHAPE:
            outside |= {shown.get(v, v) for v in n.inputs if v is not None}
    return sum(reads.values()), sum(size(v) for v in own & outside)


def size(v: Value) -> int:
    nbytes = v.type.nbytes if isinstance(v.type, TensorType) else None
    return int(evaluate(nbytes or 0, ENV))


@settings(max_examples=80, deadline=None)
@given(modules(symbolic=True), st.sampled_from(runtimes()))
def test_grouping_is_the_same_twice(module: Module, runtime: str) -> None:
    first, second = (analyzed(module, runtime)[1] for _ in range(2))
    assert [k.nodes for k in first.kernels] == [k.nodes for k in second.kernels]
    assert [k.reads for k in first.kernels] == [k.reads for k in second.kernels]
    assert [k.writes for k in first.kernels] == [k.writes for k in second.kernels]


def test_an_unknown_runtime_names_those_there_are() -> None:
    from perfc.errors import PassError
    from perfc.passes.runtimes import runtime

    with pytest.raises(PassError, match="choose one of cudagraph, eager, eager-literal"):
        runtime("nothing")


EVERYTHING = Runtime(
    name="everything",
    title="a runtime without limits, to strain the search for circles",
    launch=LaunchMode.GRAPH,
    epilogue={k: frozenset(Kind) - {Kind.SHAPE} for k in Kind},
    patterns=("attention", "activation"),
    views=frozenset({"transpose", "slice"}),
    keeps_shared=True,
)


@settings(max_examples=300, deadline=None)
@given(modules(max_steps=30))
def test_kernels_make_no_circle_however_much_is_merged(module: Module) -> None:
    cost = Analyses().get(Cost(), module)
    for table in (EVERYTHING, replace(EVERYTHING, keeps_shared=False)):
        grouping = Grouping(table, cost)
        grouping.graph(module.graph)
        home = {n: i for i, k in enumerate(grouping.kernels) for n in k.nodes}
        makers = {v: n for n in home for v in n.results}
        for node, i in home.items():
            for v in node.inputs:
                maker = makers.get(v) if v is not None else None
                assert maker is None or home[maker] <= i
