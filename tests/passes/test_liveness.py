"""Live bytes equal a simulation of the memory; storage is shared only where nothing is lost."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perfc.ir.graph import Graph, Loc, Module, Node, Value, captured
from perfc.ir.op import Kind
from perfc.ir.symbolic.dim import symbol
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, TensorType
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.manager import Analyses
from perfc.passes.memory.liveness import Liveness, LivenessTable, last_uses
from perfc.passes.memory.storage import liveness_of, outside
from tests.passes.random_graphs import Builder, modules, op

ENV = {"N": 3}
BYTES = 4 * 4 * 4 * 2


def live(module: Module, *, in_place: bool = True) -> LivenessTable:
    return Analyses().get(Liveness(in_place), module)


def size(v: Value) -> int:
    assert isinstance(v.type, TensorType)
    return int(evaluate(v.type.nbytes or 0, ENV))


def simulated(module: Module, table: LivenessTable) -> list[int]:
    """Bytes at every step, found by asking at each which storages are still needed."""
    graph = module.graph
    steps = graph.nodes
    line = []
    for at in range(len(steps)):
        needed = {table.owner[v] for v in graph.inputs}
        made = [*graph.inputs, *(v for n in steps[: at + 1] for v in n.results)]
        later = {v for n in steps[at:] for v in (*n.inputs, *captured(n)) if v is not None}
        later |= set(graph.outputs) | set(steps[at].results)
        needed |= {table.owner[v] for v in made if v in later and v in table.owner}
        line.append(sum(map(size, needed)))
    return line


@settings(max_examples=200, deadline=None)
@given(modules(regions=False), st.booleans())
def test_live_bytes_are_those_of_a_simulation(module: Module, in_place: bool) -> None:
    table = live(module, in_place=in_place)
    assert table.timeline(ENV) == simulated(module, table)


@settings(max_examples=300, deadline=None)
@given(modules())
def test_no_storage_is_overwritten_before_its_last_reader(module: Module) -> None:
    """Run the graph on storages that remember whose content they hold."""
    table = live(module)
    content: dict[Value, Value] = {table.owner[v]: v for v in module.graph.inputs}
    shows: dict[Value, Value] = {}

    def behind(v: Value) -> Value:
        return shows.get(v, v)

    for node in module.graph.nodes:
        for v in {*node.inputs, *captured(node)}:
            if v is not None and v in table.owner:
                assert content[table.owner[v]] is behind(v), f"{v.name} was overwritten"
        for i, v in enumerate(node.results):
            if node.op.kind is Kind.VIEW and i == 0 and node.inputs[0] is not None:
                shows[v] = behind(node.inputs[0])
            elif v in table.owner:
                content[table.owner[v]] = v
    for v in (*module.graph.outputs, *module.graph.inputs):
        if v in table.owner:
            assert content[table.owner[v]] is behind(v)


@settings(max_examples=100, deadline=None)
@given(modules())
def test_the_peak_is_at_most_all_values_and_at_least_each_node(module: Module) -> None:
    table = live(module, in_place=False)
    every = [v for n in walk_values(module.graph) for v in n]
    peak, node = table.peak(ENV)
    assert peak <= sum(map(size, every)) + sum(map(size, module.graph.inputs))
    assert node in module.graph.nodes
    for n, nbytes in zip(table.steps, table.timeline(ENV), strict=True):
        storages = {table.owner[v] for v in (*n.inputs, *n.results) if v in table.owner}
        assert nbytes >= sum(map(size, storages))


def walk_values(graph: Graph) -> list[tuple[Value, ...]]:
    found = []
    for n in graph.nodes:
        found.append(n.results)
        for r in n.regions:
            found += walk_values(r)
    return found


@settings(max_examples=100, deadline=None)
@given(modules())
def test_writing_in_place_never_needs_more(module: Module) -> None:
    shared, apart = live(module), live(module, in_place=False)
    assert shared.peak(ENV)[0] <= apart.peak(ENV)[0]


@settings(max_examples=60, deadline=None)
@given(modules(), st.integers(1, 9))
def test_symbolic_bytes_are_concrete_ones_at_any_value(module: Module, n: int) -> None:
    from perfc.ir.symbolic.dim import substitute

    table = live(module)
    assert [int(substitute(d, {"N": n})) for d in table.live] == table.timeline({"N": n})  # type: ignore[arg-type]


def chain(*steps: str) -> Builder:
    b = Builder(2, [Value("x", Builder(2).square)])
    for s in steps:
        b.values.append(b.add(op(s), b.values[-1]))
    return b


def module_of(b: Builder, *outputs: Value) -> Module:
    return Module(Graph("g", (b.values[0],), outputs, tuple(b.nodes), tuple(b.weights)))


def test_relu_in_place_does_not_raise_the_peak() -> None:
    b = chain("relu", "sigmoid", "relu")
    m = module_of(b, b.values[-1])
    assert live(m).timeline({}) == [2 * BYTES] * 3
    assert live(m, in_place=False).timeline({}) == [2 * BYTES, 3 * BYTES, 3 * BYTES]


def test_inputs_belong_to_the_caller_and_are_never_overwritten() -> None:
    b = chain("relu")
    unused = Value("unused", b.square)
    graph = Graph("g", (b.values[0], unused), (b.values[-1],), tuple(b.nodes))
    assert live(Module(graph)).timeline({}) == [3 * BYTES]


def test_a_view_takes_no_storage_and_keeps_that_of_its_operand() -> None:
    b = chain("relu", "identity", "softmax")
    m = module_of(b, b.values[2], b.values[3])
    table = live(m)
    assert table.owner[b.values[2]] is b.values[1]
    assert table.timeline({}) == [2 * BYTES, 2 * BYTES, 3 * BYTES]


def test_a_view_of_a_stored_tensor_takes_nothing() -> None:
    b = chain()
    stored = b.weight((2, 4, 4))
    view = b.add(op("identity"), stored)
    b.values.append(b.add(op("add"), b.values[0], view))
    assert live(module_of(b, b.values[-1])).timeline({}) == [BYTES, 2 * BYTES]


def several(mnemonic: str, *types: TensorType, **attributes: object) -> tuple[Node, Graph]:
    """A node of several results behind one of one, and their graph."""
    b = chain("relu")
    b.add(op(mnemonic, **attributes), b.values[-1], types=types)
    node = b.nodes[-1]
    return node, Graph("g", (b.values[0],), node.results, tuple(b.nodes))


def test_of_a_view_the_first_result_alone_shows_the_operand() -> None:
    square = Builder(2).square
    node, graph = several("dropout", square, TensorType(DType.BOOL, (2, 4, 4)))
    assert node.op.kind is Kind.VIEW
    shown, mask = node.results
    owner = Liveness().owners(graph, last_uses(graph))
    assert (owner[shown], owner[mask]) == (node.inputs[0], mask)
    assert live(Module(graph)).timeline({}) == [2 * BYTES, 2 * BYTES + 32]


@pytest.mark.parametrize("is_view", [False, True])
def test_every_part_of_a_split_shows_it_where_a_runtime_says_so(is_view: bool) -> None:
    half = TensorType(DType.F32, (1, 4, 4))
    node, graph = several("split", half, half, num_outputs=2)
    last = last_uses(graph)
    owner = Liveness().owners(graph, last, lambda n: is_view and n is node)
    for part in node.results:
        assert owner[part] is (node.inputs[0] if is_view else part)
    stored = Node(node.op, (Builder(2).weight((2, 4, 4)),), node.results)
    bare = Graph("g", (), node.results, (stored,))
    owner = Liveness().owners(bare, last_uses(bare), lambda n: is_view)
    assert list(owner) == ([] if is_view else [*node.results]), "a stored tensor takes nothing"


@pytest.mark.parametrize("position", range(3))
def test_only_the_first_result_is_written_over_the_operand(position: int) -> None:
    """A loop of statistics: its first result takes the place of what nobody reads any more."""
    b = chain("relu")
    square = b.square
    b.add(op("layer_norm"), b.values[-1], b.weight((4,)), b.weight((4,)), types=(square,) * 3)
    node = b.nodes[-1]
    graph = Graph("g", (b.values[0],), (node.results[position],), tuple(b.nodes))
    owner = Liveness().owners(graph, last_uses(graph))
    assert [owner[v] is node.inputs[0] for v in node.results] == [True, False, False]
    owner = Liveness(in_place=False).owners(graph, last_uses(graph))
    assert [owner[v] for v in node.results] == [*node.results]


def test_a_residual_keeps_its_operand_alive() -> None:
    b = chain("relu", "relu", "relu")
    b.values.append(b.add(op("add"), b.values[1], b.values[3]))
    assert live(module_of(b, b.values[-1])).timeline({}) == [
        2 * BYTES,
        3 * BYTES,
        3 * BYTES,
        3 * BYTES,
    ]


def region(values: int, source: Value) -> Graph:
    """A chain of products that needs two squares at a time, three with its operand."""
    inner = Builder(2, [source], prefix="r")
    for _ in range(values):
        inner.values.append(inner.add(op("matmul"), inner.values[-1], source))
    return Graph("r", (), (inner.values[-1],), tuple(inner.nodes))


def test_a_branch_adds_what_it_needs_while_it_runs() -> None:
    b = chain("relu")
    condition = Value("c", TensorType(DType.BOOL, ()))
    out = Value("out", b.square)
    regions = (region(1, b.values[1]), region(3, b.values[1]))
    b.nodes.append(Node(op("if"), (condition,), (out,), regions, Loc("if", "If")))
    graph = Graph("g", (b.values[0], condition), (out,), tuple(b.nodes))
    assert live(Module(graph)).timeline({}) == [2 * BYTES + 1, 4 * BYTES + 1]


def loop(trips: Value, stacked: Value, b: Builder) -> Node:
    """``for i in range(trips): stacked[i] = softmax(x @ x)``."""
    inner = Builder(2, [b.values[0]], prefix="l")
    product = inner.add(op("matmul"), b.values[0], b.values[0])
    row = inner.add(op("softmax"), product)
    i = Value("i", TensorType(DType.I64, ()))
    condition = Value("again", TensorType(DType.BOOL, ()))
    body = Graph("l", (i, condition), (condition, row), tuple(inner.nodes))
    return Node(op("loop"), (trips, None), (stacked,), (body,), Loc("loop", "Loop"))


def test_a_loop_adds_its_body_to_what_it_stacks() -> None:
    b = chain()
    trips = b.weight((), Known.scalar(5))
    stacked = Value("stacked", TensorType(DType.F32, (5, 2, 4, 4)))
    b.nodes.append(loop(trips, stacked, b))
    table = live(module_of(b, stacked))
    body = BYTES + 8 + 1
    assert table.timeline({}) == [BYTES + 5 * BYTES + body]


def test_a_symbolic_body_keeps_its_formula() -> None:
    n = symbol("N")
    b = Builder(n, [Value("x", Builder(n).square)])
    trips = b.weight((), Known.scalar(5))
    stacked = Value("stacked", TensorType(DType.F32, (5, n, 4, 4)))
    inner = Builder(n, [b.values[0]], prefix="l")
    row = inner.add(op("matmul"), b.values[0], b.values[0])
    i = Value("i", TensorType(DType.I64, ()))
    again = Value("again", TensorType(DType.BOOL, ()))
    body = Graph("l", (i, again), (again, row), tuple(inner.nodes))
    b.nodes.append(Node(op("loop"), (trips, None), (stacked,), (body,), Loc("loop", "Loop")))
    table = live(module_of(b, stacked))
    assert table.timeline({"N": 3}) == [(1 + 5 + 1) * 3 * 64 + 9]
    assert str(table.live[0]) == "448*N + 9"


def test_an_unknown_size_makes_the_table_a_bound() -> None:
    b = chain()
    b.nodes.append(
        Node(op("opaque", name="Foo"), (b.values[0],), (Value("y", TensorType(DType.F32, None)),))
    )
    assert live(module_of(b, b.nodes[-1].results[0])).is_bound


@settings(max_examples=100, deadline=None)
@given(modules(regions=False), st.sampled_from(["eager", "ort", "tensorrt", "inductor"]))
def test_a_kernel_holds_what_it_reads_and_writes_and_nothing_inside(
    module: Module, name: str
) -> None:
    kernels = Analyses().get(Fuse(name), module).kernels
    whole, table = live(module), liveness_of(module.graph, kernels)
    assert {*table.steps} == {*whole.steps}
    line = dict(zip(table.steps, table.timeline(ENV), strict=True))
    for k in kernels:
        held = {table.owner[v] for v in (*k.reads, *k.writes) if v in table.owner}
        last = next((n for n in reversed(k.nodes) if n.op.kind is not Kind.VIEW), k.anchor)
        assert line[last] >= sum(map(size, held))
    if table.steps == whole.steps and all(len(k.nodes) == 1 for k in kernels):
        assert table.timeline(ENV) == whole.timeline(ENV)
    # what no kernel reads is written all the same
    read = {v for n in module.graph.nodes for v in n.inputs}
    shown = {v for v in table.owner if v not in read}
    shown |= {*module.graph.inputs, *outside(module.graph, kernels)}
    assert {*table.owner.values()} == {table.owner[v] for v in shown if v in table.owner}


def test_a_value_inside_a_kernel_takes_nothing() -> None:
    """A sigmoid times its operand is one kernel, of two maps and not three."""
    b = chain("relu", "sigmoid")
    m = module_of(b, b.add(op("mul"), b.values[1], b.values[2]))
    kernels = Analyses().get(Fuse("eager"), m).kernels
    assert [len(k.nodes) for k in kernels] == [1, 2]
    assert live(m).timeline({}) == [2 * BYTES, 3 * BYTES, 3 * BYTES]
    assert liveness_of(m.graph, kernels).timeline({}) == [2 * BYTES, 2 * BYTES, 2 * BYTES]
