"""Each rule finds what it documents, and leaves alone what only looks alike."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest
from onnx import TensorProto

import perfc
from perfc import cli
from tests.review.lint.models import F16, blemished, found, model, node, product, rows

PAGE = (Path(__file__).parents[3] / "docs/rules.md").read_text(encoding="utf-8")
RULES = re.findall(r"^\| (PF\d+) \|", PAGE, re.MULTILINE)
SECTIONS = "What it does", "Why is this bad", "Example", "Use instead", "Source"


@pytest.mark.parametrize("code", RULES)
def test_a_rule_is_documented_under_all_headings(
    code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["lint", "--explain", code, "--output-format", "markdown"]) == 0
    text = capsys.readouterr().out
    assert [h.rstrip("?") for h in re.findall(r"^#+ (.*)", text, re.MULTILINE)[1:]] == [*SECTIONS]


def test_codes_are_unique() -> None:
    assert len(set(RULES)) == len(RULES) >= 17


def test_a_pair_of_transpositions_gains_what_both_cost() -> None:
    pair = [f for f in found(blemished(), "PF101") if f.place == "back"]
    assert [f.nodes for f in pair] == [("back", "there")]
    gain = pair[0].gain
    assert gain is not None
    assert gain.basis == "re-analysis of the rewritten module"
    assert 0 < gain.floor_s <= gain.time_s
    assert pair[0].fixable


def test_transpositions_that_are_needed_are_left_alone() -> None:
    m = model(
        [
            node("Transpose", ["x"], ["a"], perm=[0, 2, 1]),
            node("Softmax", ["a"], ["b"], axis=-1),
            node("Transpose", ["b"], ["y"], perm=[0, 2, 1]),
        ],
        {"x": [2, 64, 64]},
        {"y": [2, 64, 64]},
    )
    assert found(m, "PF101", "PF103") == []


def test_transpositions_in_a_row_become_one() -> None:
    m = model(
        [
            node("Transpose", ["x"], ["a"], perm=[1, 2, 0], name="one"),
            node("Transpose", ["a"], ["b"], perm=[0, 2, 1], name="two"),
            node("Softmax", ["b"], ["y"]),
        ],
        {"x": [64, 64, 64]},
        {"y": [64, 64, 64]},
    )
    (finding,) = found(m, "PF101")
    assert "perm=[1, 0, 2]" in finding.advice


def test_views_that_undo_each_other_are_found_whatever_the_extents() -> None:
    (finding,) = found(blemished(), "PF102")
    assert finding.nodes == ("squeeze", "unsqueeze")
    m = model(
        [node("Reshape", ["x", "s"], ["a"]), node("Relu", ["a"], ["y"])],
        {"x": ["n", 4, 8]},
        {"y": ["n", 32]},
        {"s": np.array([0, 32])},
    )
    assert found(m, "PF102") == []


def test_a_round_trip_through_elementwise_operators_is_found() -> None:
    (finding,) = found(blemished(), "PF103")
    assert finding.nodes == ("home", "mul", "relu", "out")


def test_a_round_trip_for_a_vector_of_channels_is_left_alone() -> None:
    m = model(
        [
            node("Transpose", ["x"], ["a"], perm=[0, 2, 1]),
            node("Add", ["a", "bias"], ["b"]),
            node("Transpose", ["b"], ["y"], perm=[0, 2, 1]),
        ],
        {"x": [2, 64, 32]},
        {"y": [2, 64, 32]},
        {"bias": rows(64)},
    )
    assert found(m, "PF103") == []


def test_what_reads_stored_tensors_only_is_foldable() -> None:
    (finding,) = found(blemished(), "PF104")
    assert finding.nodes == ("sqrt",)
    assert finding.gain is not None
    assert finding.gain.time_s == 0
    assert finding.fixable


def test_what_reads_weights_beside_the_file_is_not_said_to_be_fixable() -> None:
    m = model(
        [node("Sqrt", ["w"], ["r"], name="sqrt"), node("Add", ["x", "r"], ["y"])],
        {"x": [4, 64]},
        {"y": [4, 64]},
        {"w": rows(64)},
    )
    assert all(f.fixable for f in found(m, "PF104"))
    stored = m.graph.initializer[0]
    stored.ClearField("raw_data")
    stored.data_location = onnx.TensorProto.EXTERNAL
    stored.external_data.append(onnx.StringStringEntryProto(key="location", value="absent"))
    (finding,) = found(m, "PF104")
    assert not finding.fixable


def test_shapes_with_symbols_are_not_constant() -> None:
    m = model(
        [
            node("Shape", ["x"], ["s"]),
            node("Reshape", ["x", "s"], ["y"]),
        ],
        {"x": ["n", 4]},
        {"y": ["n", 4]},
    )
    assert found(m, "PF104") == []


@pytest.mark.parametrize(
    ("code", "graph", "places"),
    [
        # an operand of ones and no other shape goes with any order of axes
        (
            "PF103",
            "(float[2,8,16] x) => (float[2,8,16] y) <float[1,1,1] s = {2}> {"
            "a = Transpose<perm=[0,2,1]>(x) b = Mul(a, s) y = Transpose<perm=[0,2,1]>(b)}",
            ["Transpose_2"],
        ),
        # a target states its shape if it is stored and copies no extent
        (
            "PF102",
            "(float[4,8,2] x) => (float[8,4,2] y) <int64[2] s = {8,8}, int64[3] t = {8,4,2}> {"
            "a = Reshape(x, s) y = Reshape(a, t)}",
            ["Reshape_1"],
        ),
        (
            "PF102",
            "(float[4,8,2] x) => (float[8,4,2] y) <int64[2] s = {8,8}, int64[3] t = {0,4,2}> {"
            "a = Reshape(x, s) y = Reshape(a, t)}",
            [],
        ),
        (
            "PF102",
            "(float[4,8,2] x, int64[3] t) => (float[8,4,2] y) <int64[2] s = {8,8}> {"
            "a = Reshape(x, s) y = Reshape(a, t)}",
            [],
        ),
        # a float beyond an integer becomes another number by each way
        ("PF404", "(float16[64] x) => (int32[64] y) {a = Cast<to=1>(x) y = Cast<to=6>(a)}", []),
        (
            "PF404",
            "(float16[8] x) => (double[8] y) {a = Cast<to=1>(x) y = Cast<to=11>(a)}",
            ["y"],
        ),
        # one launch is nothing to record
        ("PF108", "(float[8] x) => (float[8] y) {y = Relu(x)}", []),
    ],
)
def test_near_misses(code: str, graph: str, places: list[str]) -> None:
    head = '<ir_version: 8, opset_import: ["": 17]> g '
    findings = found(onnx.parser.parse_model(head + graph), code)
    assert len(findings) == len(places)


def test_dead_nodes_and_unread_outputs_are_found() -> None:
    places = {f.place: f for f in found(blemished(), "PF105")}
    assert set(places) == {"dead", "pool"}
    assert places["pool"].tensor == "indices"


def test_elementwise_kernels_in_a_row_are_found_where_the_runtime_leaves_them() -> None:
    m = model(
        [node("Sin", ["x"], ["a"], name="sin"), node("Abs", ["a"], ["y"], name="abs")],
        {"x": [1024, 1024]},
        {"y": [1024, 1024]},
    )
    (finding,) = found(m, "PF106")
    assert finding.nodes == ("sin", "abs")
    assert finding.gain is not None
    kernels_s = perfc.analyze(m, "a100").prediction.kernels_s
    assert 0.4 * kernels_s < finding.gain.time_s < 0.7 * kernels_s
    assert found(m, "PF106", runtime="inductor") == []


def test_chains_of_a_model_are_one_finding_with_the_gain_of_all() -> None:
    names = ["Sin", "Abs"] * 2
    m = model(
        [
            node("Sin", ["x"], ["a"], name="sin"),
            node("Abs", ["a"], ["b"], name="abs"),
            node("MatMul", ["b", "w"], ["c"], name="product"),
            node("Sin", ["c"], ["d"], name="sin2"),
            node("Abs", ["d"], ["y"], name="abs2"),
        ],
        {"x": [1024, 1024]},
        {"y": [1024, 1024]},
        {"w": rows(1024, 1024)},
    )
    (finding,) = found(m, "PF106", runtime="cudagraph")
    assert "2 places, 4 consecutive elementwise kernels" in finding.message
    assert len(finding.nodes) == len(names)
    alone = found(
        model(
            [node("Sin", ["x"], ["a"]), node("Abs", ["a"], ["y"])],
            {"x": [1024, 1024]},
            {"y": [1024, 1024]},
        ),
        "PF106",
        runtime="cudagraph",
    )[0]
    assert finding.gain is not None
    assert alone.gain is not None
    assert finding.gain.time_s == pytest.approx(2 * alone.gain.time_s, rel=0.3)


def layers(count: int, width: int) -> object:
    nodes = [
        node("MatMul", [f"v{k}", "w"], [f"v{k + 1}"], name=f"product{k}") for k in range(count)
    ]
    return model(nodes, {"v0": [8, width]}, {f"v{count}": [8, width]}, {"w": rows(width, width)})


def test_a_run_that_waits_for_launches_gains_by_a_graph() -> None:
    (finding,) = found(layers(8, 64), "PF108", runtime="eager")
    assert "8 launches" in finding.message
    assert finding.gain is not None
    assert finding.gain.basis == "analysis of the same model run otherwise"
    assert 0.5 < finding.gain.share < 1
    (finding,) = found(layers(8, 64), "PF108")
    assert finding.gain is not None
    table = perfc.analyze(layers(8, 64), "a100").prediction
    times_s = {i: k.device_s for i, k in enumerate(table.launched)}
    saved_s = table.total.time_s - table.total_with(times_s, 0.0)
    assert 0 < finding.gain.time_s <= saved_s
    assert found(layers(8, 64), "PF108", runtime="cudagraph") == [], "they are recorded"
    assert found(layers(1, 64), "PF108") == [], "a graph of one launch is none"
    assert found(layers(8, 64), "PF108", target="generic-x86-64", runtime="ort-cpu") == []
    big = model(
        [node("MatMul", ["x", "w"], ["a"]), node("MatMul", ["a", "w"], ["y"])],
        {"x": [8192, 4096]},
        {"y": [8192, 4096]},
        {"w": rows(4096, 4096)},
    )
    assert found(big, "PF108") == []


def test_f32_is_wide_where_16_bits_are_faster() -> None:
    big = {"x": [4096, 4096]}, {"y": [4096, 4096]}, {"w": rows(4096, 4096)}
    m = model([node("MatMul", ["x", "w"], ["y"])], *big)
    (finding,) = found(m, "PF407")
    assert finding.gain is not None
    assert 0.2 < finding.gain.share < 1
    assert 0 < finding.gain.floor_s <= finding.gain.time_s
    assert found(m, "PF407", dtype="f16") == [], "a precision was asked for"
    assert found(m, "PF407", target="generic-x86-64", runtime="ort-cpu") == []
    half = model(
        [node("MatMul", ["x", "w"], ["y"])],
        big[0],
        big[1],
        {"w": np.ones((4096, 4096), np.float16)},
        dtype=F16,
    )
    assert found(half, "PF407") == []


def test_tf32_is_missed_only_where_it_is_off_and_there_is_some() -> None:
    m = model(
        [node("MatMul", ["x", "w"], ["y"])],
        {"x": [4096, 4096]},
        {"y": [4096, 4096]},
        {"w": rows(4096, 4096)},
    )
    (finding,) = found(m, "PF408", tf32=False)
    assert finding.gain is not None
    assert finding.gain.share > 0.5
    assert found(m, "PF408") == []
    assert found(m, "PF408", target="v100", tf32=False) == [], "it has none"


def test_what_others_read_too_is_no_chain() -> None:
    m = model(
        [node("Sin", ["x"], ["a"]), node("Abs", ["a"], ["y"]), node("Neg", ["a"], ["z"])],
        {"x": [64, 64]},
        {"y": [64, 64], "z": [64, 64]},
    )
    assert found(m, "PF106") == []


def test_a_small_batch_is_noted_and_one_that_fills_the_machine_is_not() -> None:
    m = model(
        [node("MatMul", ["x", "w"], ["y"])],
        {"x": ["n", 512]},
        {"y": ["n", 512]},
        {"w": rows(512, 512)},
    )
    (finding,) = found(m, "PF107", dims={"n": 1})
    assert finding.gain is not None
    assert 0 < finding.gain.share < 1
    (finding,) = found(m, "PF107", dims={"n": 8})
    assert "n = 8; at 64 an item takes" in finding.message
    assert found(m, "PF107", dims={"n": 1 << 16}) == []
    assert found(m, "PF107") == [], "an extent that nobody stated is nobody's mistake"


def depthwise(size: int) -> object:
    pads = [size // 2] * 4
    return model(
        [node("Conv", ["x", "w"], ["y"], group=256, pads=pads, name="dw")],
        {"x": [32, 256, 56, 56]},
        {"y": [32, 256, 56, 56]},
        {"w": rows(256, 1, size, size)},
    )


def test_large_depthwise_filters_are_found_and_small_ones_hide_behind_memory() -> None:
    (finding,) = found(depthwise(11), "PF201")
    assert "11x11" in finding.message
    assert found(depthwise(3), "PF201") == []


def attention(tokens: int) -> object:
    shape = [8, 12, tokens, 64]
    return model(
        [
            node("MatMul", ["q", "k"], ["scores"], name="qk"),
            node("Softmax", ["scores"], ["weights"], name="softmax"),
            node("MatMul", ["weights", "v"], ["y"], name="pv"),
        ],
        {"q": shape, "k": [8, 12, 64, tokens], "v": shape},
        {"y": shape},
    )


def test_scores_that_outgrow_the_cache_are_found() -> None:
    (finding,) = found(attention(2048), "PF301")
    assert finding.nodes == ("qk", "softmax", "pv")
    assert finding.gain is not None
    assert finding.gain.share > 0.5
    assert found(attention(128), "PF301") == []


def test_a_table_that_a_run_hardly_reads_is_found() -> None:
    m = model(
        [node("Gather", ["table", "ids"], ["y"], name="embed")],
        {"ids": [1, 16]},
        {"y": [1, 16, 64]},
        {"table": rows(30_000, 64)},
    )
    m.graph.input[0].type.tensor_type.elem_type = TensorProto.INT64
    (finding,) = found(m, "PF302")
    assert finding.saved_bytes == (30_000 - 16) * 64 * 4


def test_weights_without_readers_are_found() -> None:
    (finding,) = found(blemished(), "PF303")
    assert (finding.tensor, finding.saved_bytes) == ("left_behind", 1024)


def test_operators_without_a_definition_have_an_unknown_gain() -> None:
    m = model(
        [node("Mystery", ["x"], ["y"], domain="acme", name="secret")],
        {"x": [4, 4]},
        {"y": [4, 4]},
    )
    (finding,) = found(m, "PF901")
    assert finding.gain is None


def test_rated_figures_are_noted_where_they_bind() -> None:
    (finding,) = found(product(4096), "PF902", target="l4")
    assert "no measured rates" in finding.message
    assert found(product(4096), "PF902", target="a100") == []


def test_a_gain_that_was_not_computed_is_unknown_and_not_zero(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("perfc.review.lint.subject.MAX_ANALYSES", 0)
    findings = found(blemished(), "PF101")
    assert findings
    assert all(f.gain is None for f in findings)


def test_a_constant_chain_is_one_finding_with_its_last_node_first() -> None:
    nodes = [node("Sin", [f"c{i}"], [f"c{i + 1}"], name=f"sin{i}") for i in range(300)]
    nodes.append(node("Add", ["x", "c300"], ["y"]))
    m = model(nodes, {"x": [4]}, {"y": [4]}, {"c0": rows(4)})
    (finding,) = found(m, "PF104")
    assert (len(finding.nodes), finding.place) == (300, "sin299")
