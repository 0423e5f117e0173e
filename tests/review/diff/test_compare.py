"""Two models compared: alignment by structure, causes, totals."""

from __future__ import annotations

import csv
import io
import random
import re
from collections import Counter
from pathlib import Path
from typing import Any

import onnx
import onnx.parser
import pytest
from onnx import TensorProto, helper

from perfc.api import Report, analyze
from perfc.ir import walk
from perfc.review.diff import Difference, Metric, compare, document, to_csv, to_json, views_of
from perfc.review.diff.gaps import aligned, increasing
from perfc.view.report.formats import markdown, text
from tests.oracles import edits
from tests.review.diff import models

EXAMPLES = Path(__file__).parents[3] / "examples" / "models"


def of(model: onnx.ModelProto, **options: Any) -> Report:
    return analyze(model.SerializeToString(), **options)


def between(old: onnx.ModelProto, new: onnx.ModelProto, **options: Any) -> Difference:
    return compare(of(old, **options), of(new, **options))


def first(found: Difference) -> str:
    return found.blame.culprits[0].name


def test_a_model_does_not_differ_from_itself() -> None:
    one = models.convolutional()
    found = between(one, one)
    assert found.is_empty
    assert not found.blame.culprits
    assert all(old == new for old, new in found.totals.values())


def test_names_do_not_matter() -> None:
    found = between(models.convolutional(), models.convolutional(prefix="renamed_"))
    assert found.is_empty
    assert found.aligned == 10


def test_the_order_of_independent_nodes_does_not_matter() -> None:
    one = models.convolutional()
    other = onnx.ModelProto()
    other.CopyFrom(one)
    nodes = list(other.graph.node)
    mul = next(i for i, n in enumerate(nodes) if n.op_type == "Mul")
    nodes[mul].input[:] = reversed(nodes[mul].input)
    del other.graph.node[:]
    other.graph.node.extend(nodes)
    assert between(one, other).is_empty


def lines(order: str, view: str = "Flatten") -> onnx.ModelProto:
    """Return a model of independent products, each of a view of the input."""
    body = "".join(f"v{i} = {view}(x)\ny{i} = MatMul(v{i}, w{i})\n" for i in order)
    weights = ", ".join(f"float[64, {48 + 16 * int(i)}] w{i}" for i in "0123")
    outputs = ", ".join(f"float[8, {48 + 16 * int(i)}] y{i}" for i in "0123")
    head = f"g (float[8, 64] x, {weights}) => ({outputs})"
    return onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]>\n{head} {{\n{body}}}')


@pytest.mark.parametrize("other", [lines("1023"), lines("0123", "Identity")])
def test_equal_costs_are_no_difference_in_any_format(other: onnx.ModelProto) -> None:
    found = between(lines("0123"), other)
    views = views_of(found)
    assert found.is_empty
    assert views.is_equal
    assert not views.blame
    assert all((r.delta, r.delta_low) == (0, None) for r in views.totals)
    for shown in (text.render(document(views), 160), markdown.render(document(views))):
        assert "no difference" in shown
        assert not re.search("MatMul|Identity|<1 ns", shown)


def test_a_change_of_an_unknown_operator_is_a_difference() -> None:
    head = '<ir_version: 8, opset_import: ["": 17, "own": 1]> g (float[8] x) => (float[8] y)'
    old, new = (
        onnx.parser.parse_model(f"{head} {{ y = own.{name}(x) }}") for name in ("Some", "Other")
    )
    assert not between(old, new).is_empty


def test_a_wider_layer_is_one_edit_with_all_that_follows() -> None:
    found = between(models.convolutional(16), models.convolutional(24))
    assert first(found) == "conv1"
    assert len(found.edits) == 1
    assert found.blame.named == 1
    culprit = found.blame.culprits[0]
    old, new = found.totals[Metric.PARAMETERS]
    assert culprit.parameters == new.value - old.value == 8 * 3 * 9 + 32 * 8 * 9
    old, new = found.totals[Metric.MAC]
    assert culprit.delta.mac == new.value - old.value > 0


def test_a_dropped_activation_is_named() -> None:
    found = between(models.convolutional(), models.convolutional(activation=""))
    assert first(found) == "act1"
    assert found.blame.culprits[0].what == "removed"
    assert [c.status.value for c in found.changes] == ["removed"]


def test_another_activation_is_one_edit() -> None:
    found = between(models.convolutional(), models.convolutional(activation="Elu"))
    assert len(found.edits) == 1
    assert first(found) == "act1"


def test_a_changed_stride_is_the_cause_of_every_extent_behind_it() -> None:
    found = between(models.convolutional(), models.convolutional(stride=2))
    assert first(found) == "conv2"
    assert len(found.edits) == 1
    assert "strides [1, 1] -> [2, 2]" in found.edits[0].head.details
    assert {c.is_carried for c in found.changes if c.node.name == "conv3"} == {True}


def test_extents_of_the_input_are_nobodys_edit() -> None:
    found = between(models.convolutional(size=32), models.convolutional(size=64))
    assert all(c.is_carried for c in found.changes)
    assert found.aligned_products == (4, 4)
    assert sum(c.share for c in found.blame.culprits) == pytest.approx(1)


def test_deltas_of_kernels_add_up_to_the_total() -> None:
    found = between(models.convolutional(16), models.convolutional(24, stride=2), dims={"n": 4})
    old, new = found.totals[Metric.TRAFFIC]
    moved = sum(k.delta.nbytes for k in found.kernels)
    assert moved == pytest.approx(new.value - old.value)
    old, new = found.totals[Metric.TIME]
    moved = sum(k.delta.time_s for k in found.kernels)
    fixed = [r.prediction.total.fixed_s for r in (found.new, found.old)]
    factor_s = views_of(found).factor_s
    assert moved + fixed[0] - fixed[1] + factor_s == pytest.approx(new.value - old.value)


def test_the_interval_of_the_difference_holds_the_difference() -> None:
    found = between(models.convolutional(16), models.convolutional(64))
    old, new = found.totals[Metric.TIME]
    low, high = found.intervals[Metric.TIME]
    assert low <= new.value - old.value <= high
    width = (new.high or 0) - (new.low or 0) + (old.high or 0) - (old.low or 0)
    assert high - low < width, "kernels that did not change cancel"


@pytest.mark.parametrize("seed", range(8))
def test_seeded_edits_of_a_real_network_are_named_first(seed: int) -> None:
    import gzip

    rng = random.Random(seed)
    plain = onnx.load_model_from_string(
        gzip.decompress((EXAMPLES / "resnet50.onnx.gz").read_bytes())
    )
    edit = edits.edited(plain, seed, rng)
    assert edit is not None
    new, names = edits.renamed(edit.model, rng)
    found = between(plain, new)
    sides = [n for report in (found.old, found.new) for n in walk(report.module.graph)]
    in_file = {n.name: n.loc.stored_name for n in sides}
    assert in_file[first(found)] in (edit.node, names.get(edit.node))


def test_products_align_across_opsets() -> None:
    old = models.convolutional(opset=13)
    new = models.convolutional(opset=18, prefix="x_")
    found = between(old, new)
    assert found.equal_products == 4
    assert found.totals[Metric.MAC][0].value == found.totals[Metric.MAC][1].value


def test_a_product_with_a_bias_aligns_with_its_parts() -> None:
    weight, bias = models.stored("w", (64, 32)), models.stored("b", (32,))
    whole = models.model(
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"], "fc")],
        [weight, bias],
        ["n", 64],
        ["n", 32],
    )
    parts = models.model(
        [
            helper.make_node("MatMul", ["x", "w"], ["m"], "mm"),
            helper.make_node("Add", ["b", "m"], ["y"], "plus"),
        ],
        [weight, bias],
        ["n", 64],
        ["n", 32],
    )
    found = between(whole, parts)
    assert found.aligned_products == (1, 1)
    assert found.equal_products == 1


def test_regions_are_aligned_too() -> None:
    def choosing(op: str) -> onnx.ModelProto:
        def branch(name: str, what: str) -> onnx.GraphProto:
            out = helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, ["n", 8])
            node = helper.make_node(what, ["x"], [f"{name}_y"], f"{name}_{what}")
            return helper.make_graph([node], name, [], [out])

        node = helper.make_node(
            "If",
            ["c"],
            ["y"],
            "choice",
            then_branch=branch("t", op),
            else_branch=branch("e", "Exp"),
        )
        graph = helper.make_graph(
            [node],
            "g",
            [
                helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 8]),
                helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            ],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 8])],
        )
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)

    found = between(choosing("Exp"), choosing("Relu"))
    assert found.aligned == 2
    assert {c.op_type for c in found.changes} == {"Exp", "Relu"}


def test_every_format_says_the_same() -> None:
    found = between(models.convolutional(16), models.convolutional(64))
    views = views_of(found)
    shown = text.render(document(views), 160)
    assert "conv1" in shown
    assert "conv1" in markdown.render(document(views))
    import json

    tree = json.loads(to_json(views))
    rows = list(csv.DictReader(io.StringIO(to_csv(views))))
    assert len(rows) == len(tree["kernels"]) == len(found.kernels)
    for row, kernel in zip(rows, tree["kernels"], strict=True):
        assert {k: str(v) for k, v in kernel.items()} == row
    fixed_s = tree["fixed_s_new"] - tree["fixed_s_old"]
    (time,) = (t for t in tree["totals"] if t["metric"] == "time")
    moved = sum(float(r["time_s_new"]) - float(r["time_s_old"]) for r in rows)
    assert moved + fixed_s + tree["factor_s"] == pytest.approx(time["delta"], abs=1e-9)
    for metric in ("time", "energy"):
        (total,) = (t for t in tree["totals"] if t["metric"] == metric)
        assert total["delta_low"] <= total["delta"] <= total["delta_high"]
    assert tree["schema"] == "perfc-diff/1"
    assert tree["blame"][0]["node"] == "conv1"
    totals = {t["metric"]: t for t in tree["totals"]}
    assert totals["mac"]["delta"] == found.blame.culprits[0].delta.mac


def test_the_longest_chain_of_pairs_grows_on_both_sides() -> None:
    pairs = [(0, 5), (1, 0), (2, 1), (3, 9), (4, 2), (5, 3)]
    assert increasing(pairs) == [(1, 0), (2, 1), (4, 2), (5, 3)]


def test_gaps_are_filled_in_order_by_score() -> None:
    old, new = "abcab", "cabb"
    found = aligned(range(5), range(4), lambda i, j: float(old[i] == new[j]))
    assert "".join(old[i] for i, _ in found) == "cab"
    assert found == sorted(found)


def test_an_energy_that_nobody_knows_is_a_dash_and_not_zero() -> None:
    model = models.convolutional(16)
    found = compare(analyze(model), analyze(model, "generic-x86-64"))
    views = views_of(found)
    (energy,) = (r for r in views.totals if r.metric == "energy")
    assert (energy.new, energy.delta, energy.relative) == (None, None, None)
    assert all(r.energy_j_new is None for r in views.kernels if r.launches_new)
    assert not found.is_empty
    line = next(s for s in text.render(document(views), 120).splitlines() if "  energy  " in s)
    assert line.split()[-3:] == ["—", "—", "predicted"]


def test_narrow_pages_leave_out_numbers_before_names() -> None:
    found = document(views_of(between(models.convolutional(16), models.convolutional(24))))
    narrow, wide = text.render(found, 80), text.render(found, 160)
    assert "columns hidden at this width" in narrow
    assert "columns hidden at this width" not in wide
    assert all(text.columns_of(line) <= 80 for line in narrow.splitlines()[1:])
    assert "conv1" in narrow


def test_the_interval_lies_around_the_total_where_kernels_do_not_add_up() -> None:
    old, new = (
        analyze(models.convolutional(c), "rtx4090", runtime="inductor", dtype="f16")
        for c in (16, 64)
    )
    found = compare(old, new)
    before, after = found.totals[Metric.TIME]
    low, high = found.intervals[Metric.TIME]
    assert low <= after.value - before.value <= high


BLOCKS = {"A": (16, 3), "B": (24, 5), "C": (32, 1)}


def of_blocks(order: str) -> onnx.ModelProto:
    """Return residual blocks of two convolutions each, as named."""
    nodes, stored, last = [], [], "x"
    for at, block in enumerate(order):
        width, kernel = BLOCKS[block]
        stored += [
            models.stored(f"{at}.u", (width, 8, kernel, kernel)),
            models.stored(f"{at}.v", (8, width, 1, 1)),
        ]
        pads = [kernel // 2] * 4
        nodes += [
            helper.make_node("Conv", [last, f"{at}.u"], [f"{at}.a"], f"{at}/u", pads=pads),
            helper.make_node("Relu", [f"{at}.a"], [f"{at}.b"], f"{at}/act"),
            helper.make_node("Conv", [f"{at}.b", f"{at}.v"], [f"{at}.c"], f"{at}/v"),
            helper.make_node("Add", [f"{at}.c", last], [f"{at}.y"], f"{at}/sum"),
        ]
        last = f"{at}.y"
    nodes.append(helper.make_node("Sigmoid", [last], ["y"], "end"))
    return models.model(nodes, stored, [1, 8, 32, 32], [1, 8, 32, 32])


@pytest.mark.parametrize(
    ("old", "new", "counts", "cause"),
    [
        # the last sum is the last one of either
        ("ABC", "ACB", {"moved": 3}, "moved from 1/u"),
        ("ABC", "ABBC", {"duplicated": 4}, "duplicated from 1/u"),
        ("ABC", "ABCA", {"duplicated": 4}, "duplicated from 0/u"),
        ("AB", "ABC", {"added": 4}, "added"),
        ("ABC", "AB", {"removed": 4}, "removed"),
    ],
)
def test_moved_and_duplicated_layers_are_no_new_ones(
    old: str, new: str, counts: dict[str, int], cause: str
) -> None:
    found = between(of_blocks(old), of_blocks(new))
    assert Counter(c.status.value for c in found.changes) == counts
    assert [c.what for c in found.blame.culprits] == [cause]
