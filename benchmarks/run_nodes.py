"""Published runs of whole transformers beside the kernels that the same source lists of them.

NeuSight's table of runs has the time of every pass; its table of nodes has every node of the same
model cut to one layer, on the same machine. Nodes of the layer times layers, and the others once,
is what the run would take if it were the sum of its kernels. Nodes that only the host runs, which
still show the time of an empty measurement, are left out.

    python benchmarks/run_nodes.py DATA
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd

KEYS = ["device", "model", "mode", "batch", "seq_len"]
EMPTY = 1.6
"""Times the lowest fifth of a run's nodes, below which a node did nothing on the device."""
LAYER = re.compile(
    r"layers?_0|_h_0_|^(matmul|bmm|addmm|softmax|truediv|where|add|mul|pow|tanh|gelu|max|dropout"
    r"|contiguous|reshape)(_\d+)?$"
)
"""Nodes of the one layer; embeddings and heads have names of their own."""


def passes_ms(nodes: pd.DataFrame, layers: int) -> tuple[float, float]:
    """Forward and backward pass of a model of so many layers, in milliseconds."""
    seen = nodes["forward_latency_us"]
    real = nodes[seen > EMPTY * seen.quantile(0.2)]
    inside = real["node_name"].map(lambda name: bool(LAYER.search(name)))
    times = inside.map({True: layers, False: 1})
    forward = (real["forward_latency_us"] * times).sum()
    behind = real["backward_latency_us"] + real["grad_accumulate_latency_us"]
    return float(forward) / 1e3, float((behind * times).sum()) / 1e3


def main() -> None:
    folder = Path(sys.argv[1])
    runs = pd.read_parquet(folder / "neusight_e2e.parquet")
    nodes = pd.read_parquet(folder / "neusight_e2e_nodes.parquet")
    listed: dict[Any, pd.DataFrame] = dict(list(nodes.groupby(KEYS, observed=True)))
    print("run over the sum of its nodes: forward, backward")
    for row in runs[runs["variant"] == "eager"].sort_values(["mode", *KEYS[:2]]).itertuples():
        own = listed.get(tuple(getattr(row, key) for key in KEYS))
        if own is None:
            continue
        forward_ms, backward_ms = passes_ms(own, int(row.num_layers))
        line = f"{row.mode:5s} {row.device:22s} {row.model:11s} {row.batch:2d} x {row.seq_len:<5d}"
        line += f" {row.forward_latency_ms / forward_ms:5.2f}"
        if row.mode == "train":
            line += f" {row.backward_latency_ms / backward_ms:5.2f}"
        print(line)


if __name__ == "__main__":
    main()
