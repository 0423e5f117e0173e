"""Small questions that passes ask of types, loops and graphs, with answers by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from perfc.ir.cost import Traffic, Work
from perfc.ir.graph import Basis, Graph, Node, SymbolDecl, Value
from perfc.ir.op import Kind
from perfc.ir.ops.control.control import Loop, Scan
from perfc.ir.ops.elementwise.activation import Relu
from perfc.ir.ops.elementwise.logic import Not
from perfc.ir.ops.movement.view import Identity
from perfc.ir.symbolic.dim import Dim, symbol
from perfc.ir.symbolic.fresh import data_extent
from perfc.ir.syntax.parse import parse
from perfc.ir.tensors.known import Known
from perfc.ir.tensors.types import DType, OptionalType, SequenceType, TensorType, Type, UnknownType
from perfc.passes.inference import regions, remedies, shapes, sizes
from perfc.passes.inference.shapes import Shapes
from perfc.passes.inference.sizes import Sizes
from perfc.passes.manager import Analyses
from perfc.passes.memory.liveness import all_weights, last_uses
from perfc.passes.roofline import cost
from perfc.passes.roofline.cost import Tier

N, M = symbol("N"), symbol("M")


def t(*shape: Dim, dtype: DType = DType.F32) -> TensorType:
    return TensorType(dtype, shape)


UNRANKED = TensorType(DType.F32, None)


@pytest.mark.parametrize(
    ("formula", "number", "loose", "exact"),
    [
        (t(2, 3), t(2, 3), True, True),
        (t(2, 3), t(2, 4), False, False),
        (t(2), t(2, 1), False, False),
        (t(2, 3), t(2, N), True, False),
        (t(2, M), t(2, N), True, True),
        (t(2, N), t(2, 3), False, False),
        (UNRANKED, UNRANKED, True, True),
        (UNRANKED, t(2), False, False),
        (t(2), UNRANKED, True, True),
        (SequenceType(t(2), 3), SequenceType(t(2), 3), True, True),
        (SequenceType(t(2), 3), SequenceType(t(2), None), True, True),
        (SequenceType(t(2), 3), SequenceType(t(2), 4), False, False),
        (SequenceType(t(2), None), SequenceType(t(2), 4), False, False),
        (SequenceType(t(2), 3), SequenceType(t(3), 3), False, False),
        (SequenceType(t(2), 2, (t(1), t(2))), SequenceType(t(2), 2, (t(1), t(2))), True, True),
        (SequenceType(t(2), 2, (t(1), t(2))), SequenceType(t(2), 2, (t(1), t(9))), False, False),
        (OptionalType(t(2)), OptionalType(t(2)), True, True),
        (OptionalType(t(2)), OptionalType(t(5)), False, False),
        (t(2), UnknownType(), True, True),
        (t(2), OptionalType(t(2)), False, False),
    ],
)
def test_a_formula_agrees_where_it_says_no_less_than_numbers(
    formula: Type, number: Type, loose: bool, exact: bool
) -> None:
    assert sizes.agrees(formula, number, is_exact=False) is loose
    assert sizes.agrees(formula, number, is_exact=True) is exact


def test_as_many_elements_must_be_known() -> None:
    def of(*items: int | None) -> Value:
        return Value("v", t(len(items), dtype=DType.I64), Known((len(items),), items))

    assert sizes.known_items(None) == sizes.known_items(Value("v", t(2))) == 0
    assert sizes.known_items(of(1, None, 3)) == 2
    assert sizes.as_well_known(of(1, 2), of(1, 2))
    assert sizes.as_well_known(of(1, 2), of(1, None))
    assert not sizes.as_well_known(of(1, None), of(1, 2))
    assert not sizes.as_well_known(None, of(1))


def test_types_of_a_loop_have_settled_where_they_differ_in_free_extents_alone() -> None:
    free, other = data_extent(), data_extent()
    same = regions._same_but_data
    assert same(t(2, free), t(2, other))
    assert same(t(2, 3), t(2, 3))
    assert not same(t(2, free), t(3, other))
    assert not same(t(2, free), t(2, 3))
    assert not same(t(free), t(free, 1))
    assert not same(t(free), t(other, dtype=DType.F16))
    assert not same(t(free), t(free + 1))
    assert not same(t(free), t(N))
    assert same(UNRANKED, UNRANKED)
    assert not same(UNRANKED, t(2))
    assert same(SequenceType(t(free), 2), SequenceType(t(other), 2))
    assert not same(SequenceType(t(free), 2), SequenceType(t(other), 3))
    assert not same(SequenceType(t(2), 2), SequenceType(t(3), 2))
    assert regions._settled([t(2), t(free)], [t(2), t(other)])
    assert not regions._settled([t(2), t(free)], [t(3), t(other)])


def test_extents_that_keep_changing_become_free() -> None:
    found = regions._without_extents(t(2, 3), t(2, 4))
    assert isinstance(found, TensorType)
    assert found.shape is not None
    assert found.shape[0] == 2
    assert regions._is_open(found.shape[1])
    assert regions._without_extents(t(2, 3), t(2, 3)) == t(2, 3)
    assert regions._without_extents(t(2, 3), t(2)) == UNRANKED
    assert regions._without_extents(UNRANKED, t(2)) == t(2)
    grown = regions._without_extents(SequenceType(t(2), 1), SequenceType(t(2), 2))
    assert grown == SequenceType(t(2), None)
    kept = regions._without_extents(SequenceType(t(2), 2), SequenceType(t(2), 2))
    assert kept == SequenceType(t(2), 2)


def test_results_of_iterations_are_stacked_along_an_axis() -> None:
    assert regions._stacked(t(3, 4), 5, 0) == t(5, 3, 4)
    assert regions._stacked(t(3, 4), 5, 1) == t(3, 5, 4)
    assert regions._stacked(t(3, 4), 5, -1) == t(3, 4, 5)
    assert regions._stacked(UNRANKED, 5, 0) == UNRANKED
    assert regions._stacked(SequenceType(t(2), 1), 5, 0) == TensorType(DType.UNKNOWN, None)
    assert regions._element(t(3, 4, 5), 1, 0) == (t(3, 5), 4)
    assert regions._element(t(3, 4, 5), -1, 0) == (t(3, 4), 5)
    assert regions._element(t(3, 4, 5), 0, 1) == (t(5), 4)
    assert regions._element(UNRANKED, 0, 0) == (UNRANKED, None)
    assert regions._unbatched(t(3, 4)) == t(4)
    assert regions._unbatched(UNRANKED) == UNRANKED


def test_how_often_a_body_runs_is_sure_or_a_least_number() -> None:
    body: Any = (Graph("b", (), (), ()),)
    open_, positive = data_extent(), N
    assert cost._surely(body, None, 1) == cost.RegionRuns(body, 1, is_certain=False)
    assert cost._surely(body, 4) == cost.RegionRuns(body, 4)
    assert cost._surely(body, 0) == cost.RegionRuns(body, 0)
    assert cost._surely(body, positive) == cost.RegionRuns(body, positive)
    assert cost._surely(body, open_, 1) == cost.RegionRuns(body, 1, is_certain=False)
    assert cost._surely(body, open_) == cost.RegionRuns(body, 0, is_certain=False)
    bounded = data_extent(9)
    assert cost._surely(body, bounded) == cost.RegionRuns(body, bounded)


class Broken(Relu):
    """An operator whose formulas divide by nothing."""

    def work(self, ins: Any, outs: Any) -> Work:
        raise ZeroDivisionError

    def problem(self, ins: Any, outs: Any) -> Any:
        raise LookupError


def test_an_operator_that_cannot_count_is_unknown_and_no_error() -> None:
    x = Value("x", t(4))
    node = Node(Broken(), (x,), (Value("y", t(4)),))
    assert cost.work_and_traffic(node.op, node, (t(4),)) == (
        cost.NO_WORK,
        Traffic(is_bound=True),
        Tier.UNKNOWN,
    )
    assert cost.problem_of(node.op, node, (t(4),)) is None
    plain = Node(Relu(), (x,), (Value("y", t(4)),))
    work, traffic, tier = cost.work_and_traffic(plain.op, plain, (t(4),))
    assert (work.alu, traffic.read_bytes, traffic.write_bytes, tier) == (4, 16, 16, Tier.EXACT)
    open_ = Node(Relu(), (Value("x", UNRANKED),), (Value("y", UNRANKED),))
    assert cost.work_and_traffic(open_.op, open_, (UNRANKED,))[2] is Tier.UNKNOWN


NESTED = """perfir 1
module @m
graph @main(%c: b1[], %x: f32[4]) {
  %w = weight {bytes=16} : f32[4]
  %y = if(%c) : ? {
    graph @then() {
      %v = weight {bytes=16} : f32[4]
      %d = less(%v, %x) : ?
      %e = reduce_max(%d) {keepdims=0} : b1[]
      %z = if(%e) : ? {
        graph @inner() {
          %u = weight {bytes=16} : f32[4]
          %p = add(%u, %x) : ?
          return %p
        }
        graph @other() {
          %q = add(%w, %x) : ?
          return %q
        }
      }
      return %z
    }
    graph @else() {
      %r = add(%w, %x) : ?
      return %r
    }
  }
  %s = relu(%y) : ?
  return %s
}
"""


def test_weights_of_all_depths_are_found_once_and_used_last_where_regions_read_them() -> None:
    graph = parse(NESTED).module.graph
    assert sorted(v.name for v in all_weights(graph)) == ["u", "v", "w"]
    last = {v.name: step for v, step in last_uses(graph).items()}
    assert last == {"c": 2, "x": 2, "w": 0, "y": 1, "s": 2}


def test_symbols_that_stand_for_the_same_are_tried_together() -> None:
    def of(name: str, basis: Basis) -> SymbolDecl:
        return SymbolDecl(name, 1, basis=basis)

    a, b, c = (of(name, Basis.FITTING) for name in "abc")
    d = of("d", Basis.BATCH)
    found = list(remedies.groups_of((a, b, c, d), {"a": 4, "b": 5, "c": 4, "d": 4}))
    assert found == [(a,), (b,), (c,), (d,), (a, c)]


UNROLLED = """perfir 1
module @m
graph @main(%x: f32[2, 3]) {{
  %n = weight {{constant=true}} : i64[] = {trips}
  %go = weight {{constant=true}} : b1[] = true
  %y, %all = loop(%n, %go, %x) : ?, ? {{
    graph @body(%i: i64[], %c: b1[], %h: f32[2, 3]) {{
      %again = identity(%c) : ?
      %wider = concat(%h, %h) {{axis=0}} : ?
      %one = relu(%x) : ?
      return %again, %wider, %one
    }}
  }}
  return %y, %all
}}
"""


@pytest.mark.parametrize("trips", [0, 1, 3])
def test_a_loop_whose_number_of_rounds_is_known_is_followed(trips: int) -> None:
    module = Analyses().apply(Shapes(), parse(UNROLLED.format(trips=trips)).module)
    y, every = (v.type for v in module.graph.outputs)
    assert y == t(2 * 2**trips, 3)
    assert every == t(trips, 2, 3)


CUT = """perfir 1
module @m
dim n in 1.. = 9
dim m in 1.. = 4

graph @main(%x: f32[n, 4], %y: f32[m, 4]) {
  %five = weight {constant=true} : i64[1] = [5]
  %zero = weight {constant=true} : i64[1] = [0]
  %one = weight {constant=true} : i64[1] = [1]
  %far = weight {constant=true} : i64[1] = [9223372036854775807]
  %sh = shape(%x) : ?
  %n0 = slice(%sh, %zero, %one) : ?
  %st = sub(%n0, %five) : ?
  %r = slice(%x, %st, %far, %zero) : ?
  %s = relu(%y) : ?
  return %r, %s
}
"""


@pytest.mark.parametrize("given", [(), ("n",), ("n", "m")])
@pytest.mark.parametrize("formulas", [(), ("m",)])
def test_numbers_stand_for_as_few_symbols_as_that_takes(
    given: tuple[str, ...], formulas: tuple[str, ...]
) -> None:
    """Where a slice begins, ``n − 5``, has no sign that a formula could tell; 9 − 5 has."""
    module = Analyses().apply(Sizes(given, formulas), parse(CUT).module)
    assert [v.type for v in module.graph.inputs] == [t(9, 4), t(symbol("m"), 4)]
    assert [v.type for v in module.graph.outputs] == [t(5, 4), t(symbol("m"), 4)]
    assert [(s.name, s.default, s.is_bound) for s in module.symbols] == [
        ("n", 9, True),
        ("m", 4, False),
    ]


def test_a_formula_that_is_asked_for_stays() -> None:
    module = Analyses().apply(Sizes((), ("n",)), parse(CUT).module)
    assert module.graph.inputs[0].type == t(symbol("n"), 4)
    assert not next(s.is_bound for s in module.symbols if s.name == "n")


def test_a_symbol_follows_others_where_a_sum_says_so() -> None:
    n, m, k = symbol("n"), symbol("m"), symbol("k")
    s = SymbolDecl("n", 1)
    assert remedies.tie_of(s, n, m + k) == m + k
    assert remedies.tie_of(s, n + 3, m) == m - 3
    assert remedies.tie_of(s, n + k, m) == m - k
    assert remedies.tie_of(s, 2 * n, m) is None, "half of it need not be whole"
    assert remedies.tie_of(s, n * m, m) is None
    assert remedies.tie_of(s, n + n * m, m) is None
    assert remedies.tie_of(s, n, 7) is None, "a number is no sum of others"
    assert remedies.tie_of(s, n, n + m) is None
    assert remedies.tie_of(s, 4, m) is None
    assert remedies.tie_of(s, m, k) is None


def test_a_size_that_makes_two_extents_equal_is_found() -> None:
    n, m = symbol("n"), symbol("m")
    s, env = SymbolDecl("n", 1), {"n": 1, "m": 12}
    found = list(remedies.equalities([s], [2 * n, m], env, lambda d: True))
    assert [(x.default, x.tie, x.basis) for x in found] == [(6, None, Basis.FITTING)]
    tied = list(remedies.equalities([s], [n + 4, m], env, lambda d: True))
    assert [(x.default, x.tie) for x in tied] == [(8, m - 4)]
    for dims in ([5 * n, m], [n, n + m], [n + 11, m], [n + 20, m]):
        assert list(remedies.equalities([s], dims, env, lambda d: True)) == [], dims
    assert list(remedies.equalities([s], [n, m], env, lambda d: d == m)) == []
    limited = SymbolDecl("n", 1, hi=5)
    assert list(remedies.equalities([limited], [2 * n, m], env, lambda d: True)) == []
    assert len(list(remedies.equalities([limited], [3 * n, m], env, lambda d: True))) == 1


def test_the_least_that_is_known_of_a_convolution_is_the_most_that_filtering_gains() -> None:
    from perfc.ir.problem.window import MOST_GAIN
    from perfc.passes.fusion.kernel import MOST_AXES, Kernel

    def gain(kind: Kind, type_: Type) -> float:
        anchor: Any = SimpleNamespace(op=SimpleNamespace(kind=kind), results=(Value("y", type_),))
        stated: Any = SimpleNamespace(problem=None, kind=kind, anchor=anchor)
        getter = Kernel.winograd_gain.fget  # type: ignore[attr-defined]
        return float(getter(stated))

    assert gain(Kind.CONV, t(1, 8, 5, 5)) == MOST_GAIN**2
    assert gain(Kind.CONV, t(1, 8, 5)) == MOST_GAIN
    assert gain(Kind.CONV, t(8)) == 1.0
    assert gain(Kind.CONV, UNRANKED) == MOST_GAIN**MOST_AXES
    assert gain(Kind.MATMUL, t(1, 8, 5, 5)) == 1.0


def scanned(*shapes: tuple[Dim, ...], **attributes: Any) -> Dim | None:
    ins = tuple(Value("s", t(*shape)) for shape in shapes)
    scan = Scan(num_scan_inputs=attributes.pop("n", 1), **attributes)
    return cost._scan_count(scan, Node(scan, ins, (Value("y", t(2)),)))


def test_a_scan_runs_as_often_as_its_axis_is_long() -> None:
    assert scanned((9,), (5, 3)) == 5
    assert scanned((5, 3), scan_input_axes=(1,)) == 3
    assert scanned((5, 3), scan_input_axes=(-1,)) == 3
    assert scanned((5, 3), scan_input_axes=(-2,)) == 5
    assert scanned((5, 3), scan_input_axes=(2,)) is None
    assert scanned((5, 3), scan_input_axes=(-3,)) is None
    assert scanned((), (7, 2), n=2) == 7, "the first that has an axis"
    assert scanned((4,), (N, 2), n=2) == 4
    assert scanned((2, 6, 3), has_batch=True) == 12
    assert scanned((2,), has_batch=True) is None
    assert scanned(()) is None


def test_what_a_file_declares_takes_the_place_of_what_depends_on_data() -> None:
    inference = shapes.Inference({"N"}, {})
    bounded = data_extent(9, 2)
    assert [inference._extent(bounded, d) for d in (2, 5, 9)] == [2, 5, 9]
    assert [inference._extent(bounded, d) for d in (1, 10)] == [bounded, bounded]
    assert inference._extent(7, 3) == 7, "what is known stays"
    assert inference._extent(N, 3) == N
    assert inference._extent(bounded, N) == N
    other = data_extent()
    assert inference._extent(bounded, other) == bounded
    assert inference._extent(other, 123) == 123


def test_contents_fit_their_types_or_are_dropped() -> None:
    two = Known((2,), (1, 2))
    assert shapes.fits(t(2), two)
    assert not shapes.fits(t(3), two)
    assert not shapes.fits(t(2), None)
    assert shapes.fits(SequenceType(t(1), 2), two)
    assert not shapes.fits(SequenceType(t(1), 3), two)
    assert shapes.fits(OptionalType(t(2)), two) is False
    assert shapes.checked((t(2), t(3)), (two, two)) == (two, None)
    assert shapes.checked((t(2),), ()) == ()
    assert shapes.sharper(UnknownType(), t(2)) == t(2)
    assert shapes.sharper(UNRANKED, t(2)) == t(2)
    assert shapes.sharper(t(2, dtype=DType.UNKNOWN), t(3)) == t(2)
    assert shapes.sharper(t(2), t(3)) == t(2)


def looping(condition: Value | None, again: Value, body_in: Value, *nodes: Node) -> Node:
    body = Graph("b", (v_("i"), body_in), (again,), tuple(nodes))
    return Node(Loop(), (v_("n"), condition), (), (body,))


def v_(name: str, item: Any = None) -> Value:
    known = None if item is None else Known((), (item,))
    return Value(name, t(dtype=DType.BOOL), known)


def test_a_loop_goes_on_where_its_condition_is_always_true() -> None:
    handed = v_("c")
    assert cost._goes_on(looping(None, handed, handed))
    assert cost._goes_on(looping(v_("k", True), handed, handed))
    assert not cost._goes_on(looping(v_("k", False), handed, handed))
    assert not cost._goes_on(looping(v_("k"), handed, handed)), "nobody knows the condition"
    assert cost._goes_on(looping(None, v_("again", True), handed))
    assert not cost._goes_on(looping(None, v_("again", False), handed))
    assert not cost._goes_on(looping(None, v_("again"), handed))
    copied = v_("d")
    assert cost._goes_on(looping(None, copied, handed, Node(Identity(), (handed,), (copied,))))
    assert not cost._goes_on(looping(None, copied, handed, Node(Not(), (handed,), (copied,))))
    bare = Node(Loop(), (v_("n"), None), (), (Graph("b", (), (), ()),))
    assert not cost._goes_on(bare)
