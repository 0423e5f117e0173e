"""One training step of the network as a graph: forward, loss, backward, Adam.

Every forward node gets the nodes of its gradient, in reverse; node names begin with ``forward/``,
``backward/`` or ``optimizer/``. Imported by the scripts of this folder.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import onnx
from gradients import DOMAIN
from network import HEIGHT, OPSET, WIDTH, Builder, forward, stored
from onnx import NodeProto, TensorProto, helper

TRAINING = "ai.onnx.preview.training"


class Backward:
    """Walks the forward nodes in reverse and adds what computes their gradients."""

    def __init__(self, b: Builder) -> None:
        self.nodes: list[NodeProto] = []
        self.parts: dict[str, list[str]] = {}
        self.gradients: dict[str, str] = {}
        self.b = b

    def node(
        self,
        op: str,
        inputs: Iterable[str],
        outputs: Iterable[str],
        domain: str = "",
        **attributes: Any,
    ) -> None:
        """A node called after its first result."""
        names = list(outputs)
        name = f"backward/{next(n for n in names if n)}"
        made = helper.make_node(op, list(inputs), names, name, domain=domain, **attributes)
        self.nodes.append(made)

    def give(self, value: str, gradient: str) -> None:
        """``gradient`` is part of the gradient of ``value``."""
        if value in self.b.weights:
            self.gradients[value] = gradient
        else:
            self.parts.setdefault(value, []).append(gradient)

    def of(self, value: str) -> str:
        """The whole gradient of ``value``: its parts added up."""
        parts = self.parts[value]
        while len(parts) > 1:
            a, c, *rest = parts
            total = f"d_{value}_sum{len(rest)}"
            self.node("Add", (a, c), (total,))
            parts = [total, *rest]
        self.parts[value] = parts
        return parts[0]

    def run(self, nodes: list[NodeProto]) -> None:
        """Gradients of all nodes, the last first."""
        rules: dict[str, Callable[[NodeProto, str], None]] = {
            "Conv": self.conv,
            "ConvTranspose": self.conv_transpose,
            "BatchNormalization": self.batch_normalization,
            "Relu": self.relu,
            "MaxPool": self.max_pool,
            "Concat": self.concat,
        }
        for node in reversed(nodes):
            rules[node.op_type](node, self.of(node.output[0]))

    def conv(self, node: NodeProto, dy: str) -> None:
        """Filters: a convolution of input and gradient; input: a transposed convolution."""
        x, w, bias = node.input
        given: dict[str, Any] = {a.name: list(a.ints) for a in node.attribute}
        self.node("ConvWeightGrad", (x, dy), (f"d_{w}",), domain=DOMAIN, **given)
        self.node("ReduceSum", (dy, "channels"), (f"d_{bias}",), keepdims=0)
        self.give(w, f"d_{w}")
        self.give(bias, f"d_{bias}")
        if x != "x":
            self.node("ConvTranspose", (dy, w), (f"dx_{node.output[0]}",), **given)
            self.give(x, f"dx_{node.output[0]}")

    def conv_transpose(self, node: NodeProto, dy: str) -> None:
        """The roles of input and gradient exchanged."""
        x, w, bias = node.input
        given: dict[str, Any] = {a.name: list(a.ints) for a in node.attribute}
        self.node("ConvWeightGrad", (dy, x), (f"d_{w}",), domain=DOMAIN, **given)
        self.node("ReduceSum", (dy, "channels"), (f"d_{bias}",), keepdims=0)
        self.node("Conv", (dy, w), (f"dx_{node.output[0]}",), **given)
        self.give(w, f"d_{w}")
        self.give(bias, f"d_{bias}")
        self.give(x, f"dx_{node.output[0]}")

    def batch_normalization(self, node: NodeProto, dy: str) -> None:
        """Input, scale and bias; the statistics of the batch are the node's own results."""
        x, scale, bias, _, _ = node.input
        results = (f"dx_{node.output[0]}", f"d_{scale}", f"d_{bias}")
        self.node("BatchNormalizationGrad", (dy, x, scale, *node.output[1:3]), results, DOMAIN)
        for value, gradient in zip((x, scale, bias), results, strict=True):
            self.give(value, gradient)

    def relu(self, node: NodeProto, dy: str) -> None:
        """Needs the result."""
        self.node("ReluGrad", (dy, node.output[0]), (f"dx_{node.output[0]}",), DOMAIN)
        self.give(node.input[0], f"dx_{node.output[0]}")

    def max_pool(self, node: NodeProto, dy: str) -> None:
        """Needs input and result."""
        operands = (dy, node.output[0], node.input[0])
        self.node("MaxPoolGrad", operands, (f"dx_{node.output[0]}",), DOMAIN)
        self.give(node.input[0], f"dx_{node.output[0]}")

    def concat(self, node: NodeProto, dy: str) -> None:
        """Its halves."""
        results = [f"dx_{node.output[0]}_{i}" for i in range(2)]
        self.node("Split", (dy,), results, axis=1)
        for value, gradient in zip(node.input, results, strict=True):
            self.give(value, gradient)


def model() -> onnx.ModelProto:
    """The whole step; the batch size is the symbol ``batch``."""
    b = Builder(training=True)
    outputs = forward(b)
    for node in b.nodes:
        node.name = f"forward/{node.name}"
    back = Backward(b)
    losses = []
    for output in outputs:
        back.node("Sub", (output, f"target_{output}"), (f"d_{output}",))
        back.node("Mul", (f"d_{output}", f"d_{output}"), (f"square_{output}",))
        back.node("ReduceMean", (f"square_{output}",), (f"loss_{output}",), keepdims=0)
        back.give(output, f"d_{output}")
        losses.append(f"loss_{output}")
    for node in back.nodes:
        node.name = node.name.replace("backward/", "forward/loss/", 1)
    back.run(b.nodes)
    steps, states, results = adam(back.gradients, b.weights)
    grid: list[str | int | None] = ["batch", 3, HEIGHT, WIDTH]
    targets = [f"target_{o}" for o in outputs]
    one: list[str | int | None] = ["batch", 1, HEIGHT, WIDTH]
    inputs = [("x", grid), *((t, one) for t in targets)]
    graph = helper.make_graph(
        [*b.nodes, *back.nodes, *steps],
        "mtd_training",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n, shape in inputs],
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, None) for n in (*losses, *results)],
        [
            *stored({**b.weights, **states}),
            helper.make_tensor("channels", TensorProto.INT64, [3], [0, 2, 3]),
            helper.make_tensor("rate", TensorProto.FLOAT, [], [1e-3]),
            helper.make_tensor("count", TensorProto.INT64, [], [1]),
        ],
    )
    opsets = [
        helper.make_opsetid("", OPSET),
        helper.make_opsetid(DOMAIN, 1),
        helper.make_opsetid(TRAINING, 1),
    ]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def adam(
    gradients: dict[str, str], weights: dict[str, tuple[int, ...]]
) -> tuple[list[NodeProto], dict[str, tuple[int, ...]], list[str]]:
    """One Adam node a parameter, its two running means as stored tensors."""
    nodes, states, results = [], {}, []
    for weight, gradient in gradients.items():
        means = [f"{weight}.{s}" for s in ("first", "second")]
        states.update(dict.fromkeys(means, weights[weight]))
        out = [f"new_{n}" for n in (weight, *means)]
        operands = ["rate", "count", weight, gradient, *means]
        name = f"optimizer/{weight}"
        nodes.append(helper.make_node("Adam", operands, out, name, domain=TRAINING))
        results += out
    return nodes, states, results
