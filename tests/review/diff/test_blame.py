"""Which changes are to blame, in numbers by hand; what a change is called and what it follows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from perfc.ir.graph import Node
from perfc.ir.syntax.parse import parse
from perfc.review.diff.blame import Culprit, by_edit, by_kernel, in_words, merged, ranked, whole_of
from perfc.review.diff.changes import MANY, Causes, Change, Edit, Status, changes
from perfc.review.diff.figures import Metric, percent, signed
from perfc.review.diff.gaps import LARGEST_GAP, aligned, gaps, increasing
from perfc.review.diff.kernels import NOTHING, KernelPair, TotalCost, known
from perfc.review.diff.labels import DiffSide, Labels
from perfc.review.diff.wiring import OUTSIDE, skeleton, wiring
from perfc.view.report.units import Unit

PAIR = KernelPair((), (), NOTHING, NOTHING)


def graph(*lines: str, inputs: str = "%x: f32[4, 8]") -> Any:
    """A graph of IR text; it returns its last value."""
    last = lines[-1].partition(" ")[0]
    body = "\n".join(f"  {line}" for line in lines)
    text = f"perfir 1\nmodule @m\n\ngraph @main({inputs}) {{\n{body}\n  return {last}\n}}\n"
    return parse(text, "m.pir").module.graph


def culprit(name: str = "a", op: str = "Conv", **load: float) -> Culprit:
    return Culprit(name, op, "added", TotalCost(**load))


def test_loads_are_added_and_subtracted_number_by_number() -> None:
    a = TotalCost(8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 9.0)
    b = TotalCost(1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0)
    total, rest = a + b, a - b
    fields = ("time_s", "floor_s", "flop", "mac", "nbytes", "energy_j", "parameters", "live_bytes")
    assert [getattr(total, f) for f in fields] == [9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0, 9.0]
    assert [getattr(rest, f) for f in fields] == [7.0, 5.0, 3.0, 1.0, -1.0, -3.0, -5.0, 1.0]
    assert (known(None, 1.0), known(1.0, None), known(3.0, 1.0, -1)) == (None, None, 2.0)
    assert (a - TotalCost(*[8.0, 7.0, 6.0, 5.0, 4.0], energy_j=None)) == NOTHING, (
        "counts alone compare"
    )


def test_a_kernel_that_differs_by_rounding_is_the_same() -> None:
    one: Any = object()
    same = KernelPair((one,), (one,), TotalCost(1.0, 1.0), TotalCost(1.0 + 1e-10, 1.0 - 1e-10))
    assert same.delta == NOTHING
    assert same.is_same
    more = KernelPair((one,), (one,), TotalCost(1.0, 1.0), TotalCost(1.0 + 1e-8, 1.0 - 1e-8))
    assert more.delta.time_s > 0 > more.delta.floor_s
    assert not more.is_same
    assert not KernelPair((), (one,), NOTHING, NOTHING).is_same
    assert not KernelPair((one,), (), NOTHING, NOTHING).is_same


def test_the_first_metric_that_changed_noticeably_is_blamed() -> None:
    whole = TotalCost(time_s=1.0, flop=100.0, nbytes=10.0)
    cases = [
        ({"time_s": 1e-3}, Metric.TIME),
        ({"time_s": 9e-4, "nbytes": 0.01}, Metric.TRAFFIC),
        ({"time_s": 9e-4, "nbytes": 0.009, "flop": 0.1}, Metric.FLOP),
        ({"time_s": 9e-4, "nbytes": 0.005, "flop": 0.08}, Metric.TIME),
        ({"time_s": 1e-4, "nbytes": 0.005, "flop": 0.08}, Metric.FLOP),
        ({}, Metric.TIME),
    ]
    for load, metric in cases:
        assert ranked([culprit(**load)], whole).metric is metric, load
    weights = Culprit("a", "Conv", "", NOTHING, parameters=-3.0)
    assert ranked([weights], whole).metric is Metric.PARAMETERS
    nothing = ranked([], whole)
    assert (nothing.metric, nothing.culprits, nothing.named) == (Metric.TIME, (), 0)


def test_as_many_are_named_as_explain_nine_tenths() -> None:
    parts = [0.5, -0.3, 0.1, 0.1]
    found = ranked([culprit(str(i), time_s=p) for i, p in enumerate(parts)], TotalCost(time_s=1.0))
    assert [c.share for c in found.culprits] == [0.5, 0.3, 0.1, 0.1]
    assert found.named == 3
    assert ranked([culprit(time_s=1.0)], TotalCost(time_s=1.0)).named == 1
    ties = [culprit("less", nbytes=1.0), culprit("more", nbytes=-2.0)]
    assert [c.name for c in ranked(ties, TotalCost(time_s=1.0)).culprits] == ["more", "less"]
    ties = [culprit("a", nbytes=1.0, flop=1.0), culprit("b", nbytes=1.0, flop=-2.0)]
    both = ranked(ties, TotalCost(nbytes=1.0))
    assert [c.name for c in both.culprits] == ["b", "a"]
    nothing = ranked([culprit()], TotalCost(time_s=1.0))
    assert (nothing.culprits[0].share, nothing.named) == (0.0, 1)


def test_culprits_alike_are_put_together() -> None:
    three = [culprit("a", time_s=1.0), culprit("b", time_s=1.001), culprit("c", time_s=2.0)]
    first, second = merged(three)
    assert (first.name, first.count, first.delta.time_s) == ("a", 2, 2.001)
    assert (second.name, second.count) == ("c", 1)
    assert len(merged([culprit(op="Conv"), culprit(op="Gemm")])) == 2
    assert len(merged([culprit(flop=1.0), culprit(flop=1.1)])) == 2


def test_the_larger_side_is_the_whole() -> None:
    pairs = [
        KernelPair((), (), TotalCost(1.0, flop=5.0), TotalCost(2.0)),
        KernelPair((), (), TotalCost(4.0, flop=6.0), TotalCost(2.0)),
    ]
    assert whole_of(pairs) == TotalCost(5.0, flop=11.0)
    assert whole_of([]) == NOTHING


def change(status: Status, node: Node, *details: str, is_carried: bool = False) -> Change:
    old, new = (None, node) if status is Status.ADDED else (node, None)
    if status is Status.CHANGED:
        old = new = node
    return Change(status, old, new, details, is_carried)


NODES = graph(
    "%a = relu(%x) : f32[4, 8]",
    "%b = sigmoid(%a) : f32[4, 8]",
    "%c = tanh(%b) : f32[4, 8]",
).nodes


def test_an_edit_is_said_by_its_head_and_what_is_beside_it() -> None:
    head = change(Status.CHANGED, NODES[0], "pads 1 -> 2")
    added = change(Status.ADDED, NODES[1])
    assert in_words(Edit(head, (head,))) == "pads 1 -> 2"
    assert in_words(Edit(head, (head, added))) == "pads 1 -> 2, with sigmoid added"
    bare = change(Status.CHANGED, NODES[0])
    assert in_words(Edit(bare, (bare,))) == "changed"
    removed = change(Status.REMOVED, NODES[0])
    assert in_words(Edit(removed, (removed, added))) == "removed"
    carried = change(Status.CHANGED, NODES[1], is_carried=True)
    many = [change(Status.ADDED, NODES[1]) for _ in range(MANY)]
    assert in_words(Edit(removed, (removed, *many, carried))) == "removed"
    many.append(change(Status.CHANGED, NODES[2]))
    said = "removed, with more nodes: 8 added, 1 changed"
    assert in_words(Edit(removed, (removed, *many, carried))) == said


def kernel(nodes: list[Node], before: float, after: float) -> Any:
    """A pair of kernels of these nodes."""
    delta = TotalCost(after - before)
    return SimpleNamespace(
        nodes=nodes,
        before=TotalCost(before),
        after=TotalCost(after),
        delta=delta,
        change=delta,
        name=nodes[0].name,
        is_same=before == after,
        label="relu",
    )


def test_a_kernel_counts_to_the_edit_of_its_nodes_else_to_the_last_before_it() -> None:
    a, b, c = NODES
    order = {a: 0, b: 1, c: 2}
    edits = [Edit(x, (x,)) for x in (change(Status.ADDED, a), change(Status.REMOVED, b))]
    pairs = [
        kernel([a], 1.0, 3.0),
        kernel([b], 1.0, 1.5),
        kernel([c], 1.0, 1.25),
        kernel([c], 2.0, 2.0),
    ]
    found = by_edit(edits, pairs, {a: 5.0, b: 7.0}, order)
    assert [x.delta.time_s for x in found.culprits] == [2.0, 0.75]
    assert [x.parameters for x in found.culprits] == [5.0, -7.0]
    assert [x.what for x in found.culprits] == ["added", "removed"]
    kernels = by_kernel(pairs)
    assert [x.delta.time_s for x in kernels.culprits] == [2.0, 0.5, 0.25]
    assert by_edit([], pairs, {}, order).culprits == ()


def both(
    old: Any, new: Any, *pairs: tuple[int, int]
) -> tuple[list[Change], Causes, dict[Any, int]]:
    """Changes of two graphs whose nodes at ``pairs`` are the same."""
    from perfc.review.diff.align import Alignment

    paired = tuple((old.nodes[i], new.nodes[j]) for i, j in pairs)
    left, right = {a for a, _ in paired}, {b for _, b in paired}
    alignment = Alignment(
        paired,
        tuple(n for n in old.nodes if n not in left),
        tuple(n for n in new.nodes if n not in right),
    )
    sides = [Labels(DiffSide({}, {})) for _ in range(2)]
    found = changes(alignment, *sides)
    order = {n: i for g in (old, new) for i, n in enumerate(g.nodes)}
    return found, Causes(found, alignment, order), order


def test_details_of_a_change_say_what_is_different() -> None:
    old = graph("%a = softmax(%x) {axis = 1} : f32[4, 8]", "%b = relu(%a) : f32[4, 8]")
    new = graph("%a = softmax(%x) {axis = 0} : f32[4, 8]", "%b = relu(%a) : f32[4, 8]")
    found, causes, _ = both(old, new, (0, 0), (1, 1))
    (only,) = found
    assert (only.status, only.is_carried) == (Status.CHANGED, False)
    assert only.details == ("axis 1 -> 0",)
    assert only.op_type == "softmax"
    assert len(causes.edits()) == 1


def test_what_follows_from_another_extent_is_carried() -> None:
    old = graph("%a = relu(%x) : f32[4, 8]", "%b = tanh(%a) : f32[4, 8]")
    new = graph("%a = relu(%x) : f32[2, 8]", "%b = tanh(%a) : f32[2, 8]", inputs="%x: f32[2, 8]")
    found, causes, _ = both(old, new, (0, 0), (1, 1))
    assert [c.is_carried for c in found] == [True, True]
    (edit,) = causes.edits()
    assert edit.head is found[0]
    assert found[0].details == ("X f32[4, 8] -> f32[2, 8]", "result f32[4, 8] -> f32[2, 8]")


def test_one_node_in_place_of_another_is_one_edit() -> None:
    old = graph(
        "%a = relu(%x) : f32[4, 8]", "%b = tanh(%a) : f32[4, 8]", "%c = exp(%b) : f32[4, 8]"
    )
    new = graph(
        "%a = relu(%x) : f32[4, 8]", "%b = sigmoid(%a) : f32[4, 8]", "%c = exp(%b) : f32[4, 8]"
    )
    found, causes, _ = both(old, new, (0, 0), (2, 2))
    assert [c.status for c in found] == [Status.REMOVED, Status.ADDED]
    assert found[1].details == ("result f32[4, 8]",)
    (edit,) = causes.edits()
    assert set(edit.changes) == set(found)


def test_edits_far_apart_are_two() -> None:
    lines = [
        "%a = relu(%x) : f32[4, 8]",
        "%b = softmax(%a) {axis = 1} : f32[4, 8]",
        "%c = exp(%b) : f32[4, 8]",
        "%d = softmax(%c) {axis = 1} : f32[4, 8]",
    ]
    old = graph(*lines)
    new = graph(*(line.replace("axis = 1", "axis = 0") for line in lines))
    found, causes, order = both(old, new, *((i, i) for i in range(4)))
    first, second = causes.edits()
    assert order[first.head.node] < order[second.head.node]
    assert len(found) == 2


def test_the_head_of_casts_is_what_reads_them() -> None:
    old = graph("%a = exp(%x) : f32[4, 8]")
    new = graph('%c = cast(%x) {to = "f16"} : f16[4, 8]', "%a = exp(%c) : f16[4, 8]")
    found, causes, _ = both(old, new, (0, 1))
    (edit,) = causes.edits()
    assert edit.head.node.op.mnemonic == "exp"
    cast_alone = [c for c in found if c.node.op.mnemonic == "cast"]
    assert causes.head(cast_alone) is cast_alone[0]


def test_the_head_of_a_block_is_its_first_product() -> None:
    lines = [f"%v{i} = relu(%{'x' if not i else f'v{i - 1}'}) : f32[4, 8]" for i in range(MANY)]
    weights = "%x: f32[4, 8], %w: f32[8, 8]"
    block = graph(*lines, f"%m = matmul(%v{MANY - 1}, %w) : f32[4, 8]", inputs=weights)
    nothing = graph("%a = exp(%x) : f32[4, 8]")
    found, causes, _ = both(nothing, block, (0, 0))
    added = [c for c in found if c.status is Status.ADDED]
    assert len(added) == MANY
    assert causes.head(added).node.op.mnemonic == "relu"
    found, causes, _ = both(nothing, block)
    added = [c for c in found if c.status is Status.ADDED]
    assert len(added) == MANY + 1
    assert causes.head(added).node.op.mnemonic == "matmul"


def test_labels_forget_what_they_are_to_forget() -> None:
    labels = Labels(DiffSide({}, {}))
    a = graph("%a = softmax(%x) {axis = 1} : f32[4, 8]").nodes[0]
    b = graph("%a = softmax(%x) {axis = 0} : f32[4, 8]").nodes[0]
    c = graph("%a = softmax(%x) {axis = 1} : f32[2, 8]", inputs="%x: f32[2, 8]").nodes[0]
    d = graph("%a = softmax(%x) {axis = 1} : f32[8]", inputs="%x: f32[8]").nodes[0]
    assert labels.strict(a) != labels.strict(b)
    assert labels.strict(a) != labels.strict(c)
    assert labels.shapeless(a) == labels.shapeless(b) == labels.shapeless(c)
    assert labels.shapeless(a) != labels.shapeless(d)
    assert labels.kind(a) is a.op.kind
    assert (labels.mac(a), labels.weights(a)) == (0.0, 0)


def test_operands_that_may_be_swapped_are_alike() -> None:
    labels = Labels(DiffSide({}, {}))
    inputs = "%x: f32[4, 8], %y: f32[8]"
    nodes = {
        op: [
            graph(f"%a = {op}({args}) : f32[4, 8]", inputs=inputs).nodes[0]
            for args in ("%x, %y", "%y, %x")
        ]
        for op in ("add", "sub")
    }
    assert labels.strict(nodes["add"][0]) == labels.strict(nodes["add"][1])
    assert labels.strict(nodes["sub"][0]) != labels.strict(nodes["sub"][1])


def test_wires_lead_from_makers_to_readers() -> None:
    lines = ("%a = relu(%x)", "%b = exp(%a)", "%c = sub(%a, %b)", "%d = add(%c, %a)")
    wires = wiring(graph(*(f"{line} : f32[4, 8]" for line in lines)))
    assert wires.before == [(OUTSIDE,), (0,), (0, 1), (2, 0)]
    assert wires.after == [[(1, 0), (2, 0), (3, 0)], [(2, 1)], [(3, 0)], []]
    kept, numbers = skeleton(wires, lambda n: n.op.mnemonic in ("relu", "add"))
    assert numbers == [0, 3]
    assert kept.before == [(), (0,)]
    assert kept.after == [[(1, 0)], []]
    assert not kept.is_ordered


def test_large_gaps_are_halved_and_small_ones_aligned() -> None:
    count = int(LARGEST_GAP**0.5)
    same = list(range(count))
    assert aligned(same, same, lambda i, j: float(i == j)) == [(i, i) for i in same]
    # of halves a node of the first half cannot meet one of the second
    longer = list(range(count + 2))
    shifted = [i + count // 2 + 1 for i in longer]
    found = aligned(longer, shifted, lambda i, j: float(i == j))
    assert len(found) < len(set(longer) & set(shifted))
    assert aligned([1, 2], [3, 4], lambda i, j: 0.0) == []
    assert aligned([1, 2], [3], lambda i, j: float(i)) == [(2, 3)]
    assert aligned([], [3], lambda i, j: 1.0) == []


@pytest.mark.parametrize(
    ("frame", "between"),
    [
        ([], [([0, 2, 5], [1, 3])]),
        ([(1, 1)], [([2, 5], [1, 3])]),
        ([(1, 2)], [([0], [1]), ([2, 5], [3])]),
        ([(6, 0)], []),
        ([(2, 2), (4, 4)], [([0], [1]), ([2], [3])]),
    ],
)
def test_gaps_lie_between_pairs_of_the_frame(
    frame: list[tuple[int, int]], between: list[tuple[list[int], list[int]]]
) -> None:
    assert list(gaps([0, 2, 5], [1, 3], frame)) == between


def test_the_longest_chain_of_nothing_is_nothing() -> None:
    assert increasing([]) == []
    assert increasing([(0, 3), (1, 1), (2, 2), (3, 0)]) == [(1, 1), (2, 2)]
    assert increasing([(0, 0), (1, 0)]) in ([(0, 0)], [(1, 0)])


def test_rounding_of_sums_is_no_difference() -> None:
    assert [signed(v, Unit.SECOND) for v in (-2e-21, 0.0, -3e-12)] == ["0", "0", "<1 ns"]
    assert list(map(percent, (0.5, 98.5, 99.5))) == ["+50.0 %", "+9850.0 %", ">100 ×"]
