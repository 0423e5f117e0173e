"""How far rows differ that are alike in all that is stated: no predictor can be nearer.

    python benchmarks/like_rows.py DATA

Products that two models have in common on a machine, in 16 bits under a profiler: the mean
difference of one model's from the other's. Served runs with every feature alike: of each from the
middle of the others. Steps of ML.ENERGY's servers: rows whose nine in ten of the times between
tokens are `UNEVEN` times the middle one, by machine.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import mean, median

from perfc.analyzers.tables import MODEL, read_parquet
from perfc.analyzers.training.experiments.blocks import rows_of as products_of
from perfc.serving.evidence.tables import AIC, ML_ENERGY, TRTLLM
from perfc.serving.trees.rows import Target, TreeRow, rows_of

UNEVEN = 1.3
EXTENTS = "m", "n", "k"


def print_products(folder: Path) -> None:
    """By machine and framework."""
    logs: dict[tuple[str, str], dict[tuple[float, ...], dict[float, list[float]]]] = {}
    for block in products_of("matmul", folder):
        if MODEL not in block.columns:
            continue
        there = logs.setdefault((block.target, block.framework), {})
        columns = [block.columns[name] for name in (*EXTENTS, MODEL)]
        for *extents, model, time_s in zip(*columns, block.time_s, strict=True):
            by_model = there.setdefault(tuple(extents), {})
            by_model.setdefault(float(model), []).append(math.log(time_s))
    for (target, framework), extents_of in sorted(logs.items()):
        apart = [
            abs(math.expm1(mean(other) - mean(own)))
            for by_model in extents_of.values()
            for model, own in by_model.items()
            for another, other in by_model.items()
            if another != model
        ]
        if apart:
            print(f"products, {target}, {framework}: {spread(apart)}")


def print_served(folder: Path) -> None:
    """By table."""
    rows = [
        row for name in (TRTLLM, AIC) for row in rows_of(name, folder)
        if row.target is Target.THROUGHPUT
    ]  # fmt: skip
    for source in dict.fromkeys(row.source for row in rows):
        own = [row for row in rows if row.source == source]
        apart = list(from_like(own))
        if apart:
            print(f"tokens a second, {source}, of {len(own)}: {spread(apart)}")


def from_like(rows: Sequence[TreeRow]) -> Iterator[float]:
    """How far each row is from the middle of its like, published runs counted once."""
    like: dict[tuple[object, ...], list[TreeRow]] = {}
    for row in rows:
        features = tuple(None if math.isnan(value) else value for value in row.features)
        like.setdefault((row.model, row.machine, *features), []).append(row)
    for each in like.values():
        for row in each:
            others = [math.log(r.value) for r in each if r.served.run != row.served.run]
            if others:
                yield abs(math.expm1(median(others) - math.log(row.value)))


def print_steps(folder: Path) -> None:
    """By machine."""
    table = read_parquet(folder / f"{ML_ENERGY}.parquet")
    table = table[table.output_throughput_tokens_per_sec.notna()]
    for name, rows in table.groupby("gpu_model", observed=True):
        uneven = (rows.p90_itl_ms > UNEVEN * rows.median_itl_ms).sum()
        print(f"steps, {name}: {uneven} of {len(rows)} rows are uneven")


def spread(apart: Sequence[float]) -> str:
    """The mean and the median."""
    return f"{len(apart)} rows, mean {mean(apart):.1%}, median {median(apart):.1%}"


def main() -> None:
    """Print all three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    folder = parser.parse_args().data
    print_products(folder)
    print_steps(folder)
    print_served(folder)


if __name__ == "__main__":
    main()
