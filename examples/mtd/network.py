"""The MTD network: a U-Net from 96 x 128 x 3 grids to two grids of 96 x 128 x 1.

    python examples/mtd/network.py

Writes ``unet.onnx.gz`` beside itself and prints its parameters: 3,525,650 trainable, 3,360 not.
The dissertation gives the inputs, the outputs and these two numbers (figure 3.2, section 3.4.2);
the layers that add up to them are those of the MAELSTROM downscaling U-Net (M. Langguth, Juelich
Supercomputing Centre, `build_unet`, MIT licence): 56 channels, two convolutions in the first
encoder block and in every decoder block, one in the others, ReLU, batch normalisation, 2 x 2
pooling and transposed convolutions, a 1 x 1 convolution for each output.
"""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import onnx
from onnx import NodeProto, TensorProto, helper

PATH = Path(__file__).parent / "unet.onnx.gz"
HEIGHT, WIDTH, CHANNELS = 96, 128, 56
OPSET = 17


@dataclass
class Builder:
    """Nodes and weights of a graph, appended layer by layer; every method returns its output.

    Args:
        training: batch normalisation computes its statistics, and returns the running ones.
    """

    training: bool = False
    nodes: list[NodeProto] = field(default_factory=list[NodeProto])
    weights: dict[str, tuple[int, ...]] = field(default_factory=dict[str, "tuple[int, ...]"])

    def weight(self, name: str, *shape: int) -> str:
        """A stored tensor."""
        self.weights[name] = shape
        return name

    def add(
        self, op: str, inputs: Sequence[str], name: str, outputs: int = 1, **attributes: Any
    ) -> str:
        """A node; its first output has its name."""
        names = [name, *(f"{name}_{i}" for i in range(1, outputs))]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=name, **attributes))
        return name

    def conv(self, x: str, inputs: int, filters: int, size: int, name: str) -> str:
        """A convolution that keeps the grid."""
        w = self.weight(f"{name}.weight", filters, inputs, size, size)
        b = self.weight(f"{name}.bias", filters)
        pad = size // 2
        return self.add("Conv", (x, w, b), name, kernel_shape=[size, size], pads=[pad] * 4)

    def block(self, x: str, inputs: int, filters: int, name: str) -> str:
        """Convolution, batch normalisation, ReLU."""
        y = self.conv(x, inputs, filters, 3, f"{name}.conv")
        operands = [
            y,
            *(self.weight(f"{name}.norm.{w}", filters) for w in ("scale", "bias", "mean", "var")),
        ]
        y = self.add(
            "BatchNormalization",
            operands,
            f"{name}.norm",
            3 if self.training else 1,
            training_mode=int(self.training),
        )
        return self.add("Relu", (y,), f"{name}.relu")

    def up(self, x: str, inputs: int, filters: int, name: str) -> str:
        """A transposed convolution that doubles the grid."""
        w = self.weight(f"{name}.weight", inputs, filters, 2, 2)
        b = self.weight(f"{name}.bias", filters)
        return self.add("ConvTranspose", (x, w, b), name, kernel_shape=[2, 2], strides=[2, 2])


def forward(b: Builder) -> tuple[str, str]:
    """Add the whole network; the names of its two outputs."""
    c = CHANNELS
    x = b.block(b.block("x", 3, c, "encoder1.0"), c, c, "encoder1.1")
    skips = [x]
    for level in (2, 3):
        x = b.add("MaxPool", (x,), f"pool{level - 1}", kernel_shape=[2, 2], strides=[2, 2])
        x = b.block(x, c << (level - 2), c << (level - 1), f"encoder{level}.0")
        skips.append(x)
    x = b.add("MaxPool", (x,), "pool3", kernel_shape=[2, 2], strides=[2, 2])
    x = b.block(x, 4 * c, 8 * c, "bridge")
    for level in (3, 2, 1):
        filters = c << (level - 1)
        x = b.up(x, 2 * filters, filters, f"decoder{level}.up")
        x = b.add("Concat", (x, skips[level - 1]), f"decoder{level}.concat", axis=1)
        x = b.block(x, 2 * filters, filters, f"decoder{level}.0")
        x = b.block(x, filters, filters, f"decoder{level}.1")
    return b.conv(x, c, 1, 1, "output_temp"), b.conv(x, c, 1, 1, "output_z")


def stored(weights: dict[str, tuple[int, ...]]) -> list[TensorProto]:
    """The weights as types: each points to an external file that does not exist."""
    found = []
    for name, shape in weights.items():
        tensor = TensorProto(name=name, data_type=TensorProto.FLOAT, dims=shape)
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value="stripped")
        found.append(tensor)
    return found


def model() -> onnx.ModelProto:
    """The network for inference."""
    b = Builder()
    outputs = forward(b)
    grid: list[str | int | None] = ["batch", 3, HEIGHT, WIDTH]
    graph = helper.make_graph(
        b.nodes,
        "mtd",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, grid)],
        [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in outputs],
        stored(b.weights),
    )
    opset = [helper.make_opsetid("", OPSET)]
    return helper.make_model(graph, opset_imports=opset, producer_name="", ir_version=8)


def parameters(path: Path = PATH) -> tuple[int, int]:
    """Trainable and other parameters, counted on the IR.

    The running mean and variance of batch normalisation are not trained; all else is.
    """
    from perfc.frontend import load
    from perfc.ir.ops.normalization.normalization import BatchNormalization
    from perfc.ir.tensors.types import TensorType

    graph = load(path).graph
    running = {v for n in graph if isinstance(n.op, BatchNormalization) for v in n.inputs[3:5] if v}
    counts = {True: 0, False: 0}
    for v in graph.weights:
        assert isinstance(v.type, TensorType)
        assert isinstance(v.type.numel, int)
        counts[v not in running] += v.type.numel
    return counts[True], counts[False]


def main() -> None:
    """Write the model and print its size."""
    PATH.write_bytes(gzip.compress(model().SerializeToString(), 9, mtime=0))
    trainable, others = parameters()
    print(f"{PATH.name}: {trainable:,} trainable and {others:,} other parameters")


if __name__ == "__main__":
    main()
