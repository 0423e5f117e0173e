"""Overlapping windows are views where a framework has strides, lookups elsewhere."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import TensorProto, helper, numpy_helper

from perfc.api import typed
from perfc.ir.graph import Module
from perfc.passes.fusion.fuse import Fuse
from perfc.passes.inference.strides import Strides
from perfc.passes.manager import Analyses
from perfc.passes.rewriting.canonicalize import Canonicalize

WINDOWS = np.arange(3)[:, None] * 3 + np.arange(6)[None, :]


def looked_up(index: np.ndarray, axis: int = 2) -> Module:
    """``relu(reshape(gather(x, index)))`` of ``x[4, 12, 12]``."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4, 12, 12])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    table = numpy_helper.from_array(index.astype(np.int64), "index")
    flat = numpy_helper.from_array(np.array([4, -1], np.int64), "flat")
    nodes = [
        helper.make_node("Gather", ["x", "index"], ["g"], axis=axis),
        helper.make_node("Reshape", ["g", "flat"], ["r"]),
        helper.make_node("Relu", ["r"], ["y"]),
    ]
    graph = helper.make_graph(nodes, "g", [x], [y], [table, flat])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
    am = Analyses()
    return am.apply(Canonicalize(), typed(model, am=am))


def kernels(module: Module, runtime: str) -> list[str]:
    """What each kernel is named after."""
    return [k.anchor.op.mnemonic for k in Analyses().get(Fuse(runtime), module).kernels]


@pytest.mark.parametrize("runtime", ["eager", "inductor", "cudagraph"])
def test_windows_launch_nothing_and_the_reshape_after_them_copies(runtime: str) -> None:
    module = looked_up(WINDOWS)
    assert kernels(module, runtime) == ["relu"]
    found = Analyses().get(Strides(runtime), module)
    gather = module.graph.nodes[0].results[0]
    array = np.lib.stride_tricks.sliding_window_view(np.empty((4, 12, 12), np.int8), 6, 2)
    assert found.of(gather) == array[:, :, ::3].strides
    assert len(found.copies) == 1


def test_runtimes_without_strides_look_up() -> None:
    assert "gather" in kernels(looked_up(WINDOWS), "ort")


def test_other_lookups_are_kernels() -> None:
    shuffled = WINDOWS.copy()
    shuffled[1, 2] = 0
    assert "gather" in kernels(looked_up(shuffled), "eager")
    assert "gather" in kernels(looked_up(np.arange(12)[None, :], 0), "eager"), "rows of a table"
    assert "gather" in kernels(looked_up(np.arange(6)), "eager"), "no window of two axes"
    assert kernels(looked_up(np.arange(6)[None, :]), "eager") == ["relu"], "a single window"
