"""Level 1, operators: the Conv2D sweep of figures 3.5 and 3.6 on V100 and A100.

    python examples/mtd/operators.py [--svg FOLDER]

The base is the MTD network's operation with the most arithmetic: a 128 x 96 grid of 112 channels,
batch 32, 56 filters of 3 x 3, stride 3, no padding. One factor changes at a time: batch 16, 32, 64;
stride 2 to 5; kernel 3, 5, 7; filters 56, 112, 224; single and half precision; forward, and
backward as two more convolutions. Prints the hierarchical roofline of each, then what the
dissertation concluded from its figures beside what counts and ceilings alone say. The figures
print no numbers. ``--svg`` draws them, a chart a factor.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import onnx
import tables
import thesis
from onnx import TensorProto, helper

import perfc
from perfc.errors import MissingExtraError
from perfc.machine import load_machine
from perfc.passes.roofline.roofline import KernelBound
from perfc.view.vegalite import converter

HEIGHT, WIDTH, CHANNELS = 128, 96, 112
PRECISIONS = {"single": TensorProto.FLOAT, "half": TensorProto.FLOAT16}


@dataclass(frozen=True)
class Case:
    """One configuration; the defaults are the base."""

    batch: int = 32
    stride: int = 3
    kernel: int = 3
    filters: int = 56

    def __str__(self) -> str:
        return f"b{self.batch} s{self.stride} k{self.kernel} f{self.filters}"


BASE = Case()
SWEEP = {
    "batch": [replace(BASE, batch=b) for b in (16, 32, 64)],
    "stride": [replace(BASE, stride=s) for s in (2, 3, 4, 5)],
    "kernel": [replace(BASE, kernel=k) for k in (3, 5, 7)],
    "filters": [replace(BASE, filters=f) for f in (56, 112, 224)],
}


def model(c: Case, direction: str, precision: str) -> onnx.ModelProto:
    """The convolution, or the two of its backward pass.

    Backward: the input's gradient is a transposed convolution with the same filters; the filters'
    gradient a convolution of the input, batch and channels exchanged, with the result's gradient as
    filters and the stride as dilation. Rows that no window reaches are not read.
    """
    p, q = ((extent - c.kernel) // c.stride + 1 for extent in (HEIGHT, WIDTH))
    h, w = ((extent - 1) * c.stride + c.kernel for extent in (p, q))
    dilated: dict[str, Any] = {"dilations": [c.stride] * 2}
    window: dict[str, Any] = {"kernel_shape": [c.kernel] * 2, "strides": [c.stride] * 2}
    filters = [c.filters, CHANNELS, c.kernel, c.kernel]
    if direction == "forward":
        operands = {"x": [c.batch, CHANNELS, HEIGHT, WIDTH], "w": filters}
        nodes = [helper.make_node("Conv", ["x", "w"], ["y"], "forward", **window)]
    else:
        gradient = [c.batch, c.filters, p, q]
        operands = {
            "dy": gradient,
            "w": filters,
            "xt": [CHANNELS, c.batch, h, w],
            "dyt": [c.filters, c.batch, p, q],
        }
        nodes = [
            helper.make_node("ConvTranspose", ["dy", "w"], ["dx"], "input gradient", **window),
            helper.make_node("Conv", ["xt", "dyt"], ["dw"], "filter gradient", **dilated),
        ]
    dtype = PRECISIONS[precision]
    inputs = [helper.make_tensor_value_info(n, dtype, s) for n, s in operands.items()]
    results = [n.output[0] for n in nodes]
    outputs = [helper.make_tensor_value_info(n, dtype, None) for n in results]
    graph = helper.make_graph(nodes, "conv2d", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)


@dataclass(frozen=True)
class Result:
    """One configuration on one GPU, both kernels of a backward pass together."""

    kernels: tuple[KernelBound, ...]

    @property
    def flop(self) -> float:
        """Two a multiply-accumulate."""
        return sum(k.counts.flop for k in self.kernels)

    @property
    def time_s(self) -> float:
        """Sustained."""
        return sum(k.sustained_s for k in self.kernels)

    @property
    def floor_s(self) -> float:
        """At best."""
        return sum(k.floor_s for k in self.kernels)

    @property
    def flop_per_s(self) -> float:
        """Sustained rate."""
        return self.flop / self.time_s

    @property
    def cached(self) -> float:
        """Flop a byte that passes L1 and L2."""
        return self.flop / sum(k.counts.nbytes for k in self.kernels)

    @property
    def device(self) -> float:
        """Flop a byte of device memory."""
        moved = sum(k.device_bytes for k in self.kernels)
        return self.flop / moved if moved else float("inf")

    @property
    def bound(self) -> str:
        """What binds the longest kernel."""
        longest = max(self.kernels, key=lambda k: k.sustained_s)
        return max(longest.sustained, key=longest.sustained.__getitem__).value


@cache
def result(gpu: str, c: Case, direction: str, precision: str) -> Result:
    """Analyze one configuration."""
    found = perfc.analyze(
        model(c, direction, precision), thesis.TARGETS[gpu], runtime="eager", layout=thesis.LAYOUT
    )
    return Result(found.roofline.kernels)


def rows(gpu: str, direction: str) -> Iterator[tuple[object, ...]]:
    """The table of one figure."""
    for precision in PRECISIONS:
        for factor, cases in SWEEP.items():
            for c in cases:
                if c == BASE and factor != "batch":
                    continue
                r = result(gpu, c, direction, precision)
                yield (
                    f"{precision} {c}",
                    f"{r.flop / 1e9:.2f}",
                    f"{r.cached:.1f}",
                    f"{r.device:.1f}",
                    f"{1e6 * r.floor_s:.0f}",
                    f"{1e6 * r.time_s:.0f}",
                    f"{r.flop_per_s / 1e12:.1f}",
                    r.bound,
                )


def rates(gpu: str, direction: str, precision: str, factor: str) -> list[float]:
    """Tflop/s along one factor; from single to half where it is the precision."""
    if factor == "precision":
        return [result(gpu, BASE, direction, p).flop_per_s / 1e12 for p in PRECISIONS]
    return [result(gpu, c, direction, precision).flop_per_s / 1e12 for c in SWEEP[factor]]


def draw(folder: Path) -> None:
    """Rooflines as SVG: one a GPU, a direction and a factor, marks named by their cases."""
    from perfc.passes.roofline.roofline import RooflineTable
    from perfc.view.chart import chart, marks_of, roofs_of
    from perfc.view.chart.drawing import svg

    folder.mkdir(parents=True, exist_ok=True)
    for gpu, name in thesis.TARGETS.items():
        machine = load_machine(name)
        for direction in ("forward", "backward"):
            for factor, cases in SWEEP.items():
                kernels = [
                    k
                    for precision in PRECISIONS
                    for c in cases
                    for k in result(gpu, c, direction, precision).kernels
                ]
                found = marks_of(RooflineTable(machine, tuple(kernels), 0.0))
                title = f"MTD Conv2D by {factor}, {direction} pass, {gpu}"
                path = folder / f"conv2d-{gpu.lower()}-{direction}-{factor}.svg"
                drawn = svg(chart(title, roofs_of(machine), found.marks))
                path.write_text(drawn, encoding="utf-8")
                print(f"written: {path}")


def main() -> None:
    """Print the sweep and the conclusions."""
    folder = Path(sys.argv[2]) if len(sys.argv) == 3 and sys.argv[1] == "--svg" else None
    if folder is not None:
        try:
            # said before the sweep, not after
            converter("SVG")
        except MissingExtraError as error:
            sys.exit(f"error: {error}")
    header = ["precision, case", "Gflop", "L1=L2", "device", "floor us", "us", "Tflop/s", "bound"]
    for gpu in thesis.TARGETS:
        for direction in ("forward", "backward"):
            title = f"{gpu} {direction} pass; L1=L2, device: flop a byte (figures 3.5, 3.6)"
            tables.show(title, header, rows(gpu, direction))
    agreed, every = tables.conclude("ours, Tflop/s in order", rates)
    tables.say(
        f"{agreed} of {every} follow from counts and ceilings alone. The others are choices "
        "of cuDNN (algorithm, tile, split) and its cache misses: a static analysis has L1 and L2 "
        "pass the compulsory bytes, so their points coincide. `perfc trace` reads counters of "
        "each level."
    )
    if folder is not None:
        draw(folder)


if __name__ == "__main__":
    main()
