"""Operators of NeuSight's tables: eager calls in FP32 with TF32 off, launch included.

They become rows of five classes in f32, from ``matmul_f32`` to ``elementwise``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from perfc.analyzers.features.rows import Protocol
from perfc.common.fitted import data_next_to
from perfc.machine import load_machine

from ..data.rows import Rows
from . import TableSource, read_parquet
from .operand_layout import OTHER_LAYOUT, layout

if TYPE_CHECKING:
    import pandas as pd

    from perfc.analyzers.features.classes import Array

ITEM = 4
"""Bytes of an element of f32."""
PUBLISHED_TEST = "published_test"
"""Column that is 1 for rows of NeuSight's test folder, whose shapes are beyond those that it trains
on."""
LAYOUTS: Mapping[str, str] = {"bmm": "nn", "linear": "tn"}
"""Usual layout of the operands of each operator; see `operand_layout.layout`."""
POINTWISE: Mapping[str, list[int]] = data_next_to(__file__)
"""Counts by operator: operands, operands of full size, and simple and special operations per
element, as the IR counts them."""


class NeuSightTable(TableSource):
    """``neusight_ops.parquet``: operator tables of NeuSight, MIT; PyTorch 2.1 (NVIDIA), 2.4 (AMD).

    A time is the mean of the five fastest of 25 calls, each between two events. It includes the
    launch by the host, 24 to 34 µs on the hosts of NVIDIA's GPUs, 12 to 14 µs on that of AMD's.
    """

    name: ClassVar[str] = "neusight"
    files: ClassVar[tuple[str, ...]] = ("neusight_ops.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by operator, device and published folder."""
        frame = read_parquet(folder / self.files[0])
        keys = ["op", "device", "split"]
        for (operator, device, part), block in frame.groupby(keys, observed=True, sort=True):
            class_name, columns = parameters(str(operator), block)
            # one value per row, as a block is of one folder
            columns[PUBLISHED_TEST] = (block["split"] == part).to_numpy(float) * (part == "test")
            # the name of the kernel says which layout it read; no name counts as the usual layout
            if usual := LAYOUTS.get(str(operator)):
                read = block["kernel_name"].astype(str).map(layout)
                columns[OTHER_LAYOUT] = (~read.isin(["", usual])).to_numpy(float)
                if usual == LAYOUTS["linear"]:
                    # the layout that the kernel read, whichever operator the row is filed under
                    columns["transposed"] = (~read.str.startswith("n")).to_numpy(float)
            yield Rows(
                class_name,
                load_machine(str(device)).name,
                "f32",
                Protocol.EAGER,
                "",
                columns,
                block["latency_us"].to_numpy(float) * 1e-6,
            )


def parameters(operator: str, block: pd.DataFrame) -> tuple[str, dict[str, Array]]:
    """Return the class and parameters of an operator's rows."""
    c = {
        name: block[name].to_numpy(float, na_value=0.0)
        for name in (
            *("batch", "m", "n", "k", "rows", "cols"),
            *("in_channels", "out_channels", "kernel_size", "in_hw", "stride", "padding"),
        )
    }
    match operator:
        case "bmm":
            return "matmul_f32", {name: c[name] for name in ("m", "n", "k", "batch")}
        case "linear":
            # one product of the rows of all batches with weights that PyTorch stores as [n, k];
            # m * 0 + 1 is a column of ones
            product = {"m": c["batch"] * c["m"], "n": c["n"], "k": c["k"]}
            return "matmul_f32", {**product, "batch": c["m"] * 0 + 1, "transposed": c["m"] * 0 + 1}
        case "softmax":
            return "softmax", {name: c[name] for name in ("rows", "cols")}
        case "ln":
            return "normalization", {name: c[name] for name in ("rows", "cols")}
        case "conv":
            return "convolution", convolution(c)
        case _:
            return "elementwise", pointwise(operator, c["rows"] * c["cols"])


def pointwise(operator: str, elements: Array) -> dict[str, Array]:
    """Return the parameters of a pointwise operator, from its number of elements in each row."""
    operands, full_size, alu, sfu = POINTWISE[operator]
    return {
        "elements": elements,
        "read_bytes": ITEM * full_size * elements,
        "write_bytes": ITEM * elements,
        "alu": alu * elements,
        "sfu": sfu * elements,
        # a column of one number
        "operands": elements * 0 + operands,
        "tensor_operands": elements * 0 + full_size,
    }


def convolution(c: Mapping[str, Array]) -> dict[str, Array]:
    """Return the extents of a square convolution."""
    size, stride = c["in_hw"], c["stride"]
    out = (size + 2 * c["padding"] - c["kernel_size"]) // stride + 1
    return {
        "batch": c["batch"],
        "in_channels": c["in_channels"],
        "out_channels": c["out_channels"],
        "in_h": size,
        "in_w": size,
        "out_h": out,
        "out_w": out,
        "kernel_h": c["kernel_size"],
        "kernel_w": c["kernel_size"],
        "stride_h": stride,
        "stride_w": stride,
        "pad_h": c["padding"],
        "pad_w": c["padding"],
    }
