"""Two models compared: alignment by structure, causes, totals."""

from __future__ import annotations

import csv
import gzip
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

import perfc
from tests.oracles import edits
from tests.review.diff import models
from tests.review.diff.models import between, total

EXAMPLES = Path(__file__).parents[3] / "examples" / "models"


def first(found: Any) -> str:
    return found["blame"][0]["node"]  # type: ignore[no-any-return]


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
    assert (found["is_equal"], found["blame"]) == (True, [])
    assert all((r["delta"], r["delta_low"]) == (0, None) for r in found["totals"])
    for form in ("text", "markdown"):
        shown = models.texts(lines("0123"), other, "--output-format", form)
        assert "no difference" in shown
        assert not re.search("MatMul|Identity|<1 ns", shown)


def test_a_change_of_an_unknown_operator_is_a_difference() -> None:
    head = '<ir_version: 8, opset_import: ["": 17, "own": 1]> g (float[8] x) => (float[8] y)'
    old, new = (
        onnx.parser.parse_model(f"{head} {{ y = own.{name}(x) }}") for name in ("Some", "Other")
    )
    assert not between(old, new)["is_equal"]


def test_a_wider_layer_is_one_edit_with_all_that_follows() -> None:
    found = between(models.convolutional(16), models.convolutional(24))
    assert (first(found), models.edits(found)) == ("conv1", {"conv1"})
    (culprit,) = (r for r in found["blame"] if r["is_named"])
    assert culprit["parameters"] == total(found, "parameters")["delta"] == 8 * 3 * 9 + 32 * 8 * 9
    assert culprit["flop"] == total(found, "flop")["delta"] > 0


@pytest.mark.parametrize(
    ("options", "cause", "what"),
    [
        ({"activation": ""}, "act1", "removed"),
        ({"activation": "Elu"}, "act1", "added"),
        ({"stride": 2}, "conv2", "strides [1, 1] -> [2, 2]"),
    ],
)
def test_one_edit_is_named_with_all_that_follows(
    options: dict[str, Any], cause: str, what: str
) -> None:
    found = between(models.convolutional(), models.convolutional(**options))
    assert (first(found), models.edits(found)) == (cause, {cause})
    assert what in {found["blame"][0]["what"], *(c["status"] for c in found["changes"])}
    followers = [c for c in found["changes"] if c["node"] not in ("act1", "conv2")]
    assert all(c["is_carried"] for c in followers)


def test_extents_of_the_input_are_nobodys_edit() -> None:
    found = between(models.convolutional(size=32), models.convolutional(size=64))
    assert all(c["is_carried"] for c in found["changes"])
    assert (found["aligned_products"], found["products"]) == (4, 4)
    assert sum(c["share"] for c in found["blame"]) == pytest.approx(1)


@pytest.mark.parametrize("seed", range(8))
def test_seeded_edits_of_a_real_network_are_named_first(seed: int) -> None:
    rng = random.Random(seed)
    plain = onnx.load_model_from_string(
        gzip.decompress((EXAMPLES / "resnet50.onnx.gz").read_bytes())
    )
    edit = edits.edited(plain, seed, rng)
    assert edit is not None
    new, names = edits.renamed(edit.model, rng)
    sides = [perfc.analyze(model).module.graph.nodes for model in (plain, new)]
    in_file = {n.name: n.loc.stored_name for nodes in sides for n in nodes}
    assert in_file[first(between(plain, new))] in (edit.node, names.get(edit.node))


def test_products_align_across_opsets() -> None:
    found = between(models.convolutional(opset=13), models.convolutional(prefix="x_"))
    assert (found["aligned_products"], total(found, "mac")["delta"]) == (4, 0)


def test_a_product_with_a_bias_aligns_with_its_parts() -> None:
    weights = [models.stored("w", (64, 32)), models.stored("b", (32,))]
    whole, parts = (
        models.model(nodes, weights, ["n", 64], ["n", 32])
        for nodes in (
            [helper.make_node("Gemm", ["x", "w", "b"], ["y"], "fc")],
            [
                helper.make_node("MatMul", ["x", "w"], ["m"], "mm"),
                helper.make_node("Add", ["b", "m"], ["y"], "plus"),
            ],
        )
    )
    found = between(whole, parts)
    assert (found["aligned_products"], found["products"]) == (1, 1)


def test_regions_are_aligned_too() -> None:
    def choosing(op: str) -> onnx.ModelProto:
        def branch(name: str, what: str) -> onnx.GraphProto:
            out = helper.make_tensor_value_info(f"{name}_y", TensorProto.FLOAT, ["n", 8])
            node = helper.make_node(what, ["x"], [f"{name}_y"], f"{name}_{what}")
            return helper.make_graph([node], name, [], [out])

        inner = {"then_branch": branch("t", op), "else_branch": branch("e", "Exp")}
        made = models.model(
            [helper.make_node("If", ["c"], ["y"], "choice", **inner)], [], ["n", 8], ["n", 8]
        )
        made.graph.input.append(helper.make_tensor_value_info("c", TensorProto.BOOL, []))
        return made

    found = between(choosing("Exp"), choosing("Relu"))
    assert found["aligned_nodes"] == 2
    assert {c["op_type"] for c in found["changes"]} == {"Exp", "Relu"}


def test_every_format_says_the_same() -> None:
    pair = models.convolutional(16), models.convolutional(64)
    tree = between(*pair)
    for form in ("text", "markdown"):
        assert "conv1" in models.texts(*pair, "--output-format", form)
    rows = csv.DictReader(io.StringIO(models.texts(*pair, "--output-format", "csv")))
    for row, kernel in zip(rows, tree["kernels"], strict=True):
        assert {k: str(v) for k, v in kernel.items()} == row
    for metric, unit in (("traffic", "bytes"), ("time", "s")):
        moved = sum(k[f"{metric}_{unit}_new"] - k[f"{metric}_{unit}_old"] for k in tree["kernels"])
        fixed_s = tree["fixed_s_new"] - tree["fixed_s_old"] + tree["factor_s"]
        whole = moved + (fixed_s if metric == "time" else 0)
        assert whole == pytest.approx(total(tree, metric)["delta"], abs=1e-9)
    assert tree["schema"] == "perfc-diff/1"


@pytest.mark.parametrize(
    "options", [["--runtime", "ort"], ["-t", "rtx4090", "--runtime", "inductor", "--batch", "256"]]
)
def test_the_interval_lies_around_the_total(options: list[str]) -> None:
    found = between(models.convolutional(16), models.convolutional(64), "--dtype", "f16", *options)
    rows = [r for r in found["totals"] if r["delta_low"] is not None]
    assert rows
    assert all(r["delta_low"] <= r["delta"] <= r["delta_high"] for r in rows)


def test_an_energy_that_nobody_knows_is_a_dash_and_not_zero() -> None:
    pair = models.convolutional(16), models.convolutional(24)
    options = ["-t", "generic-x86-64"]
    found = between(*pair, *options)
    assert "energy" not in {r["metric"] for r in found["totals"]}
    assert {r["energy_j_new"] for r in found["kernels"]} == {None}
    other = between(*pair, "--to", "target=generic-x86-64")
    row = total(other, "energy")
    assert (row["new"], row["delta"], row["relative"], other["is_equal"]) == (None,) * 3 + (False,)
    shown = models.texts(*pair, "--to", "target=generic-x86-64")
    line = next(s for s in shown.splitlines() if "  energy  " in s)
    assert line.split()[-3:] == ["—", "—", "predicted"]


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
    assert Counter(c["status"] for c in found["changes"]) == counts
    assert [c["what"] for c in found["blame"]] in ([cause], [])


def graph(*lines: str, inputs: str = "%x: f32[4, 8]") -> str:
    """A module of IR text; it returns its last value."""
    body = "\n".join(f"  {line}" for line in (*lines, f"return {lines[-1].partition(' ')[0]}"))
    return f"perfir 1\nmodule @m\n\ngraph @main({inputs}) {{\n{body}\n}}\n"


def chain(*operators: str, last: str = "%x") -> tuple[str, ...]:
    """Lines of operators, each of the result of the one before."""
    made = []
    for i, op in enumerate(operators):
        call = op if "(" in op else f"{op}({{}})"
        made.append(f"%v{i} = {call.format(last)} : f32[4, 8]")
        last = f"%v{i}"
    return tuple(made)


@pytest.mark.parametrize(("op", "count"), [("add", 0), ("sub", 1)])
def test_operands_that_may_be_swapped_are_alike(op: str, count: int) -> None:
    old, new = (
        graph(*chain("relu", f"{op}({args})"), inputs="%x: f32[4, 8], %z: f32[8]")
        for args in ("{}, %z", "%z, {}")
    )
    assert len(between(old, new)["changes"]) == count


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (["softmax({}) {{axis = 1}}"], ["softmax({}) {{axis = 0}}"], {"v0: axis 1 -> 0"}),
        (["relu", "tanh", "exp"], ["relu", "sigmoid", "exp"], {"v1: removed"}),
        (
            ["relu", "softmax({}) {{axis = 1}}", "exp", "softmax({}) {{axis = 1}}"],
            ["relu", "softmax({}) {{axis = 0}}", "exp", "softmax({}) {{axis = 0}}"],
            {"v1: axis 1 -> 0", "v3"},
        ),
        (["exp"], ["exp", *["relu"] * 9], {"v1: added"}),
        (["exp"], ["exp", *["relu"] * 10], {"v1: added, with more nodes: 9 added"}),
    ],
)
def test_edits_are_said_by_their_heads(old: list[str], new: list[str], said: set[str]) -> None:
    found = between(graph(*chain(*old)), graph(*chain(*new)))
    assert {f"{r['node']}: {r['what']}" for r in found["blame"]} <= said
    assert sum(r["count"] for r in found["blame"]) == len(said), "equal edits are counted"
    assert models.edits(found) == {text.partition(":")[0] for text in said}


RANKED = ("time", "time_s"), ("traffic", "traffic_bytes"), ("flop", "flop")


@pytest.mark.parametrize(
    ("old", "new", "options"),
    [
        ({"channels": 16}, {"channels": 24}, ["--batch", "64"]),
        ({"channels": 16, "activation": "Elu"}, {"channels": 24, "stride": 2}, []),
        ({"activation": ""}, {}, ["--runtime", "eager", "--batch", "64"]),
        ({"size": 32}, {"size": 64}, []),
        ({"activation": "Relu"}, {"activation": "Elu"}, ["-t", "t4", "--batch", "9"]),
        ({"channels": 512}, {"channels": 513}, ["--batch", "2"]),
    ],
)
def test_causes_are_ranked_by_the_first_metric_that_changed_noticeably(
    old: dict[str, Any], new: dict[str, Any], options: list[str]
) -> None:
    found = between(models.convolutional(**old), models.convolutional(**new), *options)
    sides = [
        {key: sum(k[f"{key}_{side}"] for k in found["kernels"]) for _, key in RANKED}
        for side in ("old", "new")
    ]
    whole = max(sides, key=lambda side: side["time_s"])
    parts = {name: sum(abs(r[key]) for r in found["blame"]) / whole[key] for name, key in RANKED}
    noticed = [name for name, part in parts.items() if part >= 1e-3]
    assert found["blame_metric"] == noticed[0]
    shares = [r["share"] for r in found["blame"]]
    assert shares == sorted(shares, reverse=True)
    key = dict(RANKED)[noticed[0]]
    sizes = [abs(r[key]) for r in found["blame"]]
    assert shares == pytest.approx([size / sum(sizes) for size in sizes])
    named = sum(r["is_named"] for r in found["blame"])
    assert sum(shares[: named - 1]) < 0.9 <= sum(shares[:named]) + 1e-9


@pytest.mark.parametrize(
    ("op", "old", "new", "is_carried"),
    [
        # other channels come in, as many filters; a larger batch; more filters too
        ("conv", ("1, 3, 8, 8", "5, 3, 1, 1"), ("1, 4, 8, 8", "5, 4, 1, 1"), True),
        ("conv", ("1, 3, 8, 8", "5, 3, 1, 1"), ("2, 3, 8, 8", "5, 3, 1, 1"), True),
        ("conv", ("1, 3, 8, 8", "5, 3, 1, 1"), ("1, 4, 8, 8", "6, 4, 1, 1"), False),
        ("matmul", ("2, 4", "4, 6"), ("2, 5", "5, 6"), True),
        ("matmul", ("2, 4", "4, 6"), ("2, 5", "5, 7"), False),
        # nothing is a weight: all of it follows
        ("matmul", ("2, 4", "<4, 6>"), ("2, 5", "<5, 7>"), True),
        # nothing that is fed changed
        ("matmul", ("2, 4", "4, 6"), ("2, 4", "4, 7"), False),
    ],
)
def test_a_product_that_is_wider_itself_does_not_follow(
    op: str, old: tuple[str, str], new: tuple[str, str], is_carried: bool
) -> None:
    def product(x: str, w: str) -> str:
        shape = w.strip("<>")
        (batch, *rest), filters = x.split(", "), shape.split(", ")
        columns = [filters[0], *rest[1:]] if op == "conv" else [filters[1]]
        result = f"%y = {op}(%x, %w) : f32[{', '.join([batch, *columns])}]"
        if shape != w:
            return graph(result, inputs=f"%x: f32[{x}], %w: f32[{shape}]")
        return graph(f"%w = weight : f32[{w}]", result, inputs=f"%x: f32[{x}]")

    (found,) = between(product(*old), product(*new))["changes"]
    assert found["is_carried"] is is_carried


def sized(*inputs: str) -> str:
    """Functions of inputs with these names and shapes, whose names are symbols."""
    names = [text.partition(":")[0] for text in inputs]
    shapes = [text.partition(": ")[2] for text in inputs]
    declared = "\n".join(f"dim {s} in 1.. = 4" for s in sorted({*"".join(shapes)} & {*"abknm"}))
    given = ", ".join(f"%{n}: f32[{shape}]" for n, shape in zip(names, shapes, strict=True))
    lines = [f"  %y{n} = relu(%{n}) : f32[{s}]" for n, s in zip(names, shapes, strict=True)]
    body = "\n".join((*lines, f"  return {', '.join(f'%y{n}' for n in names)}"))
    return f"perfir 1\nmodule @m\n{declared}\ngraph @main({given}) {{\n{body}\n}}\n"


@pytest.mark.parametrize(
    ("old", "new", "sizes", "flops"),
    [
        (["x: n, 2"], ["z: m, 2"], ["m=3"], (6, 6)),
        (["x: n, 2"], ["z: m, 2"], ["n=3"], (6, 6)),
        (["x: n, 2"], ["x: m, 2"], ["n=3", "m=5"], (6, 10)),
        (["x: n, 2"], ["x: m, 2"], ["batch=3"], (6, 6)),
        (["x: n", "z: k"], ["x: a", "z: b"], ["n=3", "b=7"], (10, 10)),
        (["x: n", "z: k"], ["z: b, 2", "x: a"], ["n=3", "k=1"], (4, 11)),
        # each symbol has one partner, and the second extent of the same symbol none
        (["x: n, k"], ["x: m, m"], ["n=3"], (12, 9)),
        (["x: n, k"], ["x: m, m"], ["k=5"], (20, 16)),
        (["x: n, n"], ["x: m, k"], ["n=3"], (9, 12)),
        (["x: n, k"], ["x: m"], ["n=3", "m=2"], (12, 2)),
    ],
)
def test_a_size_goes_to_the_symbol_of_its_name_else_to_its_twin(
    old: list[str], new: list[str], sizes: list[str], flops: tuple[int, int]
) -> None:
    options = [word for size in sizes for word in ("--dim", size)]
    row = total(between(sized(*old), sized(*new), *options), "flop")
    assert (row["old"], row["new"]) == flops
