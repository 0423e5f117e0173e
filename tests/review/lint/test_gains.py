"""Findings at their thresholds, and conversions that are meant so."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from tests.review.lint.models import F16, found, model, node


def table_of(rows: int, width: int) -> object:
    nodes = [node("Cast", ["x"], ["i"], to=TensorProto.INT64), node("Gather", ["w", "i"], ["y"])]
    return model(nodes, {"x": [1]}, {"y": [1, width]}, {"w": np.zeros((rows, width), np.float32)})


def test_weights_that_a_run_hardly_reads_are_told_from_a_mebibyte_on() -> None:
    (finding,) = found(table_of(1025, 256), "PF302")
    assert finding.saved_bytes == 1 << 20
    assert found(table_of(1024, 256), "PF302") == []


def attention(rows: int) -> object:
    """Scores of ``rows`` by ``rows`` between small operands."""
    return model(
        [
            node("MatMul", ["x", "w"], ["scores"], name="scores"),
            node("Softmax", ["scores"], ["weights"], name="softmax"),
            node("MatMul", ["weights", "v"], ["y"], name="out"),
        ],
        {"x": [rows, 64]},
        {"y": [rows, 64]},
        {"w": np.ones((64, rows), np.float16), "v": np.ones((rows, 64), np.float16)},
        F16,
    )


def test_a_tensor_on_its_way_is_too_large_beyond_the_cache() -> None:
    (finding,) = found(attention(8192), "PF301")
    assert finding.message.startswith(
        "f16[8192, 8192] takes 128 MiB, 32x what the 3 kernels around it"
    )
    assert "a fused operator (Attention, opset 23)" in finding.advice
    assert found(attention(2048), "PF301") == [], "8 MiB fit the cache"


def quantised(*, is_first: bool) -> object:
    """Quantised at the door of the model, or between two nodes."""
    nodes = [
        node("QuantizeLinear", ["x" if is_first else "r", "s", "z"], ["q"], name="q"),
        node("DequantizeLinear", ["q", "s", "z"], ["d"], name="d"),
        node("Softmax", ["d"], ["y"], name="after"),
    ]
    if not is_first:
        nodes.insert(0, node("Softmax", ["x"], ["r"], name="before"))
    scales = {"s": np.float32(0.1).reshape(()), "z": np.zeros((), np.int8)}
    return model(nodes, {"x": [4096, 4096]}, {"y": [4096, 4096]}, scales)


def test_a_conversion_at_the_door_of_a_model_is_meant() -> None:
    assert [f.nodes for f in found(quantised(is_first=True), "PF405")] == [("d",)]
    (first, second) = found(quantised(is_first=False), "PF405")
    assert (first.nodes, second.nodes) == (("q",), ("d",))
    assert first.message == "QuantizeLinear next to Softmax runs as a separate kernel under ort"
