"""Search small convolutional networks for the Pareto front of latency and a score, with Optuna.

    pip install perfc 'optuna>=5,<6' && python examples/search.py

`build` draws a network from a trial. `estimated` returns what Optuna minimizes, the latency as
`perfc.analyze` predicts it, and what it maximizes: here the number of parameters, in practice an
accuracy from a table, a predictor or a short training. Candidates slower than the limit stay
off the front. Weights have no contents, so that a network is built quickly.
"""

from __future__ import annotations

from typing import Any

import onnx
import optuna
from onnx import TensorProto, helper

import perfc

TARGET = "t4"
LIMIT_S = 200e-6
TRIALS = 60


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


def build(trial: optuna.Trial) -> tuple[onnx.ModelProto, int]:
    """Return a network of a trial, and its number of parameters."""
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
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 64, 64])],
        [helper.make_tensor_value_info(y, TensorProto.FLOAT, [1, 10])],
        net.weights,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=9)
    return model, net.parameters


def estimated(trial: optuna.Trial) -> tuple[float, int]:
    """Return the latency and the parameters of a candidate."""
    model, parameters = build(trial)
    time_s = perfc.analyze(model, TARGET).prediction.total.time_s
    trial.set_constraint("latency", time_s / LIMIT_S - 1)  # up to 0 within the limit
    return time_s, parameters


def main() -> None:
    """Print the Pareto front, fastest first."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    sampler = optuna.samplers.NSGAIISampler(seed=0)
    study = optuna.create_study(directions=["minimize", "maximize"], sampler=sampler)
    study.optimize(estimated, n_trials=TRIALS)
    for trial in sorted(study.best_trials, key=lambda trial: trial.values[0]):
        time_s, parameters = trial.values
        layers = [trial.params[f"layers{stage}"] for stage in range(3)]
        print(f"{time_s * 1e6:6.1f} us  {parameters / 1e3:6.0f} thousand parameters  {layers}")


if __name__ == "__main__":
    main()
