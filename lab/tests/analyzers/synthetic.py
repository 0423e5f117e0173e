"""Rows that were never measured: a law with noise, so that tests know the answer."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of, complete
from perfc.machine import load_machine
from perfc_lab.data.rows import Rows

MACHINES = ("a100-sxm4-80gb", "h100-sxm5-80gb", "b200-sxm-180gb")
NOISE = 0.05


def matmul_rows(
    target: str = "h100-sxm5-80gb", count: int = 600, seed: int = 0, framework: str = "one"
) -> Rows:
    """Matrix products that take 1.3 times their scale, with log-normal noise."""
    rng = np.random.default_rng(seed)
    columns = {
        "m": 2.0 ** rng.integers(0, 14, count),
        "n": 64.0 * rng.integers(1, 64, count),
        "k": 64.0 * rng.integers(1, 64, count),
    }
    kind = class_of("matmul")
    sheet = Sheet(load_machine(target))
    scale = kind.scale_s(complete(kind, columns), "bf16", sheet, Protocol.GRAPH)
    time_s = 1.3 * scale * np.exp(NOISE * rng.standard_normal(count))
    return Rows("matmul", target, "bf16", Protocol.GRAPH, framework, columns, time_s)


def blocks(machines: tuple[str, ...] = MACHINES, count: int = 600) -> list[Rows]:
    """A block for each machine."""
    return [matmul_rows(name, count, seed) for seed, name in enumerate(machines)]


def write_table(path: Path, time_us: float | None = None) -> None:
    """A table in the columns of the matrix products that others published."""
    import pandas as pd

    frames = []
    for name, product in (
        ("a100-sxm4-80gb", "NVIDIA A100-SXM4-80GB"),
        ("h100-sxm5-80gb", "NVIDIA H100 80GB HBM3"),
        ("b200-sxm-180gb", "NVIDIA B200"),
    ):
        rows = matmul_rows(name, 300)
        frame = pd.DataFrame({n: c.astype(np.int32) for n, c in rows.columns.items()})
        frame["latency_us"] = (rows.time_s * 1e6).astype(np.float32)
        frame["power_w"] = np.float32(np.nan)
        frame["host_bound"] = False
        frame["device"], frame["framework"] = product, "one"
        frame["version"], frame["dtype"] = "1.0", "bfloat16"
        frames.append(frame)
    table = pd.concat(frames, ignore_index=True)
    if time_us is not None:
        table.loc[7, "latency_us"] = time_us
    for name in ("device", "framework", "version", "dtype"):
        table[name] = table[name].astype("category")
    table.to_parquet(path)
