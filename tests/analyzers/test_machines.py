"""Intervals of machines that nobody measured, from machines that were never built."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from perfc.analyzers.features.rows import Rows
from perfc.analyzers.features.table import class_of
from perfc.analyzers.intervals.conformal import (
    LEAST_DISTANCE,
    NEAR,
    Band,
    Bands,
    Calibration,
    Deviations,
    excess,
    part,
    sides,
)
from perfc.analyzers.training.machines import (
    Departure,
    Growth,
    chips,
    distance,
    leaving,
    power_of,
    rings_of,
)

from .synthetic import blocks, matmul_rows


def of_groups(groups: list[list[np.ndarray]]) -> Band:
    return Deviations.of([[part(scores) for scores in parts] for parts in groups]).band()


def machine(rng: np.random.Generator, level: float, noise: float, rows: int = 400) -> np.ndarray:
    """Scores of one machine: its own level, and noise."""
    return level * rng.standard_normal() + noise * rng.standard_normal(rows)


@pytest.mark.parametrize("count", [2, 4, 8])
@pytest.mark.parametrize(("level", "noise"), [(1.0, 0.1), (1.0, 1.0), (0.0, 1.0)])
def test_a_further_machine_is_covered_nine_times_in_ten(
    count: int, level: float, noise: float
) -> None:
    rng = np.random.default_rng(count)
    inside = []
    for _ in range(60):
        found = of_groups([[machine(rng, level, noise)] for _ in range(count)])
        further = np.concatenate([machine(rng, level, noise, 20) for _ in range(50)])
        inside.append(float(((further >= found.low) & (further <= found.high)).mean()))
    assert 0.86 < np.mean(inside) < 0.94


def test_pooled_scores_of_few_machines_would_cover_too_little() -> None:
    rng = np.random.default_rng(0)
    inside, together = [], []
    for _ in range(60):
        scores = [machine(rng, 1.0, 0.1) for _ in range(2)]
        further = np.concatenate([machine(rng, 1.0, 0.1, 20) for _ in range(50)])
        found = of_groups([[one] for one in scores])
        low, high = np.quantile(np.concatenate(scores), [0.05, 0.95])
        inside.append(float(((further >= found.low) & (further <= found.high)).mean()))
        together.append(float(((further >= low) & (further <= high)).mean()))
    assert np.mean(together) < 0.7 < np.mean(inside)


def test_two_machines_of_one_chip_are_one() -> None:
    rng = np.random.default_rng(1)
    one, other = machine(rng, 0, 0.1) + 1, machine(rng, 0, 0.1) + 1
    apart, joined = of_groups([[one], [other]]), of_groups([[one, other]])
    assert joined.high > 1.5 * apart.high


def departure(
    spread: np.ndarray,
    residual: np.ndarray,
    name: str = "h100",
    apart: float = 0.3,
    category: np.ndarray | None = None,
) -> Departure:
    category = np.zeros(len(spread), np.intp) if category is None else category
    return Departure(name, frozenset({name}), apart, residual, spread, category)


def test_a_spread_that_says_nothing_of_other_machines_does_not_count() -> None:
    rng = np.random.default_rng(2)
    spread = np.exp(rng.uniform(-5, -1, 4000))
    noise = rng.standard_normal(4000)
    assert power_of([departure(spread, 0.1 * noise)]) < 0.1
    assert power_of([departure(spread, 0.1 + spread * noise)]) < 0.6
    assert power_of([departure(spread, spread * noise)]) > 0.85


def left_out(rng: np.random.Generator, count: int = 8) -> list[Departure]:
    """Machines whose levels grow with distance; kernels of category 1 are noisier."""
    found = []
    for number in range(count):
        apart = 0.1 * 2 ** (number % 4)
        category = rng.integers(0, 2, 1000)
        noise = rng.standard_normal(1000) * np.where(category == 1, 0.4, 0.05)
        level = 0.2 * apart * (-1) ** (number // 4)
        found.append(departure(np.ones(1000), level + noise, str(number), apart, category))
    return found


def test_a_category_has_its_own_band_on_machines_that_were_not_measured() -> None:
    found, growth = left_out(np.random.default_rng(3)), Growth(level=1.0)
    everything = Deviations.of(chips(found, 1.0, growth))
    quiet, noisy = (
        Deviations.of(chips(found, 1.0, growth, category)).beside(everything).band()
        for category in (0, 1)
    )
    assert quiet.high < everything.band().high < noisy.high
    assert noisy.high > 1.3 * quiet.high


def test_a_category_of_few_rows_is_not_heard() -> None:
    category = np.zeros(1000, np.intp)
    category[:4] = 1
    found = [departure(np.ones(1000), np.ones(1000), category=category)]
    assert chips(found, 1.0, Growth(), 1) == []
    assert len(chips(found, 1.0, Growth(), 0)) == 1


def test_rings_widen_to_the_furthest_machine_left_out() -> None:
    found, growth = left_out(np.random.default_rng(4)), Growth(level=1.0, narrowing=0.9)
    rings = rings_of(Deviations.of(chips(found, 1.0, growth)), growth, 0.8)
    assert [distance for distance, _ in rings] == [LEAST_DISTANCE, 0.2, 0.4, 0.8]
    highs = [one.high for _, one in rings]
    assert highs == sorted(highs)
    assert highs[-1] > 1.1 * highs[0]


def test_rows_that_seemed_certain_are_not_on_another_machine() -> None:
    rings = ((NEAR, Band(-0.3, 0.3)), (1.0, Band(-0.5, 0.5)))
    calibration = Calibration(Bands(Band(-2, 2), rings), power=0.0)
    spread = np.array([0.001, 0.5])
    assert calibration.ends(spread, 0.0)[1].tolist() == [0.002, 1.0]
    assert calibration.ends(spread, NEAR)[1].tolist() == [0.3, 1.0]
    assert calibration.ends(spread, 1.0)[0].tolist() == [-0.5, -1.0]
    assert calibration.ends(spread, 2.0)[1].tolist() == [1.0, 1.0]


def test_every_row_has_the_band_of_its_category() -> None:
    bands = {"quiet": Bands(Band(-1, 1)), "noisy": Bands(Band(-4, 3))}
    calibration = Calibration(Bands(Band(-2, 2)), categories=bands)
    low, high = calibration.ends(
        np.ones(3), 0.0, category=np.array([0, 1, 2]), names=("quiet", "noisy", "never measured")
    )
    assert low.tolist() == [-1, -4, -4]
    assert high.tolist() == [1, 3, 3]


def test_what_never_changed_counts_in_its_own_size() -> None:
    low, high = np.array([0.0, 50.0, 1.0]), np.array([0.0, 50.0, 3.0])
    rows = np.array([[1.0, 50.0, 2.0], [0.0, 75.0, 2.0], [0.0, 50.0, 4.0]], np.float32)
    assert excess(rows, low, high, sides(low, high)).tolist() == [1.0, 0.5, 0.5]


def test_every_machine_departs_alone_and_with_those_near_it() -> None:
    names = ("a100-sxm4-80gb", "h100-sxm5-80gb", "h200-sxm-141gb")
    found = leaving(blocks(names, 20))
    assert [(name, sorted(out)) for name, out in found] == [
        ("a100-sxm4-80gb", ["a100-sxm4-80gb"]),
        ("h100-sxm5-80gb", ["h100-sxm5-80gb"]),
        ("h100-sxm5-80gb", ["h100-sxm5-80gb", "h200-sxm-141gb"]),
        ("h200-sxm-141gb", ["h200-sxm-141gb"]),
        ("h200-sxm-141gb", ["h100-sxm5-80gb", "h200-sxm-141gb"]),
    ]


def collective(target: str) -> Rows:
    return replace(matmul_rows(target, 1), class_name="collective")


def test_collectives_are_apart_by_their_link_alone() -> None:
    assert class_of("collective").parameters == ("operation", "ranks", "nbytes")
    h100, b200 = collective("h100-sxm5-80gb"), collective("b200-sxm-180gb")
    assert distance([h100], [collective("h200-sxm-141gb")]) == 0
    assert distance([h100], [b200]) == pytest.approx(1.0)
    assert distance([h100], [collective("a100-sxm4-80gb")]) == pytest.approx(np.log2(1.5))
