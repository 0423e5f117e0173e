"""Every contrib operator of the installed ONNX Runtime is known; shapes are as its CPU has them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from perfc.api import infer_shapes
from perfc.ir.ops import operator_for
from perfc.ir.symbolic.dim import same
from perfc.ir.tensors.types import BY_ONNX, TensorType

runtime = pytest.importorskip("onnxruntime")

COMPILED = {"EPContext", "Snpe"}
"""Programs compiled for one device: nothing in the file says what they compute."""
STANDARD = ("", "ai.onnx.ml", "ai.onnx.training", "ai.onnx.preview.training")


def test_every_contrib_operator_is_known() -> None:
    from onnxruntime.capi.onnxruntime_pybind11_state import get_all_operator_schema

    names = {(s.domain, s.name) for s in get_all_operator_schema() if s.domain not in STANDARD}
    unknown = {name for domain, name in names if operator_for(domain, name) is None}
    assert len(names) > 100
    assert unknown <= COMPILED


F, I64, I32 = np.float32, np.int64, np.int32


def ones(dtype: Any, *shape: int) -> np.ndarray:
    return np.ones(shape, dtype)


TABLE = ones(np.uint8, 9, 8)
SCALE, ZERO = np.array(0.1, F), np.array(1, np.uint8)
CASES: list[tuple[str, list[np.ndarray | None], int, dict[str, Any]]] = [
    ("BifurcationDetector", [ones(I64, 6), ones(I64, 4), np.array([0])], 2, {}),
    ("BifurcationDetector", [ones(I64, 6), ones(I64, 4), np.array([0]), ones(I64, 7)], 2, {}),
    ("BranchwiseRMSNorm", [ones(F, 2, 3, 4), ones(F, 3, 4)], 1, {}),
    ("BranchwiseRMSNorm", [ones(F, 2, 12), ones(F, 12)], 1, {"num_branches": 3}),
    ("DynamicTimeWarping", [ones(F, 5, 7)], 1, {}),
    ("DynamicTimeWarping", [ones(F, 1, 5, 7)], 1, {}),
    (
        "EngramGate",
        [
            ones(F, 2, 3, 4, 8),
            ones(F, 2, 3, 4, 8),
            ones(F, 2, 3, 8),
            ones(F, 4, 8),
            ones(F, 4, 8),
            ones(F, 4, 8),
        ],
        2,
        {},
    ),
    ("HyperConnectionPostMix", [ones(F, 2, 3, 8), ones(F, 2, 8), ones(F, 2, 3)], 1, {}),
    ("HyperConnectionPreMix", [ones(F, 2, 3, 8), ones(F, 2, 3)], 1, {}),
    ("HyperConnectionPreMix", [ones(F, 2, 24), ones(F, 2, 3)], 1, {"num_branches": 3}),
    ("MoEGroupRouter", [ones(F, 2, 3, 8), ones(F, 8)], 1, {"top_k": 2}),
    ("MoEGroupRouter", [ones(F, 6, 8), ones(F, 8)], 3, {"top_k": 2}),
    (
        "NGramHashMapping",
        [ones(I64, 2, 5), ones(I64, 3), ones(I64, 8)],
        2,
        {"max_ngram_size": 3, "n_head_per_ngram": 4, "pad_id": 0},
    ),
    (
        "VarlenNGramHashMapping",
        [ones(I64, 5), ones(I64, 3), ones(I64, 8), np.array([0, 2, 5], I32)],
        2,
        {"max_ngram_size": 3, "n_head_per_ngram": 4, "pad_id": 0},
    ),
    ("NGramRepeatBlock", [ones(I64, 2, 5), ones(F, 2, 9)], 1, {"ngram_size": 2}),
    (
        "QEmbedLayerNormalization",
        [
            ones(I32, 2, 4),
            ones(I32, 2, 4),
            TABLE,
            TABLE,
            TABLE,
            TABLE[0],
            TABLE[0],
            ones(I32, 2, 4),
            *[SCALE] * 5,
            *[ZERO] * 5,
        ],
        2,
        {},
    ),
    ("SampleOp", [ones(F, 2, 3)], 1, {}),
    (
        "Tokenizer",
        [np.array([["a b", "c"]], object)],
        1,
        {"mark": 0, "mincharnum": 1, "pad_value": "#", "separators": [" "]},
    ),
]


def model(
    op_type: str, arrays: list[np.ndarray | None], n_outputs: int, attributes: dict[str, Any]
) -> onnx.ModelProto:
    names = ["" if a is None else f"x{i}" for i, a in enumerate(arrays)]
    inputs = [
        helper.make_tensor_value_info(n, helper.np_dtype_to_tensor_dtype(a.dtype), a.shape)
        for n, a in zip(names, arrays, strict=True)
        if a is not None
    ]
    outputs = [f"y{i}" for i in range(n_outputs)]
    if op_type == "MoEGroupRouter" and n_outputs == 3:
        outputs[0] = ""
    node = helper.make_node(op_type, names, outputs, domain="com.microsoft", **attributes)
    results = [onnx.ValueInfoProto(name=name) for name in outputs if name]
    graph = helper.make_graph([node], "g", inputs, results)
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


@pytest.mark.parametrize(("op_type", "arrays", "n_outputs", "attributes"), CASES)
def test_types_cover_what_onnx_runtime_executes(
    op_type: str,
    arrays: list[np.ndarray | None],
    n_outputs: int,
    attributes: dict[str, Any],
) -> None:
    made = model(op_type, arrays, n_outputs, attributes)
    session = runtime.InferenceSession(made.SerializeToString())
    feeds = {f"x{i}": a for i, a in enumerate(arrays) if a is not None}
    types = infer_shapes(made)
    names = [output.name for output in session.get_outputs()]
    for name, array in zip(names, session.run(None, feeds), strict=True):
        found = types[name]
        assert isinstance(found, TensorType)
        assert found.shape is not None
        assert len(found.shape) == array.ndim
        assert found.dtype is BY_ONNX[helper.np_dtype_to_tensor_dtype(array.dtype)]
        for extent, actual in zip(found.shape, array.shape, strict=True):
            assert same(extent, actual) is not False
