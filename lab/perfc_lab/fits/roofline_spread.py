"""Fit the spread of measured time over the sustained roofline, by machine and kind of kernel.

    python -m perfc_lab.fits.roofline_spread DATA datasets/cpu-epyc-2c/kernels.csv.gz

Writes `analyzers/estimators/roofline.toml`. Short kernels, whose time is mostly their launch, are
left out: eager calls under 100 µs, and kernels of recorded graphs and of processors under 20 µs.
Every device counts equally. DATA is the folder that `perfc data fetch` fills.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import pandas as pd

from perfc.analyzers.estimators import roofline
from perfc.errors import TargetError
from perfc.machine import Machine, Unit, load_machine

OUT = Path(roofline.__file__).with_suffix(".toml")
QUANTILES = (0.05, 0.5, 0.95)
"""Ends and middle of a 90 % interval."""
EAGER_S, GRAPH_S = 100e-6, 20e-6
"""Minimum times of rows that are read, eager and in graphs: launches are short against them."""
# kinds of kernels by NeuSight's operators; others are elementwise
FROM_OPS = {
    "ln": "normalization",
    "softmax": "softmax",
    "conv": "conv",
    "linear": "matmul",
    "bmm": "matmul",
}
HEAD = 'schema = 1\ntitle = "measured over sustained roofline: 5, 50, 95 % of kernels"\n'


def roofline_s(machine: Machine, dtype: str, mac: pd.Series, nbytes: pd.Series) -> pd.Series:
    """Return the longer of memory and matrix time at sustained rates, in seconds."""
    device = machine.level("device")
    assert device is not None
    # rows of f32 were computed in f32 itself; other types have rates that the flag does not change
    peak = machine.entry(Unit.MATRIX, dtype, allow_tf32=dtype != "f32")
    bandwidth = (device.sustained or device.nominal).value
    # a multiply-accumulate is two operations
    return np.maximum(nbytes / bandwidth, 2 * mac / (peak.sustained or peak.nominal).value)


def with_ratios(rows: pd.DataFrame, dtype: str) -> pd.DataFrame:
    """Return device, kind and measured over roofline time of rows on machines with a target."""
    blocks = []
    for name, block in rows.groupby("device", observed=True):
        try:
            machine = load_machine(str(name))
        except TargetError:
            continue
        ratio = block.time_s / roofline_s(machine, dtype, block.mac, block.nbytes)
        blocks.append(pd.DataFrame({"device": str(name), "kind": block.kind, "ratio": ratio}))
    return pd.concat(blocks)


def eager(data: Path) -> pd.DataFrame:
    """Return ratios of NeuSight's eager calls of one operator in f32."""
    rows = pd.read_parquet(data / "neusight_ops.parquet")
    rows = rows.assign(
        time_s=rows.latency_us * 1e-6,
        mac=np.where(rows.op.isin(["conv", "linear", "bmm"]), rows.flops.fillna(0) / 2, 0),
        nbytes=rows.min_bytes.astype(float),
        kind=rows.op.astype(str).map(FROM_OPS).fillna("elementwise"),
    )
    return with_ratios(rows[(rows.time_s > EAGER_S) & (rows.nbytes > 0)], "f32")


def recorded(data: Path) -> pd.DataFrame:
    """Return ratios of matrix products in recorded graphs (AIConfigurator), in bf16."""
    columns = ["device", "dtype", "m", "n", "k", "latency_us", "host_bound"]
    rows = pd.read_parquet(data / "aic_gemm.parquet", columns=columns)
    rows = rows[(rows.dtype == "bfloat16") & ~rows.host_bound.fillna(False).astype(bool)]
    m, n, k = (rows[c].astype(float) for c in "mnk")
    rows = rows.assign(
        time_s=rows.latency_us * 1e-6,
        mac=m * n * k,
        # two bytes per element of both operands and the result
        nbytes=2 * (m * n + m * k + n * k),
        kind="matmul",
    )
    return with_ratios(rows[rows.time_s > GRAPH_S], "bf16")


def processor(path: Path) -> pd.DataFrame:
    """Return ratios of the kernels of ONNX Runtime on a processor."""
    rows = pd.read_csv(path)
    # a kernel of -1 is a node that launches no analyzed kernel; only runs with all threads count,
    # which is how the machine is used
    rows = rows[(rows.kernel >= 0) & (rows.threads == rows.threads.max())]
    # only parts of one kernel: several kernels of a part have one measured time
    alone = rows.groupby(["digest", "dims", "part"]).kernel.transform("count") == 1
    rows = rows[alone & (rows.time_s > GRAPH_S)]
    # `inserted_s` is copies and changes of layout that the runtime adds: no kernel of the model
    ratio = (rows.time_s - rows.inserted_s) / rows.sustained_s
    return pd.DataFrame({"device": rows.device, "kind": rows.kind, "ratio": ratio})


def quantiles(rows: pd.DataFrame) -> tuple[float, float, float]:
    """Return quantiles of the ratio, every device with the same weight."""
    weight = 1 / rows.groupby("device").ratio.transform("count")
    order = np.argsort(rows.ratio.to_numpy())
    ratio, share = rows.ratio.to_numpy()[order], np.cumsum(weight.to_numpy()[order])
    low, mid, high = (float(ratio[np.searchsorted(share, q * share[-1])]) for q in QUANTILES)
    return low, mid, high


def main() -> None:
    """Fit and write the file."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("processor", type=Path)
    options = parser.parse_args()
    tables = {
        "cuda": pd.concat([eager(options.data), recorded(options.data)]),
        "cpu": processor(options.processor),
    }
    lines = [HEAD]
    for machine, rows in tables.items():
        for kind, block in [*rows.groupby("kind"), ("any", rows)]:
            if len(block) < 100:  # too few for quantiles of 5 and 95 %: such kinds have "any"
                continue
            low, mid, high = quantiles(block)
            lines += [
                f"[{machine}.{kind}]",
                f"low = {low:.3g}",
                f"mid = {mid:.3g}",
                f"high = {high:.3g}",
                f"n = {len(block)}",
                "",
            ]
    OUT.write_text("\n".join(lines), encoding="utf-8")
    print(OUT.read_text())


if __name__ == "__main__":
    main()
