"""Kernels of PyTorch in f16, timed alone, against what whole steps taught of them.

    python benchmarks/step_kernels.py DATA

Rows are linear layers and activations of LLMServingSim and Vidur, whose profilers sum up kernel
time; steps were learned from none of them. Prints for each machine the error, how many kernels the
90 % intervals hold, and the root mean square error of the logarithm, every layer counting the same:
that on RTX 3090 is `KERNEL_ERROR` of `perfc.analyzers.steps.kernels`. DATA is the folder that
`perfc data fetch` fills.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd

import perfc
from perfc.analyzers.steps.kernels import kernel_times

ROWS = 150
HIDDEN, INNER, KV = 4096, 14336, 1024
"""Widths of Llama 3.1 8B."""
LINEAR = {
    "q_proj": (HIDDEN, -HIDDEN), "k_proj": (HIDDEN, -KV), "v_proj": (HIDDEN, -KV),
    "o_proj": (-HIDDEN, HIDDEN), "gate_proj": (HIDDEN, -INNER), "up_proj": (HIDDEN, -INNER),
    "down_proj": (-INNER, HIDDEN), "qkv_proj": (HIDDEN, -HIDDEN - 2 * KV),
    "gate_up_proj": (HIDDEN, -2 * INNER),
}  # fmt: skip
"""Depth and width of layers; negative ones are split among the GPUs of a model."""
SERVING = {
    "RTX3090": "rtx3090", "RTX4090": "rtx4090", "RTXPRO6000": "rtx-pro-6000-max-q",
    "A6000": "rtx-a6000", "H100": "h100-sxm5-80gb",
}  # fmt: skip
VIDUR = {"a100": "a100-sxm4-80gb", "a40": "a40", "h100": "h100-sxm5-80gb"}


class Row(NamedTuple):
    """One kernel: a product where ``k`` is positive, else x·sigmoid(x) over rows of ``n``."""

    source: str
    target: str
    layer: str
    m: int
    n: int
    k: int
    time_s: float


def serving(data: Path) -> Iterator[Row]:
    """Layers of Llama 3.1 8B."""
    table = pd.read_parquet(data / "llmservingsim_layers.parquet")
    table = table[(table.model == "meta-llama/Llama-3.1-8B") & (table.x_name == "tokens")]
    old = table.profiler == "v0_torch_profiler"
    table = table[table.layer.isin(LINEAR) | (old & (table.layer == "act_fn"))]
    for _, own in table.groupby(["profiler", "device", "layer"], observed=True):
        for r in own.sample(min(ROWS, len(own)), random_state=0).itertuples():
            k, n = LINEAR.get(r.layer, (0, -INNER))
            k, n = (-d // r.tensor_parallel if d < 0 else d for d in (k, n))
            yield Row(r.profiler, SERVING[r.device], r.layer, r.x, n, k, r.latency_us * 1e-6)


def vidur(data: Path) -> Iterator[Row]:
    """Linear layers of eight models."""
    table = pd.read_parquet(data / "vidur_mlp.parquet")
    for _, own in table[table.gemm_m.notna()].groupby(["device", "op"], observed=True):
        for r in own.sample(min(ROWS, len(own)), random_state=0).itertuples():
            yield Row(
                "vidur", VIDUR[r.device], r.op, int(r.gemm_m), int(r.gemm_n), int(r.gemm_k),
                r.latency_median_us * 1e-6,
            )  # fmt: skip


def model(row: Row, folder: Path) -> Path:
    """The kernel as a model of its own."""
    path = folder / f"{row.n}-{row.k}.onnxtxt"
    y = f"float16[T, {row.n}] y"
    if row.k:
        ins, body = f"float16[T, {row.k}] x, float16[{row.k}, {row.n}] w", "y = MatMul(x, w)"
    else:
        ins, body = f"float16[T, {row.n}] x", "s = Sigmoid(x) y = Mul(x, s)"
    head = '<ir_version: 8, opset_import: ["" : 18]>'
    path.write_text(f"{head}\nkernel ({ins}) => ({y}) {{ {body} }}\n", encoding="utf-8")
    return path


def predicted(row: Row, folder: Path) -> dict[str, object]:
    """What steps say, next to what was measured."""
    report = perfc.analyze(model(row, folder), row.target, dims={"T": row.m}, runtime="eager")
    found = kernel_times(report.roofline, report.kernels, report.module, [0])[0]
    return row._asdict() | {
        "bias": np.log(row.time_s / found.time_s),
        "held": found.low_s <= row.time_s <= found.high_s,
        "floor_holds": report.roofline.kernels[0].floor_s <= row.time_s,
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    data: Path = parser.parse_args().data
    with tempfile.TemporaryDirectory() as folder:
        rows = [predicted(r, Path(folder)) for r in (*serving(data), *vidur(data))]
    print("| machine | rows of | kernels | MAPE | bias | rms of log | in 90 % | floor holds |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |")
    for (target, source), own in pd.DataFrame(rows).groupby(["target", "source"]):
        bias = own.bias.astype(float)
        rms = np.sqrt((bias**2).groupby(own.layer).mean().mean())
        print(
            f"| {target} | {source} | {len(own):,} | {np.abs(np.exp(-bias) - 1).mean():.1%}"
            f" | {np.exp(bias.median()) - 1:+.1%} | {rms:.3f} | {own.held.mean():.1%}"
            f" | {own.floor_holds.mean():.2%} |"
        )


if __name__ == "__main__":
    main()
