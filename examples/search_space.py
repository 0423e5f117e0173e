"""A space of small convolutional networks, for `perfc search`.

    perfc search examples/search_space.py -t t4 --slo 200us --trials 60

`build` draws a network from a trial of Optuna, and returns it with a score to maximize. Here the
score is the number of parameters in thousands; a real one would be an accuracy from a table, a
predictor or a short training. The network has weights without contents, so it is built quickly.
"""

from __future__ import annotations

from typing import Any

import onnx
from onnx import TensorProto, helper


class Network:
    """Nodes and weights of a network, and its number of parameters."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []
        self.parameters = 0

    def weight(self, *shape: int) -> str:
        """Add a weight without contents, and return its name."""
        name, count = f"w{len(self.weights)}", 1
        for extent in shape:
            count *= extent
        weight = TensorProto(name=name, dims=shape, data_type=TensorProto.FLOAT)
        weight.data_location = TensorProto.EXTERNAL
        weight.external_data.add(key="location", value="weights.bin")
        self.weights.append(weight)
        self.parameters += count
        return name

    def add(self, operator: str, *inputs: str, **attributes: Any) -> str:
        """Add a node, and return the name of its result."""
        result = f"v{len(self.nodes)}"
        self.nodes.append(helper.make_node(operator, inputs, [result], **attributes))
        return result

    def conv(self, x: str, channels: int, filters: int, kernel: int, stride: int = 1) -> str:
        """Add a convolution and its activation."""
        weight = self.weight(filters, channels, kernel, kernel)
        pads, strides = [kernel // 2] * 4, [stride, stride]
        return self.add("Relu", self.add("Conv", x, weight, pads=pads, strides=strides))


def build(trial: Any) -> tuple[onnx.ModelProto, float]:
    """Return a network of a trial, and its number of parameters in thousands."""
    net, x, channels = Network(), "x", 3
    for stage in range(3):
        filters = trial.suggest_categorical(f"filters{stage}", (16, 32, 64, 128))
        kernel = trial.suggest_categorical(f"kernel{stage}", (1, 3, 5))
        for i in range(trial.suggest_int(f"layers{stage}", 1, 4)):
            x = net.conv(x, channels, filters, kernel, stride=1 if i else 2)
            channels = filters
    x = net.add("Flatten", net.add("GlobalAveragePool", x))
    y = net.add("MatMul", x, net.weight(channels, 10))
    graph = helper.make_graph(
        net.nodes,
        "network",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 3, 64, 64])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, ["batch", 10])],
        net.weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return model, net.parameters / 1e3
