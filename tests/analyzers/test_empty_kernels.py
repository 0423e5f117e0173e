"""Kernels with nothing to compute are predicted without a warning of NumPy's."""

from __future__ import annotations

import warnings

import onnx
import pytest
from onnx import TensorProto, helper

import perfc
from perfc.view.report import render

CONTRIB = ("CausalConvWithState", "GatedDeltaNet", "MultiHeadAttention")
TOKENS = (1, 4, 2, 0)
STATES = (TOKENS, TOKENS, (1, 4, 2, 8), (2,), (1, 4, 2), (1, 4, 2), (1, 2, 8, 0))
Shapes = tuple[tuple[int, ...], ...]


def applied(op: str, shapes: Shapes, elem: int, attributes: dict[str, object]) -> onnx.ModelProto:
    """One node over inputs of these shapes."""
    domain = "com.microsoft" if op in CONTRIB else ""
    names = [f"x{i}" for i in range(len(shapes))]
    node = helper.make_node(op, names, ["y"], domain=domain, **attributes)
    infos = [helper.make_tensor_value_info(n, elem, s) for n, s in zip(names, shapes, strict=True)]
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets)


@pytest.mark.parametrize(
    ("op", "shapes", "elem", "attributes"),
    [
        ("Concat", ((2, 5), (2, 5)), TensorProto.STRING, {"axis": 0}),
        ("Concat", ((0, 5), (0, 5)), TensorProto.FLOAT, {"axis": 0}),
        ("Conv", ((1, 3, 8, 8), (0, 3, 3, 3)), TensorProto.FLOAT, {}),
        ("MatMul", ((2, 0), (0, 3)), TensorProto.FLOAT, {}),
        ("MultiHeadAttention", ((1, 5, 0), (1, 5, 0), (1, 5, 0)), 1, {"num_heads": 2}),
        ("CausalConvWithState", ((2, 0, 4), (0, 1, 3)), TensorProto.FLOAT, {}),
        ("GatedDeltaNet", STATES, TensorProto.FLOAT16, {}),
    ],
)
def test_nothing_to_compute_is_predicted_in_silence(
    op: str, shapes: Shapes, elem: int, attributes: dict[str, object]
) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert op in render(perfc.analyze(applied(op, shapes, elem, attributes)))
