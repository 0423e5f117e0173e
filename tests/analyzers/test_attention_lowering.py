"""Attention kernels of the IR become rows of the predictor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from perfc.analyzers.features.lowering import Lowered, lower
from perfc.api import analyze


def lowered(
    nodes: list[Any], inputs: Mapping[str, tuple[int, ...]], runtime: str = "ort"
) -> Lowered:
    """The only attention of a model of half-precision tensors."""
    kind = TensorProto.FLOAT16
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info(n, kind, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info("y0", kind, None)],
    )
    versions = [helper.make_opsetid("", 23), helper.make_opsetid("com.microsoft", 1)]
    model = helper.make_model(graph, opset_imports=versions)
    table = analyze(onnx.ModelProto.SerializeToString(model), "h100", runtime=runtime).roofline
    found = [lower(bound, table.env) for bound in table.kernels]
    rows = [row for row in found if row is not None and "attention" in row.class_name]
    assert len(rows) == 1
    return rows[0]


def attention(**attributes: Any) -> list[Any]:
    """The standard operator on tensors of rank four."""
    return [helper.make_node("Attention", ["q", "k", "v"], ["y0"], **attributes)]


def test_a_causal_prompt_with_grouped_heads() -> None:
    found = lowered(
        attention(is_causal=1),
        {"q": (2, 8, 64, 128), "k": (2, 2, 64, 128), "v": (2, 2, 64, 96)},
    )
    assert found.class_name == "attention_prefill"
    assert found.dtype == "bf16"
    expected = {"batch": 2, "heads": 8, "kv_heads": 2, "query_len": 64, "kv_len": 64, "causal": 1}
    assert expected.items() <= found.parameters.items()
    assert found.parameters["value_dim"] == 96


def test_one_query_is_a_decoding_step() -> None:
    found = lowered(
        attention(), {"q": (4, 8, 1, 128), "k": (4, 8, 300, 128), "v": (4, 8, 300, 128)}
    )
    assert found.class_name == "attention_decode"
    assert found.parameters["cached_len"] == 299


def test_written_out_attention_is_one_row_of_both_products() -> None:
    nodes = [
        helper.make_node("MatMul", ["q", "k"], ["s"]),
        helper.make_node("Softmax", ["s"], ["p"], axis=-1),
        helper.make_node("MatMul", ["p", "v"], ["y0"]),
    ]
    shapes = {"q": (2, 12, 77, 64), "k": (2, 12, 64, 50), "v": (2, 12, 50, 32)}
    found = lowered(nodes, shapes, "tensorrt")
    assert found.class_name == "attention_prefill"
    expected = {"batch": 2, "heads": 12, "query_len": 77, "kv_len": 50, "head_dim": 64}
    assert expected.items() <= found.parameters.items()
    assert found.parameters["causal"] == 0


@pytest.mark.parametrize(("window", "seen"), [(-1, 0), (128, 128)])
def test_grouped_query_attention_keeps_its_window(window: int, seen: int) -> None:
    node = helper.make_node(
        "GroupQueryAttention",
        ["q", "k", "v", "", "", "n", "t"],
        ["y0"],
        domain="com.microsoft",
        num_heads=8,
        kv_num_heads=2,
        local_window_size=window,
    )
    found = lowered(
        [node],
        {"q": (1, 512, 1024), "k": (1, 512, 256), "v": (1, 512, 256), "n": (1,), "t": (1,)},
    )
    assert found.parameters["window"] == seen
    assert found.parameters["kv_heads"] == 2
    assert found.parameters["head_dim"] == 128
