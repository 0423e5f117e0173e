"""Intervals of machines that nobody measured, from machines that were never built."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from perfc.analyzers.features.table import class_of
from perfc.analyzers.intervals.conformal import (
    Band,
    Bands,
    Calibration,
    Unseen,
    excess,
    sides,
)
from perfc_lab.data.rows import Rows
from perfc_lab.training.calibration.machines import distance, leaving
from perfc_lab.training.calibration.unseen import (
    LeftOut,
    learned,
    of_category,
    shared_error,
    student,
)

from .synthetic import blocks, matmul_rows


def machine(
    rng: np.random.Generator,
    level: float,
    noise: float,
    rows: int = 400,
    distance: float = 1.0,
    category: int = 0,
) -> LeftOut:
    """One machine: its own level, and noise, of which nothing was expected."""
    residual = level * rng.standard_normal() + noise * rng.standard_normal(rows)
    return LeftOut(distance, residual, np.full(rows, noise), np.full(rows, category))


def ends(found: Unseen, further: LeftOut) -> tuple[np.ndarray, np.ndarray]:
    expected = found.expected(further.spread, further.distance)
    return expected * found.band.low, expected * found.band.high


def covered(found: Unseen, further: LeftOut) -> float:
    low, high = ends(found, further)
    return float(((further.residual >= low) & (further.residual <= high)).mean())


@pytest.mark.parametrize("count", [3, 8])
@pytest.mark.parametrize(("level", "noise"), [(1.0, 0.1), (1.0, 1.0), (0.0, 1.0)])
def test_a_further_machine_is_covered_nine_times_in_ten(
    count: int, level: float, noise: float
) -> None:
    rng = np.random.default_rng(count)
    inside = []
    for _ in range(60):
        found = learned([[machine(rng, level, noise)] for _ in range(count)])[""]
        inside += [covered(found, machine(rng, level, noise, 20)) for _ in range(50)]
    assert 0.85 < np.mean(inside) < 0.95


def test_pooled_scores_of_few_machines_would_cover_too_little() -> None:
    rng = np.random.default_rng(0)
    inside, together = [], []
    for _ in range(60):
        groups = [[machine(rng, 1.0, 0.1)] for _ in range(3)]
        further = [machine(rng, 1.0, 0.1, 20) for _ in range(50)]
        low, high = np.quantile(np.concatenate([one.residual for (one,) in groups]), [0.05, 0.95])
        found = learned(groups)[""]
        inside += [covered(found, one) for one in further]
        together += [float(((f.residual >= low) & (f.residual <= high)).mean()) for f in further]
    assert np.mean(together) < 0.7 < 0.84 < np.mean(inside)


def exactly(level: float, distance: float = 1.0, rows: int = 10) -> LeftOut:
    return LeftOut(distance, np.full(rows, level), np.zeros(rows), np.zeros(rows, np.intp))


def test_what_machines_share_is_the_root_mean_square_of_their_middles() -> None:
    """Off by 0.3 and −0.4, at a distance of 1: √((0.09 + 0.16) / 2), times Student's for two.

    Either is as likely on the other side, so that scores are ±0.3 and ±0.4 over it.
    """
    found = learned([[exactly(0.3)], [exactly(-0.4)]])[""]
    error = math.sqrt(0.125)
    assert found.error == pytest.approx(error * student(2))
    assert (found.band.low, found.band.high) == pytest.approx((-0.4 / error, 0.4 / error))
    # one chip's two machines are one machine, of one degree of freedom
    chip = learned([[exactly(0.3), exactly(-0.4)]])[""]
    assert chip.error == pytest.approx(error * student(1))
    assert chip.band == found.band


def test_errors_are_brought_to_a_distance_of_one() -> None:
    near, far = exactly(0.3 * 0.25**0.4, 0.25), exactly(0.6, 2.0)
    assert near.shared == pytest.approx(0.3)
    assert far.shared == pytest.approx(0.3)
    assert learned([[near], [far]])[""].error == pytest.approx(0.3 * student(2))


@pytest.mark.parametrize(("freedom", "quantile"), [(1, 6.314), (2, 2.920), (8, 1.860)])
def test_few_machines_widen_as_students_table_says(freedom: int, quantile: float) -> None:
    assert student(freedom) == pytest.approx(quantile / 1.645, rel=1e-3)


def test_a_category_has_its_own_band_and_borrows_half_a_machine() -> None:
    rng = np.random.default_rng(3)
    groups = []
    for number in range(8):
        quiet = machine(rng, 0.1, 0.05, 500, 0.1 * 2 ** (number % 4), 0)
        noisy = machine(rng, 0.4, 0.4, 500, 0.1 * 2 ** (number % 4), 1)
        both = [
            np.concatenate([getattr(one, name) for one in (quiet, noisy)])
            for name in ("residual", "spread", "category")
        ]
        groups.append([LeftOut(quiet.distance, *both)])
    found = learned(groups, ("quiet", "noisy", "never"))
    assert found.keys() == {"", "quiet", "noisy"}
    assert found["quiet"].error < found["noisy"].error
    own = shared_error(of_category(groups, 0))
    share = 8 / 8.5
    expected = math.sqrt(share * own**2 + (1 - share) * shared_error(groups) ** 2)
    assert found["quiet"].error == pytest.approx(expected * student(8))


def test_a_category_of_few_rows_is_not_heard() -> None:
    category = np.zeros(1000, np.intp)
    category[:4] = 1
    groups = [[LeftOut(0.3, np.ones(1000), np.ones(1000), category)]]
    assert of_category(groups, 1) == []
    assert len(of_category(groups, 0)[0][0].residual) == 996


def test_rows_that_seemed_certain_are_not_on_another_machine() -> None:
    """Spreads 0 and 0.4; elsewhere they share 0.3, at a distance of 2 twice that."""
    calibration = Calibration(Bands(Band(-2, 2), Unseen(0.3, Band(-1, 3))))
    spread = np.array([0.0, 0.4])
    low, high = calibration.ends(spread, 0.0, measured=True)
    assert (low.tolist(), high.tolist()) == ([0, -0.8], [0, 0.8])
    low, high = calibration.ends(spread, 1.0, measured=False)
    assert (low.tolist(), high.tolist()) == (pytest.approx([-0.3, -0.8]), pytest.approx([0.9, 1.5]))
    low, high = calibration.ends(spread, 2.0, measured=False)
    assert high.tolist() == pytest.approx([1.8, 3 * math.hypot(0.4, 0.6)])


def test_every_row_has_the_band_of_its_category() -> None:
    bands = {"quiet": Bands(Band(-1, 1)), "noisy": Bands(Band(-4, 3))}
    calibration = Calibration(Bands(Band(-2, 2)), categories=bands)
    low, high = calibration.ends(
        np.ones(3),
        0.0,
        measured=True,
        category=np.array([0, 1, 2]),
        names=("quiet", "noisy", "never measured"),
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
