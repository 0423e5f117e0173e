"""How far rows differ that are alike in all that is stated: no predictor can be nearer.

    python benchmarks/like_rows.py DATA

Products that two models have in common on a machine, in 16 bits under a profiler: the mean
difference of one model's from the other's. Served runs with every feature alike: of each from the
middle of the others. How far tokens a second are from the line between those of fewer and of more
users in the same setting, and how many settings have one number of users. Steps of ML.ENERGY's
servers: rows whose nine in ten of the times between tokens are `UNEVEN` times the middle one, by
machine and GPUs. How far its tokens a second are from the line between those of fewer and of more
seats, by the same. How far they are from laws of hosts that were fitted to the very rows they are
asked about: one law, and one of each machine. How far energies are apart that were published of one
setting.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean, median

from perfc_lab.serving import Quantity, ServedRow, Stated
from perfc_lab.serving.aic import AIC
from perfc_lab.serving.learn import fitted, predicted
from perfc_lab.serving.replay import Sample
from perfc_lab.serving.scores import gathered, has_experts, law_name
from perfc_lab.serving.tables import ML_ENERGY, TRTLLM
from perfc_lab.tables import MODEL, read_parquet
from perfc_lab.training.experiments.blocks import rows_of as products_of
from perfc_lab.trees.rows import Target, TreeRow, rows_of

Point = tuple[float, float]
"""Logarithms of users or seats, and of tokens a second."""
UNEVEN, FEW_SEATS = 1.3, 512
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
        settings = settings_of(own)
        lines = [off for points in settings for off in from_line(points)]
        alone = sum(len(points) == 1 for points in settings)
        print(f"settings of {source}: {len(settings)}, of which {alone} have one number of users")
        if lines:
            print(f"tokens a second from those of fewer and more users, {source}: {spread(lines)}")


def settings_of(rows: Sequence[TreeRow]) -> list[list[Point]]:
    """Middle tokens a second by users, of each setting: all else that rows say is alike."""
    found: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        setting = replace(
            row.served, name="", concurrency=0, measured={}, measured_on="", stated=Stated(),
            requests=0,
        )  # fmt: skip
        by_users = found.setdefault(repr(setting), {})
        by_users.setdefault(max(row.served.concurrency, 1), []).append(row.value)
    return [
        [(math.log(users), math.log(median(values))) for users, values in sorted(each.items())]
        for each in found.values()
    ]


def from_line(points: Sequence[Point]) -> Iterator[float]:
    """How far each rate is from the line between the ones before and after it, in logarithms."""
    for before, own, after in zip(points, points[1:], points[2:], strict=False):
        share = (own[0] - before[0]) / (after[0] - before[0])
        yield abs(math.expm1(before[1] + share * (after[1] - before[1]) - own[1]))


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
    for (name, gpus), rows in table.groupby(["gpu_model", "num_gpus"], observed=True):
        uneven = (rows.p90_itl_ms > UNEVEN * rows.median_itl_ms).sum()
        few = rows[rows.max_num_seqs <= FEW_SEATS]
        of_few = (few.p90_itl_ms > UNEVEN * few.median_itl_ms).sum()
        print(
            f"steps, {gpus} x {name}: {uneven} of {len(rows)} rows are uneven, of those with"
            f" {FEW_SEATS} seats and fewer {of_few} of {len(few)}"
        )


def print_neighbours(folder: Path) -> None:
    """By machine and GPUs."""
    table = read_parquet(folder / f"{ML_ENERGY}.parquet")
    table = table[table.output_throughput_tokens_per_sec.notna()]
    off: dict[str, list[float]] = {}
    for (_, _, machine, gpus), rows in table.groupby(SETTING[:-1], observed=True):
        points = rows.groupby("max_num_seqs").output_throughput_tokens_per_sec.median()
        logs = [(math.log(seats), math.log(rate)) for seats, rate in points.items()]
        off.setdefault(f"{gpus} x {machine}", []).extend(from_line(logs))
    for name, own in sorted(pair for pair in off.items() if pair[1]):
        print(f"tokens a second from those of fewer and more seats, {name}: {spread(own)}")


def print_laws(folder: Path) -> None:
    """By what has a law of its own, and machine."""
    samples = [
        s for s in gathered(folder, lambda line: None, [ML_ENERGY]).samples
        if s.quantity is Quantity.TOKENS_PER_S
    ]  # fmt: skip
    for title, key in KNOWN.items():
        named: dict[str, list[Sample]] = {}
        for sample in samples:
            named.setdefault(law_name(sample) + key(sample.row), []).append(sample)
        off: dict[str, list[float]] = {}
        for own in named.values():
            law = fitted(own)
            for s in own:
                kind = "experts" if has_experts(s.row) else "dense"
                each = abs(s.value / predicted(law, s) - 1)
                for name in ("all", s.row.target, f"{s.row.target}, {kind}", kind):
                    off.setdefault(name, []).append(each)
        for name in sorted(off):
            print(f"{title} that knows its rows, {name}: {spread(off[name])}")


KNOWN: Mapping[str, Callable[[ServedRow], str]] = {
    "one law": lambda row: "",
    "a law of each machine": lambda row: row.target,
}
"""What has a law of its own."""
SETTING = ["model_id", "task", "gpu_model", "num_gpus", "max_num_seqs"]


def print_energies(folder: Path) -> None:
    """Of settings that were published twice."""
    table = read_parquet(folder / f"{ML_ENERGY}.parquet")
    for setting, rows in table.groupby(SETTING, observed=True):
        if len(rows) > 1:
            joules = rows.energy_per_token_joules
            power = rows.avg_power_watts.round().astype(int).tolist()
            print(f"energy, {setting}: {joules.max() / joules.min() - 1:.1%} apart, {power} W")


def spread(apart: Sequence[float]) -> str:
    """The mean and the median."""
    return f"{len(apart)} rows, mean {mean(apart):.1%}, median {median(apart):.1%}"


def main() -> None:
    """Print all of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    folder = parser.parse_args().data
    print_products(folder)
    print_steps(folder)
    print_neighbours(folder)
    print_served(folder)
    print_laws(folder)
    print_energies(folder)


if __name__ == "__main__":
    main()
