"""Copies of views are those that eager PyTorch makes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from perfc.passes.runtimes import Tf32
from perfc_lab.training.runs.end_to_end import Plan

GPT2 = Path(__file__).resolve().parents[3] / "examples" / "models" / "gpt2.onnx.gz"
TOKENS, HEADS, WIDTH = 8, 4, 16


def copies(path: Path, runtime: str) -> list[float]:
    plan = Plan.of(path, "v100-pcie-32gb", {}, runtime, tf32=Tf32.NONE)
    return [row.parameters["read_bytes"] for row in plan.copies()]


def test_heads_of_an_attention_that_is_not_fused_are_copied() -> None:
    found = copies(GPT2, "eager-literal")
    assert len(found) == 12 * 4, "queries, keys, values and the result of twelve layers"
    assert set(found) == {4.0 * 128 * 768}


@pytest.mark.parametrize("runtime", ["cudagraph", "inductor"])
def test_a_recorded_graph_is_not_asked(runtime: str) -> None:
    assert not copies(GPT2, runtime)


def attention(path: Path, batch: int) -> None:
    """Scores of heads that are permuted views, and what they weigh, back in one row."""
    shape = {"heads": (batch, TOKENS, HEADS, WIDTH), "flat": (batch, TOKENS, HEADS * WIDTH)}
    nodes = [
        helper.make_node("Reshape", ["x", "heads"], ["h"]),
        helper.make_node("Transpose", ["h"], ["q"], perm=(0, 2, 1, 3)),
        helper.make_node("Transpose", ["h"], ["k"], perm=(0, 2, 3, 1)),
        helper.make_node("MatMul", ["q", "k"], ["scores"]),
        helper.make_node("Transpose", ["h"], ["v"], perm=(0, 2, 1, 3)),
        helper.make_node("MatMul", ["scores", "v"], ["weighed"]),
        helper.make_node("Transpose", ["weighed"], ["t"], perm=(0, 2, 1, 3)),
        helper.make_node("Reshape", ["t", "flat"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape["flat"]) for n in "xy"]
    stored = [numpy_helper.from_array(np.array(v, np.int64), n) for n, v in shape.items()]
    graph = helper.make_graph(nodes, "attention", ends[:1], ends[1:], stored)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.checker.check_model(model, full_check=True)
    onnx.save(model, path)


@pytest.mark.parametrize(("batch", "count"), [(1, 1), (2, 4)])
def test_as_many_as_pytorch_dispatches(tmp_path: Path, batch: int, count: int) -> None:
    torch = pytest.importorskip("torch")
    modes = pytest.importorskip("torch.utils._python_dispatch")
    made: list[str] = []

    class Watch(modes.TorchDispatchMode):  # type: ignore[name-defined,misc]
        def __torch_dispatch__(self, func: Any, _: Any, args: Any = (), kwargs: Any = None) -> Any:
            if func.overloadpacket.__name__ in ("clone", "copy_", "contiguous"):
                made.append(str(func))
            return func(*args, **(kwargs or {}))

    path = tmp_path / "attention.onnx"
    attention(path, batch)
    with Watch():
        h = torch.zeros(batch, TOKENS, HEADS * WIDTH).reshape(batch, TOKENS, HEADS, WIDTH)
        weighed = (h.permute(0, 2, 1, 3) @ h.permute(0, 2, 3, 1)) @ h.permute(0, 2, 1, 3)
        weighed.permute(0, 2, 1, 3).reshape(batch, TOKENS, HEADS * WIDTH)
    assert len(copies(path, "eager-literal")) == len(made) == count
