"""Operators that are run through PyTorch compute what ONNX's own node tests expect."""

from __future__ import annotations

import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.parser import parse_graph

torch = pytest.importorskip("torch")

from perfc.measuring.measure.runtimes.torch_ops import OPERATORS
from perfc.measuring.measure.runtimes.torch_runtime import NodeStep, TorchRun

NOT_RUN = re.compile(
    # types and modes that image and language models do not have
    r"uint(16|32|64)|select_last_index|training|mod_mixed|fmod|pow_types|wrap_pad|noop"
    r"|clip_default_(int8_)?inbounds|isinf_(posi|nega)tive"
    r"|empty_set|scatternd_(add|multiply|max|min)|start_greater_than_end"
    r"|cumsum_.*(exclusive|reverse|int32)|convtranspose_(output_shape|autopad)"
    r"|averagepool.*(dilations|same|pads)"
    r"|resize_(?!upsample_scales_(nearest|linear|linear_align_corners)$|upsample_sizes_nearest$)"
    r"|range_bfloat16|identity_(sequence|opt)"
)


class OnHost:
    """What a step asks of the run that it belongs to."""

    device = "cpu"

    def tensor(self, array: Any) -> Any:
        return torch.from_numpy(np.array(array))


@pytest.fixture(autouse=True, scope="module")
def settings_of_the_process() -> Iterator[None]:
    """A run turns gradients off and sets threads, for the whole of its process."""
    has_gradients, threads = torch.is_grad_enabled(), torch.get_num_threads()
    yield
    torch.set_grad_enabled(has_gradients)
    torch.set_num_threads(threads)


@pytest.fixture(scope="module")
def cases() -> dict[str, list[Any]]:
    """Node tests by the first word of their name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every = load_model_tests(kind="node")
    result: dict[str, list[Any]] = {}
    for case in every:
        nodes = case.model.graph.node
        op = nodes[0].op_type
        if len(nodes) > 1 or op not in OPERATORS or NOT_RUN.search(case.name):
            continue
        if all(np.asarray(x).dtype.kind in "fiub" for x in case.data_sets[0][0]):
            result.setdefault(op, []).append(case)
    return result


@pytest.mark.parametrize("op", sorted(set(OPERATORS) - {"Cast"}))
def test_operators_compute_what_is_expected(op: str, cases: dict[str, list[Any]]) -> None:
    assert op in cases
    for case in cases[op]:
        graph = case.model.graph
        inputs, outputs = case.data_sets[0]
        given = dict(zip((i.name for i in graph.input), inputs, strict=True))
        operands = [OnHost().tensor(given[name]) if name else None for name in graph.node[0].input]
        step = NodeStep.of(graph.node[0], OnHost())  # type: ignore[arg-type]
        for result, expected in zip(step.run(torch, *operands), outputs, strict=False):
            assert tuple(result.shape) == expected.shape, case.name
            assert result.numpy().dtype == expected.dtype, case.name
            np.testing.assert_allclose(result, expected, 1e-3, 1e-5, err_msg=case.name)


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (1, np.float32),
        (2, np.uint8),
        (3, np.int8),
        (5, np.int16),
        (6, np.int32),
        (7, np.int64),
        (9, np.bool_),
        (10, np.float16),
        (11, np.float64),
    ],
)
def test_casts_go_to_the_type_of_that_number(number: int, kind: type) -> None:
    node = helper.make_node("Cast", ["x"], ["y"], to=number)
    given = np.array([0, 1, 3], np.float32)
    (result,) = NodeStep.of(node, OnHost()).run(torch, torch.from_numpy(given))  # type: ignore[arg-type]
    np.testing.assert_array_equal(result.numpy(), given.astype(kind), strict=True)


@pytest.fixture
def request_of(tmp_path: Path) -> dict[str, Any]:
    """Relu(x + w), then twice that; the sum is needed no more after the second node."""
    graph = parse_graph(
        "g (float[2, 20] x) => (float[2, 20] y, float[2, 20] z) <float[20] w> {\n"
        "s = Add(x, w)\n y = Relu(s)\n z = Add(y, y)\n}"
    )
    weight = np.linspace(-1, 1, 20, dtype=np.float32)
    graph.initializer.append(numpy_helper.from_array(weight, "w"))
    for name, node in zip("abc", graph.node, strict=True):
        node.name = name
    onnx.save(helper.make_model(graph), tmp_path / "m.onnx")
    np.savez(tmp_path / "feeds.npz", i0=np.ones((2, 20), np.float32))
    return {
        "model": str(tmp_path / "m.onnx"),
        "device": "cpu",
        "threads": 1,
        "folder": str(tmp_path),
        "inputs": [("x", 1, True)],
    }


def test_a_graph_runs_node_by_node(request_of: dict[str, Any], tmp_path: Path) -> None:
    run = TorchRun(request_of)
    run.load(profile=False)
    run.feed(str(tmp_path / "feeds.npz"))
    run.step()
    expected = np.maximum(1 + np.linspace(-1, 1, 20, dtype=np.float32), 0)
    np.testing.assert_allclose(run.outputs["y"], np.stack([expected] * 2), rtol=1e-6)
    np.testing.assert_allclose(run.outputs["z"], 2 * np.stack([expected] * 2), rtol=1e-6)
    assert [s.frees for s in run.steps] == [["x"], ["s"], []]
    assert run.is_finite()
    run.outputs["z"] = run.outputs["z"] / 0
    assert not run.is_finite()
    assert run.events == []
    assert run.close() == ""


def test_a_profiled_run_writes_its_kernels_and_the_run(
    request_of: dict[str, Any], tmp_path: Path
) -> None:
    run = TorchRun(request_of)
    run.load(profile=True)
    run.feed(str(tmp_path / "feeds.npz"))
    run.step()
    run.step()
    events = json.loads((tmp_path / run.close()).read_text())
    names = [e["name"] for e in events]
    assert names == [*(f"{n}_kernel_time" for n in "abc"), "model_run"] * 2
    assert [e["args"]["op_name"] for e in events[:3]] == ["Add", "Relu", "Add"]
    assert sum(e["dur"] for e in events[:3]) <= events[3]["dur"]
    assert min(e["dur"] for e in events) > 0


def test_kernels_of_a_device_are_timed_by_the_operators_within_the_range_of_their_node(
    request_of: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torch.autograd.profiler_util import FunctionEvent

    run = TorchRun(request_of)
    run.load(profile=True)
    run.feed(str(tmp_path / "feeds.npz"))
    run.device = "cuda:0"
    monkeypatch.setattr(run, "synchronize", lambda: None)
    device_us = {"aten::add": 3.0, "aten::relu": 2.0, "perfc-node-1": 900.0}
    total = property(lambda e: device_us.get(e.name, 0.0))
    monkeypatch.setattr(FunctionEvent, "device_time_total", total)
    run.step()
    assert [e["dur"] for e in run.events[:3]] == pytest.approx([3.0, 2.0, 3.0])
    assert run.events[3]["dur"] > 0


def test_an_operator_that_is_not_known_is_named(request_of: dict[str, Any], tmp_path: Path) -> None:
    model = onnx.load(request_of["model"])
    model.graph.node[1].op_type = "Celu"
    onnx.save(model, request_of["model"])
    with pytest.raises(RuntimeError, match="operator Celu is not run through torch here"):
        TorchRun(request_of).load(profile=False)
