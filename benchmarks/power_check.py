"""Mean power of whole runs against Zeus's rows, whose boards the power model never saw.

    python benchmarks/power_check.py DATA resnet50=MODEL bert_base_uncased=MODEL

Rows are training epochs in FP32 at the board's highest limit, all batches and optimisers of a
network on images of 224 or in paragraphs of 384 tokens. The prediction is of the forward pass in
eager PyTorch, as `perfc analyze` prints it: a backward pass has the same kinds of kernels. Shares
are of the limit.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import pandas as pd

import perfc
from perfc.frontend import load

TARGETS = {"p100": "p100-pcie-16gb", "rtx6000": "quadro-rtx6000", "v100": "v100-pcie-32gb"}
DATASETS = {"resnet50": "imagenet", "bert_base_uncased": "squad"}
TOKENS = 384


def shares(path: Path, target: str, batches: list[int], limit_w: float) -> Iterator[float]:
    """Predicted power of a forward pass over the limit, for each batch."""
    names = [s.name for s in load(path).symbols]
    for batch in batches:
        dims = {n: batch if i == 0 else TOKENS for i, n in enumerate(names)}
        report = perfc.analyze(path, target, dims=dims, runtime="eager", tf32=False)
        energy = report.prediction.energy
        if energy is not None:
            yield energy.power_w / limit_w


def main() -> None:
    """A Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("models", nargs="+", metavar="NETWORK=MODEL")
    given = parser.parse_args()
    table = pd.read_parquet(given.data / "zeus_train_power.parquet")
    print("| machine | network | batches | measured | predicted |")
    print("| --- | --- | --- | ---: | ---: |")
    for argument in given.models:
        network, _, path = argument.partition("=")
        rows = table[(table.network == network) & (table.dataset == DATASETS[network])]
        for device, own in rows.groupby("device", observed=True):
            own = own[own.power_limit_w == own.power_limit_w.max()]
            limit_w = float(own.power_limit_w.max())
            measured = own.average_power_w / limit_w
            batches = sorted({int(own.batch.min()), int(own.batch.max())})
            found = list(shares(Path(path), TARGETS[str(device)], batches, limit_w))
            print(
                f"| {TARGETS[str(device)]} | {network} | {batches[0]} to {batches[-1]} "
                f"| {measured.min():.2f} to {measured.max():.2f} "
                f"| {min(found):.2f} to {max(found):.2f} |"
            )


if __name__ == "__main__":
    main()
