"""Memory of training steps against the batches that timm's benchmark fitted into a card.

    python benchmarks/largest_batches.py DATA --rows 60 [--seed 0]

timm's benchmark.py takes the largest of a few batches that fits: of a published step of an RTX 3090
the batch fits, and the next larger one does not. A line for each: what perfc says of both.
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from step_totals import VERSION, Step, analysed, timm_steps

from perfc.errors import PerfcError
from perfc.machine import capacity_of, load_machine
from perfc.view.report.footprint import footprint

BATCHES = (512, 384, 256, 192, 128, 96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1)
"""That benchmark.py tries; the first that fits is measured."""
GIB = 1 << 30


def memory_gib(step: Step, batch: int) -> float:
    """Of a training step as it was run, at another batch."""
    report = analysed(step, batch, VERSION)
    return footprint(report).total_bytes / GIB


def main() -> None:
    """Print each, and the shares that agree."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("--rows", type=int, default=60)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    device = capacity_of(load_machine("rtx3090"))
    assert device is not None
    capacity_gib = device.usable_bytes / GIB
    steps = [s for s in timm_steps(options.data) if s.batch in BATCHES[1:]]
    chosen = random.Random(options.seed).sample(steps, min(options.rows, len(steps)))
    rows: list[tuple[float, float]] = []
    for step in chosen:
        larger = BATCHES[BATCHES.index(step.batch) - 1]
        try:
            row = memory_gib(step, step.batch), memory_gib(step, larger)
        except PerfcError as error:
            print(f"{step.model.name}: {error}")
            continue
        rows.append(row)
        name = step.model.name.removesuffix(".onnx.gz")
        print(
            f"{name:52} {step.batch:4} {row[0]:5.1f} GiB {larger:4} {row[1]:5.1f} GiB", flush=True
        )
    fits = sum(low <= capacity_gib for low, _ in rows)
    is_out = sum(high > capacity_gib for _, high in rows)
    near = sum(high > 0.9 * capacity_gib for _, high in rows)
    print(
        f"of {len(rows)}: the batch that was run fits {fits} times; the next larger one does not "
        f"{is_out} times, and takes nine tenths of the card or more {near} times"
    )


if __name__ == "__main__":
    main()
