"""Channels in blocks, as ONNX Runtime writes CNNs for its CPU: against what it computes itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import perfc
from perfc.errors import ModelError, ShapeError
from perfc.ir.op import Kind
from perfc.ir.symbolic.dim import interval
from perfc.ir.tensors.types import TensorType

ort: Any = pytest.importorskip("onnxruntime")
DOMAIN = "com.microsoft.nchwc"
LEVELS = ("ORT_ENABLE_BASIC", "ORT_ENABLE_EXTENDED", "ORT_ENABLE_LAYOUT", "ORT_ENABLE_ALL")


class Network:
    """Collects nodes and weights of a model."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        self.random = np.random.default_rng(0)
        self.shape = shape
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.weights)}"
        values = self.random.standard_normal(shape).astype(np.float32) * 0.1
        self.weights.append(numpy_helper.from_array(values, name))
        return name

    def node(self, op: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        name = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(op, inputs, [name], domain=domain, **attributes))
        return name

    def model(self, *outputs: str) -> onnx.ModelProto:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, self.shape)
        results = [onnx.ValueInfoProto(name=name) for name in outputs]
        graph = helper.make_graph(self.nodes, "g", [x], results, self.weights)
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def cnn() -> onnx.ModelProto:
    """Every operator that the layout has, on channels that fill blocks and that do not."""
    net = Network((2, 3, 24, 24))
    x = net.node("Conv", "x", net.weight(32, 3, 3, 3), net.weight(32), pads=[1, 1, 1, 1])
    x = net.node("MaxPool", net.node("Relu", x), kernel_shape=[2, 2], strides=[2, 2])
    left = net.node("Conv", x, net.weight(32, 32, 3, 3), net.weight(32), pads=[1, 1, 1, 1])
    right = net.node("Conv", x, net.weight(32, 32, 1, 1))
    x = net.node("Relu", net.node("Add", left, right))
    x = net.node("Conv", x, net.weight(32, 1, 3, 3), group=32, pads=[1, 1, 1, 1])
    x = net.node("HardSigmoid", x)
    x = net.node("AveragePool", x, kernel_shape=[3, 3], strides=[2, 2], pads=[0, 0, 1, 1])
    scales = numpy_helper.from_array(np.array([1, 1, 2, 2], np.float32), "scales")
    net.weights.append(scales)
    nearest = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    x = net.node("Resize", x, "", "scales", mode="nearest", **nearest)
    x = net.node("Conv", x, net.weight(20, 32, 3, 3), net.weight(20))
    x = net.node("LeakyRelu", x)
    x = net.node("Conv", x, net.weight(64, 20, 3, 3), pads=[1, 1, 1, 1])
    mean, largest = net.node("GlobalAveragePool", x), net.node("GlobalMaxPool", x)
    both = net.node("Concat", mean, largest, axis=1)
    y = net.node("Conv", both, net.weight(10, 128, 1, 1))
    return net.model(y, net.node("Transpose", x, perm=[0, 2, 3, 1]))


def optimized(model: onnx.ModelProto, level: str, folder: Path) -> onnx.ModelProto:
    """Return the model that ONNX Runtime writes for its CPU at an optimization level."""
    options = ort.SessionOptions()
    options.graph_optimization_level = getattr(ort.GraphOptimizationLevel, level)
    options.optimized_model_filepath = str(folder / "optimized.onnx")
    options.log_severity_level = 4
    ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    return onnx.load(folder / "optimized.onnx")


def executed(model: onnx.ModelProto) -> dict[str, tuple[int, ...]]:
    """Shapes of all values of a model, by running it as it is."""
    every = onnx.ModelProto()
    every.CopyFrom(model)
    del every.graph.output[:]
    names = [o for n in model.graph.node for o in n.output if o]
    every.graph.output.extend(onnx.ValueInfoProto(name=name) for name in names)
    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    session = ort.InferenceSession(
        every.SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    (given,) = model.graph.input
    shape = [d.dim_value for d in given.type.tensor_type.shape.dim]
    results = session.run(None, {given.name: np.ones(shape, np.float32)})
    return {name: r.shape for name, r in zip(names, results, strict=True)}


def assert_inferred(model: onnx.ModelProto) -> None:
    """Every value has the shape it has when run, or limits around it."""
    types = perfc.infer_shapes(model)
    for name, truth in executed(model).items():
        found = types[name]
        assert isinstance(found, TensorType)
        assert found.shape is not None
        assert len(found.shape) == len(truth)
        for d, n in zip(found.shape, truth, strict=True):
            low, high = interval(d)
            assert (low or 0) <= n <= (n if high is None else high), (name, str(found), truth)


@pytest.mark.parametrize("level", LEVELS)
def test_what_onnxruntime_writes_at_every_level_is_known(level: str, tmp_path: Path) -> None:
    if not hasattr(ort.GraphOptimizationLevel, level):
        pytest.skip(f"this onnxruntime has no {level}")
    model = optimized(cnn(), level, tmp_path)
    assert_inferred(model)
    report = perfc.analyze(model)
    assert all(n.op.kind is not Kind.OPAQUE for n in report.source.graph.nodes)
    # filling up blocks adds products, and never takes any away
    assert report.cost.work.mac >= perfc.analyze(cnn()).cost.work.mac
    assert not any(c.traffic.is_bound for c in report.cost.nodes.values())


def test_the_products_of_whole_blocks_are_counted(tmp_path: Path) -> None:
    model = optimized(cnn(), "ORT_ENABLE_ALL", tmp_path)
    convolutions = [n for n in model.graph.node if n.domain == DOMAIN and n.op_type == "Conv"]
    if not convolutions:
        pytest.skip("this processor has no layout of blocks")
    stored = {w.name: tuple(w.dims) for w in model.graph.initializer}
    shapes = executed(model)
    expected = 0
    for node in convolutions:
        n, k, p, q = shapes[node.output[0]]
        _, c, r, s = stored[node.input[1]]
        expected += n * k * p * q * c * r * s
    report = perfc.analyze(model)
    counted = {
        node.results[0].name: cost.work.mac
        for node, cost in report.cost.nodes.items()
        if node.op.mnemonic == "blocked_conv"
    }
    assert sum(counted.values()) == expected
    assert any(tuple(n.input)[3:] for n in convolutions)


@pytest.mark.parametrize("channels", [4, 8, 12, 20, 32, 40])
@pytest.mark.parametrize("last", [0, 1])
def test_blocks_of_either_width_are_within_the_limits(channels: int, last: int) -> None:
    net = Network((1, 6, 6, channels) if last else (1, channels, 6, 6))
    x = net.node("ReorderInput", "x", domain=DOMAIN, channels_last=last)
    x = net.node("MaxPool", x, domain=DOMAIN, kernel_shape=[3, 3], strides=[2, 2])
    x = net.node("Upsample", x, domain=DOMAIN, scales=[1, 1, 2, 3], mode="nearest")
    mean, largest = (net.node(f"Global{p}Pool", x, domain=DOMAIN) for p in ("Average", "Max"))
    back = [
        net.node("ReorderOutput", v, domain=DOMAIN, channels=channels, channels_last=last)
        for v in (x, mean, largest)
    ]
    model = net.model(*back)
    assert_inferred(model)
    types = perfc.infer_shapes(model)
    spatial = (4, 6)
    wanted = (1, *spatial, channels) if last else (1, channels, *spatial)
    assert types[back[0]] == TensorType(types[back[0]].dtype, wanted)  # type: ignore[union-attr]
    least, most = -(-channels // 8) * 8, -(-channels // 16) * 16
    assert interval(types["v0"].shape[1]) == (least, most)  # type: ignore[union-attr,index]


def test_an_activation_that_is_fused_is_counted() -> None:
    net = Network((1, 16, 4, 4))
    w, b = net.weight(16, 16, 3, 3), net.weight(16)
    x = net.node("Conv", "x", w, b, "x", domain=DOMAIN, activation="Relu", pads=[1, 1, 1, 1])
    (cost,) = perfc.analyze(net.model(x)).cost.nodes.values()
    results = 16 * 4 * 4
    assert cost.work.mac == results * 16 * 9
    assert cost.work.alu == results * 3
    assert cost.traffic.read_bytes == 4 * (results + 16 * 16 * 9 + 16)


def test_more_channels_than_the_blocks_hold_are_refused() -> None:
    net = Network((1, 8, 4, 4))
    y = net.node("ReorderOutput", "x", domain=DOMAIN, channels=9)
    with pytest.raises(ShapeError, match="9 channels out of 8"):
        perfc.analyze(net.model(y))
    net = Network((1, 8, 4, 4))
    y = net.node("Upsample", "x", domain=DOMAIN, scales=[1, 1, 0, 2])
    with pytest.raises(ModelError, match="scales holds 0, not at least 1"):
        perfc.analyze(net.model(y))
