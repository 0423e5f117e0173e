"""A few runs of a machine nobody measured, and how far off one may be: examples by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from perfc.analyzers.graph.rows import GraphRow, Measurements
from perfc.analyzers.intervals.conformal import LEAST_SPREAD, Band, Unseen
from perfc.analyzers.intervals.offsets import NOISES, TAIL, Offsets, noise_prior, regressed
from perfc.analyzers.steps.setting import Precision, RunMode, Setting
from perfc.analyzers.whole_runs.few_rows import (
    AGE,
    KIND,
    KIND_OF_WAY,
    LIKE,
    MACHINE,
    UNTRAINED,
    WAY,
    design,
    deviations,
)
from perfc.analyzers.whole_runs.kernel_sums import KINDS
from perfc.analyzers.whole_runs.machine_bands import RunBands, from_few
from perfc.analyzers.whole_runs.pooled import SHARES_START
from perfc_lab.training.calibration.unseen import GAUSSIAN, LeftOut
from perfc_lab.training.calibration.unseen import unseen_runs as unseen


def test_one_offset_is_drawn_to_the_mean_as_its_prior_allows() -> None:
    """Two rows of 1 and 3, noise 1: (1 + 3) / (2 + 1). Without one the other leaves half of it.

    Left out, the first is 1 − 3 / 2 = −0.5 and the second 3 − 1 / 2.
    """
    table, residual = np.ones((2, 1)), np.array([1.0, 3.0])
    offsets, covariance, left, evidence = regressed(table, residual, 1.0)
    assert covariance.tolist() == [[pytest.approx(1 / 3)]]
    assert offsets.tolist() == pytest.approx([4 / 3])
    assert left.tolist() == pytest.approx([-0.5, 2.5])
    # of two numbers of variance 2 and covariance 1: xᵀ C⁻¹ x = (2·1 − 2·3 + 2·9) / 3, |C| = 3
    assert evidence == pytest.approx(-0.5 * (14 / 3 + math.log(3)))


def test_evidence_is_the_gaussian_density_up_to_a_constant() -> None:
    rng = np.random.default_rng(0)
    table, residual, noise = rng.standard_normal((6, 2)), rng.standard_normal(6), 0.3
    covariance = table @ table.T + noise**2 * np.eye(6)
    expected = -0.5 * (
        residual @ np.linalg.solve(covariance, residual) + np.linalg.slogdet(covariance)[1]
    )
    offsets, spread, left, evidence = regressed(table, residual, noise)
    assert evidence == pytest.approx(expected)
    precision = table.T @ table + noise**2 * np.eye(2)
    assert offsets == pytest.approx(np.linalg.solve(precision, table.T @ residual))
    assert spread == pytest.approx(noise**2 * np.linalg.inv(precision))
    for i in range(6):
        others = np.arange(6) != i
        without = regressed(table[others], residual[others], noise).mean
        assert left[i] == pytest.approx(residual[i] - table[i] @ without)


def test_noises_are_weighed_by_their_evidence() -> None:
    """Rows that agree to a thousandth are hardly drawn to zero; rows that scatter are."""
    table, prior = np.ones((8, 1)), np.ones(1)
    close = Offsets.learned(table, 0.2 + 0.001 * np.tile([1.0, -1.0], 4), prior)
    wide = Offsets.learned(table, 0.2 + 0.25 * np.tile([1.0, -1.0], 4), prior)
    assert close.mean[0] == pytest.approx(0.2 * 8 / (8 + 0.03**2), rel=1e-3)
    assert wide.mean[0] == pytest.approx(0.2 * 8 / (8 + 0.25**2), rel=5e-3)
    assert wide.mean[0] < close.mean[0]
    assert close.noise == pytest.approx(TAIL * 0.03, rel=0.15)
    assert TAIL * 0.25 < wide.noise < TAIL * 0.35
    # a further row: what is not known of the offset, a hundredth of its prior, and noise
    expected = math.sqrt(close.covariance[0, 0] + close.noise**2)
    assert close.deviation(np.ones((1, 1)))[0] == pytest.approx(expected)


def test_without_rows_noise_is_what_is_usual() -> None:
    found = Offsets.learned(np.zeros((0, 1)), np.zeros(0), np.array([0.2]), 0.3)
    assert found.mean.tolist() == [0]
    assert found.covariance[0, 0] == pytest.approx(0.04)
    weights = np.exp(noise_prior(0.3))
    mean_square = float(weights @ np.square(NOISES) / weights.sum())
    assert found.noise == pytest.approx(TAIL * math.sqrt(mean_square))
    assert noise_prior(None).tolist() == [0] * len(NOISES)


@pytest.mark.parametrize("rows", [2, 8, 32])
def test_nine_of_ten_further_rows_lie_within_the_deviations(rows: int) -> None:
    rng = np.random.default_rng(rows)
    inside = []
    for _ in range(200):
        offset = 0.2 * rng.standard_normal()
        residual = offset + 0.2 * rng.standard_normal(rows)
        found = Offsets.learned(np.ones((rows, 1)), residual, np.array([0.2]), 0.3)
        further = offset + 0.2 * rng.standard_normal(50)
        reach = 1.645 * found.deviation(np.ones((1, 1)))[0]
        inside.append(np.mean(np.abs(further - found.mean[0]) <= reach))
    # two rows leave the noise to what is usual, which is half more here
    assert 0.87 < np.mean(inside) < (0.97 if rows > 2 else 1)


def test_a_row_that_strays_moves_an_offset_little() -> None:
    table, prior = np.ones((9, 1)), np.array([1.0])
    plain = Offsets.learned(table, np.full(9, 0.5), prior)
    strayed = Offsets.learned(table, np.array([0.5] * 8 + [5.0]), prior)
    assert plain.mean[0] == pytest.approx(0.5, rel=1e-3)
    assert plain.expected(2 * table).tolist() == pytest.approx([1.0] * 9, rel=1e-3)
    assert strayed.mean[0] == pytest.approx(0.5, abs=0.06)
    assert strayed.left[-1] == pytest.approx(4.5, rel=0.02)


def test_offsets_multiply_batches_ways_precisions_versions_and_kinds() -> None:
    rows = (
        GraphRow("g", "g", Setting(Precision.BF16, compiled=True, version=(2, 9)), "t4", 256, 1.0),
        GraphRow("g", "g", Setting(Precision.AMP_F16, version=(1, 13)), "t4", 1, 1.0),
    )
    features = np.zeros((2, SHARES_START + KINDS), np.float32)
    features[0, SHARES_START + 3], features[1, SHARES_START] = 0.5, 1.0
    like = np.array([[0.1, -0.2], [0.3, 0.0]])
    found = design(Measurements("d", {}, rows), features, like)
    modes, precisions = len(RunMode), len(Precision)
    plain = 2 + modes + precisions + 2 + KINDS
    assert found.shape == (2, plain + 2 + 3 * modes + 3 * KINDS)
    # 256 are eight doublings
    assert found[:, :2].tolist() == [[1, 1], [1, 0]]
    ways = found[:, 2 : 2 + modes]
    assert [list(RunMode)[i] for i in ways.argmax(axis=1)] == [RunMode.COMPILED, RunMode.EAGER]
    typed = found[:, 2 + modes : 2 + modes + precisions]
    assert [list(Precision)[i] for i in typed.argmax(axis=1)] == [
        Precision.BF16,
        Precision.AMP_F16,
    ]
    assert ways.sum() == typed.sum() == 2
    assert found[:, 2 + modes + precisions :][:, :2].tolist() == [[1, 1], [0, 0]]
    shares = found[:, plain - KINDS : plain]
    assert (shares[0, 3], shares[1, 0], shares.sum()) == (0.5, 1.0, 1.5)
    assert np.array_equal(found[:, plain : plain + 2], like)
    at_age = found[:, plain + 2 : plain + 2 + 3 * modes].reshape(2, modes, 3)
    places = [(row, list(RunMode)[mode], age) for row, mode, age in np.argwhere(at_age).tolist()]
    assert places == [(0, RunMode.COMPILED, 2), (1, RunMode.EAGER, 0)]
    # of kinds where they are compiled, channels last, or of an old framework
    compiled, last, old = found[:, -3 * KINDS :].reshape(2, 3, KINDS).swapaxes(0, 1)
    assert (compiled[0, 3], compiled.sum(), last.sum()) == (0.5, 0.5, 0.0)
    assert (old[1, 0], old.sum()) == (1.0, 1.0)


def test_offsets_that_ways_of_running_share_with_those_trained_on_are_small() -> None:
    modes, expected = len(RunMode), deviations({"eager", "training"}, 2)
    plain = 2 + modes + len(Precision) + 2 + KINDS
    assert len(expected) == plain + 2 + 3 * modes + 3 * KINDS
    assert expected[:2].tolist() == [MACHINE, WAY]
    assert expected[2 : 2 + modes].tolist() == [
        WAY if m in (RunMode.EAGER, RunMode.TRAINING) else UNTRAINED for m in RunMode
    ]
    assert set(expected[2 + modes : plain - KINDS]) == {WAY}
    assert set(expected[plain - KINDS : plain]) == {KIND}
    assert expected[plain : plain + 2].tolist() == [LIKE, LIKE]
    assert set(expected[plain + 2 : -3 * KINDS]) == {AGE}
    assert set(expected[-3 * KINDS :]) == {KIND_OF_WAY}


# Bands

YES, NO = np.array([True]), np.array([False])
WIDTH = np.array([0.5])


def ends(
    bands: RunBands, trained: bool, moved: bool = False, unfamiliar: bool = False
) -> list[float]:
    flags = (np.array([flag]) for flag in (trained, moved, unfamiliar))
    return [float(end[0]) for end in bands.ends(WIDTH, *flags)]


def test_a_band_is_of_how_much_is_known_of_the_machine() -> None:
    """Half a unit of spread times the band; of others the root of 0.3² and (0.5 · 0.8)².

    It is no narrower than on machines trained on.
    """
    bands = RunBands(Band(-1, 2), Unseen(0.3 / 0.8, Band(-0.8, 0.8)), Band(-1.5, 1.2), Band(-3, 1))
    assert ends(bands, True) == [-0.5, 1.0]
    assert ends(bands, False) == pytest.approx([-0.5, 1.0])
    far = RunBands(Band(-1, 2), Unseen(1.0, Band(-0.8, 3.0)))
    assert ends(far, False) == pytest.approx([-0.8 * math.hypot(1, 0.5), 3 * math.hypot(1, 0.5)])
    assert ends(bands, False, moved=True) == [-0.75, 0.6]
    assert ends(bands, True, moved=True) == [-0.75, 0.6]
    # without similar graphs as far as that says, and no nearer than with
    assert ends(bands, True, unfamiliar=True) == [-1.5, 1.0]
    assert ends(bands, False, moved=True, unfamiliar=True) == [-1.5, 0.6]


def test_without_machines_left_out_bands_are_doubled() -> None:
    bare = RunBands(Band(-1, 2))
    assert ends(bare, False) == [-1.0, 2.0]
    assert ends(bare, False, moved=True) == [-1.0, 2.0]
    assert ends(bare, True, unfamiliar=True) == [-0.5, 1.0]
    assert ends(RunBands(Band(0.5, 2)), True) == [0, 1]
    assert ends(RunBands(Band(-2, -0.5)), True) == [-1, 0]


def test_machines_left_out_say_offsets_of_ways_and_what_is_left_within() -> None:
    """One machine is off by 0.3 and 0.5 in its two ways, another by 0.1: √((0.17 + 0.01) / 2).

    What is left within is 0 or 0.2, 0.1 of spread apart: 0 or 2, of which nine tenths are 2.
    """
    ways = np.array([0, 0, 0, 1])
    one = LeftOut(1.0, np.array([0.3, 0.3, 0.3, 0.5]), np.full(4, 0.1), ways)
    other = LeftOut(1.0, np.array([0.1, 0.1, 0.3]), np.full(3, 0.1), np.zeros(3, np.intp))
    found = unseen([one, other])
    offsets = ((0.3**2 + 0.5**2) / 2 + 0.1**2) / 2
    assert found.error * 2 == pytest.approx(GAUSSIAN * math.sqrt(offsets))
    assert (found.band.low, found.band.high) == pytest.approx((-2, 2))
    # four rows of five are exact, so that nine tenths of them reach the fifth, eight tenths do not
    exact = LeftOut(1.0, np.zeros(20), np.ones(20), np.zeros(20, np.intp))
    assert unseen([exact]).band.high == LEAST_SPREAD


def test_a_band_of_few_rows_is_their_largest_but_for_a_tenth() -> None:
    """Of nine and one more nine tenths are nine; of nineteen and one more eighteen."""
    assert from_few(np.array([0.1, -0.9, 0.5])) == Band(-0.9, 0.9)
    scores = np.arange(1.0, 20.0) * np.tile([1.0, -1.0], 10)[:19]
    assert from_few(scores) == Band(-18, 18)
    assert from_few(scores[:9]) == Band(-9, 9)
