"""Totals count what surely runs: known branches and trips exactly, others as bounds."""

from __future__ import annotations

from hypothesis import given, settings

from perfc.ir.cost import total_work
from perfc.ir.graph import Graph, Loc, Module, Node, SymbolDecl, Value
from perfc.ir.symbolic.dim import Dim, substitute, symbol
from perfc.ir.symbolic.evaluate import evaluate
from perfc.ir.syntax.parse import parse
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, SequenceType, TensorType
from perfc.machine import load_machine
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.inference.shapes import Shapes
from perfc.passes.manager import Analyses, PassStep
from perfc.passes.roofline.cost import Cost, CostTable, Tier
from perfc.passes.roofline.roofline import bounds
from tests.passes.random_graphs import Builder, modules, op

PRODUCT = 2 * 4 * 4 * 4
"""Multiply–accumulates of one product of the builder's squares."""


def cost(module: Module) -> CostTable:
    return Analyses().get(Cost(), module)


def products(count: int, source: Value, prefix: str, batch: Dim = 2) -> Graph:
    inner = Builder(batch, [source], prefix=prefix)
    for _ in range(count):
        inner.values.append(inner.add(op("matmul"), inner.values[-1], source))
    return Graph(prefix, (), (inner.values[-1],), tuple(inner.nodes))


def branching(condition: Value, then: int, otherwise: int) -> Module:
    b = Builder(2, [Value("x", Builder(2).square)])
    sides = products(then, b.values[0], "t"), products(otherwise, b.values[0], "e")
    out = Value("y", b.square)
    node = Node(op("if"), (condition,), (out,), sides, Loc("if", "If"))
    inputs = (b.values[0],) if condition.known else (b.values[0], condition)
    return Module(Graph("g", inputs, (out,), (node,)))


def flag(known: bool | None) -> Value:
    content = None if known is None else Known.scalar(known)
    return Value("c", TensorType(DType.BOOL, ()), content)


def test_a_known_condition_counts_its_branch_exactly() -> None:
    for known, expected in ((True, 5), (False, 2)):
        table = cost(branching(flag(known), 5, 2))
        assert table.work.mac == expected * PRODUCT
        assert not table.is_bound


def test_an_unknown_condition_counts_the_dearer_branch() -> None:
    for then, otherwise in ((5, 2), (2, 5)):
        table = cost(branching(flag(None), then, otherwise))
        assert table.work.mac == 5 * PRODUCT
        assert not table.is_bound


def test_an_undecided_branch_has_no_floor_above_either_side() -> None:
    machine = load_machine("a100")
    for then, otherwise in ((5, 2), (2, 5), (3, 3)):
        module = branching(flag(None), then, otherwise)
        table = Analyses().get(Fuse("eager"), module)
        least = min(
            bounds(
                Analyses().get(Fuse("eager"), branching(flag(known), then, otherwise)), machine, {}
            ).floor_s
            for known in (True, False)
        )
        assert bounds(table, machine, {}).floor_s <= least * (1 + 1e-12)
        assert len(table.kernels) == max(then, otherwise)
        assert len(table.alternatives) == 1


def test_a_branch_that_computes_less_but_moves_more_sets_no_floor_by_itself() -> None:
    """The side with fewer operations is slower: the floor is that of the other."""
    b = Builder(1 << 20, [Value("x", Builder(1 << 20).square)])
    copies = Builder(1 << 20, [b.values[0]], prefix="t")
    for _ in range(6):
        copies.values.append(copies.add(op("tile"), copies.values[-1], copies.ints(1, 1, 1)))
    then = Graph("t", (), (copies.values[-1],), tuple(copies.nodes), tuple(copies.weights))
    single = products(1, b.values[0], "e", 1 << 20)
    out = Value("y", b.square)
    node = Node(op("if"), (flag(None),), (out,), (then, single), Loc("if", "If"))
    module = Module(Graph("g", (b.values[0], node.inputs[0]), (out,), (node,)))  # type: ignore[arg-type]
    table = Analyses().get(Fuse("eager"), module)
    found = bounds(table, load_machine("a100"), {})
    assert {k.kernel.anchor.op.mnemonic for k in found.kernels} == {"tile"}
    only = Module(Graph("g", (b.values[0],), single.outputs, single.nodes))
    alone = bounds(Analyses().get(Fuse("eager"), only), load_machine("a100"), {})
    assert found.floor_s <= alone.floor_s * (1 + 1e-12)
    assert found.sustained_s > alone.sustained_s


def looped(limit: Known | None, again: Value | None = None, start: Value | None = None) -> Module:
    b = Builder(2, [Value("x", Builder(2).square)])
    inner = Builder(2, [b.values[0]], prefix="l")
    row = inner.add(op("matmul"), b.values[0], b.values[0])
    i, condition = Value("i", TensorType(DType.I64, ())), Value("c", TensorType(DType.BOOL, ()))
    carried = Value("s", b.square)
    body = Graph("l", (i, condition, carried), (again or condition, row), tuple(inner.nodes))
    trips = Value("M", TensorType(DType.I64, ()), limit)
    out = Value("out", b.square)
    loop = Node(op("loop"), (trips, start, b.values[0]), (out,), (body,), Loc("loop", "Loop"))
    return Module(Graph("g", (b.values[0], trips), (out,), (loop,)))


def test_a_known_trip_count_multiplies_the_body() -> None:
    table = cost(looped(Known.scalar(7)))
    assert table.work.mac == 7 * PRODUCT
    assert not table.is_bound


def test_a_symbolic_trip_count_stays_a_formula() -> None:
    module = looped(Known.scalar(symbol("T")))
    table = cost(Module(module.graph, (SymbolDecl("T", 9),)))
    assert str(table.work.mac) == f"{PRODUCT}*T"
    assert not table.is_bound


def test_an_unknown_trip_count_is_a_bound() -> None:
    assert cost(looped(None)).is_bound


def test_a_loop_whose_body_may_stop_it_is_a_bound() -> None:
    again = Value("again", TensorType(DType.BOOL, ()))
    assert cost(looped(Known.scalar(7), again)).is_bound


def test_a_negative_trip_count_runs_nothing() -> None:
    assert cost(looped(Known.scalar(-3))).work.mac == 0


def scan(axis: int) -> Module:
    x = Value("x", TensorType(DType.F32, (3, 4, 5)))
    shape = tuple(d for i, d in enumerate((3, 4, 5)) if i != axis % 3)
    row = Value("row", TensorType(DType.F32, shape))
    body = Builder(2, [], prefix="s")
    out = body.add(op("relu"), row, types=(TensorType(DType.F32, shape),))
    graph = Graph("s", (row,), (out,), tuple(body.nodes))
    y = Value("y", TensorType(DType.F32, (x.type.shape[axis], *shape)))  # type: ignore[union-attr, index]
    made = op("scan", num_scan_inputs=1, scan_input_axes=(axis,))
    return Module(Graph("g", (x,), (y,), (Node(made, (x,), (y,), (graph,), Loc("s", "Scan")),)))


def test_a_scan_runs_once_for_every_position_of_its_axis() -> None:
    for axis in (0, 1, 2, -1):
        assert cost(scan(axis)).work.alu == 3 * 4 * 5


def test_a_map_over_a_sequence_of_unknown_length_is_a_bound() -> None:
    def mapped(length: int | None) -> CostTable:
        square = TensorType(DType.F32, (4, 4))
        xs = Value("xs", SequenceType(square, length))
        x = Value("x", square)
        body = Builder(2, [], prefix="s")
        out = body.add(op("relu"), x, types=(square,))
        graph = Graph("s", (x,), (out,), tuple(body.nodes))
        ys = Value("ys", SequenceType(square, length))
        node = Node(op("sequence_map"), (xs,), (ys,), (graph,), Loc("m", "SequenceMap"))
        return cost(Module(Graph("g", (xs,), (ys,), (node,))))

    assert mapped(6).work.alu == 6 * 16
    assert not mapped(6).is_bound
    assert mapped(None).is_bound


def test_an_opaque_operator_makes_the_total_a_bound() -> None:
    b = Builder(2, [Value("x", Builder(2).square)])
    y = b.add(op("opaque", name="com.x::Foo"), b.values[0])
    table = cost(Module(Graph("g", (b.values[0],), (y,), tuple(b.nodes))))
    assert table.is_bound
    assert table.count(Tier.BYTES) + table.count(Tier.UNKNOWN) == 1


def test_an_extent_that_data_decides_makes_the_total_a_bound() -> None:
    u = symbol("u1", 0, 8)
    b = Builder(u, [Value("x", Builder(u).square)])
    y = b.add(op("relu"), b.values[0])
    assert cost(Module(Graph("g", (b.values[0],), (y,), tuple(b.nodes)))).is_bound


@settings(max_examples=80, deadline=None)
@given(modules())
def test_symbolic_totals_are_concrete_ones(module: Module) -> None:
    table = cost(module)
    for unit in ("mac", "alu", "sfu", "integer"):
        formula = getattr(table.work, unit)
        assert substitute(formula, {"N": 3}) == evaluate(formula, {"N": 3})
    parts = total_work(c.work.times(c.repeat) for c in table.nodes.values())
    assert evaluate(parts.mac, {"N": 3}) == evaluate(table.work.mac, {"N": 3})


def test_extents_that_nobody_knows_are_numbered_apart_from_those_of_types() -> None:
    """Counting may infer anew, and what it finds unknown is not what a type calls ``u1``."""
    text = """perfir 1
module @m
dim n in 1.. = 2
dim s in 1.. = 20
graph @main(%q: f32[40, 64], %v: ?, %offsets: i32[n, s], %ends: i32[n]) {
  %y = packed_multi_head_attention(%q, %q, %v, _, %offsets, %ends) {num_heads=4} : ?
  return %y
}
"""
    found = set()
    for _ in range(2):
        am = Analyses()
        module = am.apply(Shapes(), parse(text).module)
        (cost,) = am.get(Cost(), module).nodes.values()
        found.add((str(module.graph.outputs[0].type), str(cost.work.mac)))
    assert len(found) == 1
    ((type_, mac),) = found
    assert type_ == "f32[40, u1]"
    assert "u2" in mac
    assert "u1" not in mac


def test_an_instrument_is_told_how_long_an_analysis_took() -> None:
    class Noting:
        def __init__(self) -> None:
            self.steps: list[PassStep] = []

        def after(self, step: PassStep) -> None:
            self.steps.append(step)

    noting = Noting()
    am = Analyses((noting,))
    x = Value("x", TensorType(DType.F32, (2,)))
    module = Module(Graph("g", (x,), (x,), ()))
    for _ in range(2):
        am.get(Cost(), module)
    assert [step.is_cached for step in noting.steps] == [False, True]
    assert all(0 <= step.time_s < 600 for step in noting.steps)
