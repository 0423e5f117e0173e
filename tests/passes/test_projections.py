"""Attention that projects its input is a product and attention, and counts the same."""

from __future__ import annotations

import onnx
import pytest
from onnx import TensorProto, helper

import perfc
from perfc.analyzers.features.lowering import lower
from perfc.api import typed
from perfc.ir import dim_sum, evaluate
from perfc.ir.graph import Module
from perfc.ir.graphs.verify import verify
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.roofline.cost import Cost
from perfc.study.annotate.properties import annotate

F16, I32 = TensorProto.FLOAT16, TensorProto.INT32
HEADS, WIDTH = 4, 64
X, W, BIAS = ("batch", "seq", 32), (32, 3 * WIDTH), (3 * WIDTH,)
ONE, LINES = ("batch", 1, 32), ("batch", "seq")
GLOBAL = {"m": LINES, "v": (32, 96), "c": (96,), "i:g": LINES}
PAST, LONG = (2, "batch", HEADS, 7, 16), (2, "batch", HEADS, 20, 16)
TOKENS = {"x": (30, 32), "w": W, "b": BIAS, "i:t": (3, 10), "i:c": (4,)}
Shapes = dict[str, tuple[object, ...]]
CASES: list[tuple[str, Shapes, dict[str, object]]] = [
    ("Attention", {"x": X, "w": W, "b": BIAS}, {}),
    ("Attention", {"x": X, "w": W}, {"unidirectional": 1}),
    ("Attention", {"x": X, "w": W, "b": BIAS, "i:m": LINES}, {}),
    ("Attention", {"x": X, "w": W, "b": BIAS, "": (), "p": PAST}, {"unidirectional": 1}),
    (
        "Attention",
        {"x": X, "w": (32, 96), "b": (96,), "i:m": LINES},
        {"qkv_hidden_sizes": [16, 16, 64]},
    ),
    (
        "DecoderMaskedSelfAttention",
        {"x": ONE, "w": W, "b": BIAS, "i:m": ("batch", 21), "p": LONG, "": (), "i:n": (1,)},
        {"past_present_share_buffer": 1},
    ),
    ("PackedAttention", TOKENS, {}),
    ("PackedAttention", {**TOKENS, "r": (3, HEADS, 10, 10)}, {}),
]


def model(op: str, shapes: Shapes, attributes: dict[str, object]) -> bytes:
    """One attention; names that start with ``i:`` are integers."""
    node = helper.make_node(
        op, list(shapes), ["y"], "a", domain="com.microsoft", num_heads=HEADS, **attributes
    )
    inputs = [
        helper.make_tensor_value_info(name, I32 if name.startswith("i:") else F16, shape)
        for name, shape in shapes.items()
        if name
    ]
    graph = helper.make_graph([node], "g", inputs, [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets).SerializeToString()


def both(op: str, shapes: Shapes, attributes: dict[str, object]) -> tuple[Module, Module]:
    """The module as read, and canonical."""
    module = typed(model(op, shapes, attributes))
    return module, Analyses().apply(Canonicalize(), module)


@pytest.mark.parametrize(("op", "shapes", "attributes"), CASES)
def test_a_product_and_the_rest_count_what_one_operator_did(
    op: str, shapes: Shapes, attributes: dict[str, object]
) -> None:
    whole, parts = both(op, shapes, attributes)
    verify(parts)
    assert [n.name for n in parts.graph] == ["a", "a"]
    assert [n.loc.op_type for n in parts.graph] == ["MatMul", op]
    assert [v.type for v in parts.graph.outputs] == [v.type for v in whole.graph.outputs]
    before, after = (Analyses().get(Cost(), m) for m in (whole, parts))
    for unit in ("mac", "alu", "sfu", "effective_mac"):
        assert getattr(after.work, unit) == getattr(before.work, unit), unit
    qkv = parts.graph.nodes[0].results[0].type
    moved = dim_sum((before.traffic.read_bytes, getattr(qkv, "nbytes", 0)))
    assert after.traffic.read_bytes == moved
    assert Analyses().apply(Canonicalize(), parts) is parts


@pytest.mark.parametrize(("op", "shapes", "attributes"), [CASES[0], CASES[3], CASES[6]])
def test_both_parts_have_a_class(op: str, shapes: Shapes, attributes: dict[str, object]) -> None:
    dims = {"batch": 3, "seq": 10} if shapes["x"] == X else {}
    report = perfc.analyze(model(op, shapes, attributes), "a100", dims=dims)
    rows = [lower(bound, report.env) for bound in report.roofline.kernels]
    assert [row and row.class_name for row in rows] == ["matmul", "attention_prefill"]
    attention = rows[1]
    assert attention is not None
    assert attention.parameters["batch"] == 3
    assert attention.parameters["query_len"] == 10
    assert attention.parameters["head_dim"] == 16
    assert attention.parameters["causal"] == attributes.get("unidirectional", 0)


def test_what_no_product_computes_stays() -> None:
    whole, parts = both("Attention", {"x": X, "w": (48, 192)}, {})
    assert parts is whole
    shapes = {"x": X, "w": (32, 96), "b": (96,), **GLOBAL}
    whole, parts = both("LongformerAttention", shapes, {"window": 2})
    assert parts is whole


def test_the_node_of_the_file_has_the_sum_of_both() -> None:
    proto = onnx.load_from_string(model(*CASES[6]))
    report = perfc.analyze(proto, "a100")
    annotate(proto, report)
    (node,) = proto.graph.node
    properties = {p.key: p.value for p in node.metadata_props}
    assert properties["perfc.kernel"] == "0: MatMul; 1: PackedAttention"
    assert int(properties["perfc.mac"]) == evaluate(report.cost.work.mac, report.env)
    both = sum(k.time_s for k in report.prediction.kernels)
    assert float(properties["perfc.predicted_s"]) == pytest.approx(both)
