"""What may be several kernels takes what each of them takes, as often as each was met."""

from __future__ import annotations

import numpy as np
import pytest

from perfc.analyzers.intervals.mixture import Mixture

TAILS = np.array([0.05]), np.array([0.95])


def mixture(*parts: tuple[float, float, float], silent: int = 0) -> Mixture:
    """One row; each part low, middle and high; more estimates that do not speak of it."""
    every = [*parts, *[(0.0, 0.0, 0.0)] * silent]
    speaks = np.arange(len(every))[:, None] < len(parts)
    return Mixture(*(np.array([[part[i]] for part in every]) for i in range(3)), speaks)


def test_one_estimate_keeps_its_own_interval() -> None:
    found = mixture((-1.0, 0.0, 3.0), silent=1)
    assert found.count.tolist() == [1]
    assert [float(end[0]) for end in found.ends(*TAILS)] == [-1.0, 0.0, 3.0]


def test_quantiles_are_those_of_draws() -> None:
    rng = np.random.default_rng(0)
    parts = ((-1.2, -1.0, -0.6), (0.5, 1.0, 1.2))
    found = mixture(*parts, silent=2)
    scale = np.log(19.0)
    drawn = []
    for low, middle, high in parts:
        away = rng.logistic(size=200_000) / scale
        drawn.append(middle + away * np.where(away < 0, middle - low, high - middle))
    every = np.concatenate(drawn)
    for level in (0.02, 0.05, 0.3, 0.7, 0.95, 0.99):
        quantile = found.quantile(np.array([level]))
        assert float(quantile[0]) == pytest.approx(np.quantile(every, level), abs=0.02)
        assert float(found.below(quantile)[0]) == pytest.approx(level, abs=1e-6)


def test_what_is_said_has_the_least_expected_relative_error() -> None:
    """One of a second and one of e seconds: 1 is off by 0.32 on average, their median by 0.43."""
    rng = np.random.default_rng(1)
    parts = ((-0.3, 0.0, 0.2), (0.8, 1.0, 1.2))
    found = mixture(*parts, silent=3)
    scale = np.log(19.0)
    times = np.concatenate(
        [
            np.exp(
                middle
                + (away := rng.logistic(size=20_000) / scale)
                * np.where(away < 0, middle - low, high - middle)
            )
            for low, middle, high in parts
        ]
    )
    levels = np.linspace(-0.5, 1.5, 401)
    errors = [np.abs(np.exp(level) / times - 1).mean() for level in levels]
    said = float(found.least_error()[0])
    error = np.abs(np.exp(said) / times - 1).mean()
    median = np.abs(np.median(times) / times - 1).mean()
    assert error < min(errors) * 1.01
    assert error < 0.95 * median
    low, middle, high = (float(end[0]) for end in found.ends(*TAILS))
    assert low < middle == said < high


def test_wide_estimates_that_agree_are_told_as_they_say() -> None:
    """Weights by the reciprocal of the time follow the lower tail of what spans decades."""
    found = mixture((-2.2, 0.0, 3.0), (-2.2, 0.04, 3.0), (-2.2, 0.01, 3.0), silent=1)
    assert found.least_error().tolist() == [0.0]


def test_many_rows_are_told_as_each_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("perfc.analyzers.intervals.mixture.AT_ONCE", 7)
    rng = np.random.default_rng(2)
    middle = rng.normal(size=(3, 20))
    speaks = rng.random((3, 20)) < 0.7
    speaks[0] = True
    every = Mixture(middle - 0.2, middle, middle + 0.1, speaks)
    alone = [
        float(Mixture(m - 0.2, m, m + 0.1, s).least_error()[0])
        for m, s in ((middle[:, [i]], speaks[:, [i]]) for i in range(20))
    ]
    assert every.least_error().tolist() == alone


def test_an_interval_reaches_over_all_that_may_be_meant() -> None:
    found = mixture((-0.1, 0.0, 0.1), (0.9, 1.0, 1.1), (0.9, 1.0, 1.1))
    low, middle, high = (float(end[0]) for end in found.ends(*TAILS))
    assert low == pytest.approx(0.0, abs=0.1)
    # two of three take e times as long, but an error of the short one counts for e times as much
    assert -0.05 < middle < 0.1
    assert high == pytest.approx(1.1, abs=0.05)


def test_estimates_at_their_floor_have_no_width_and_are_no_trouble() -> None:
    found = mixture((0.0, 0.0, 0.0), (0.0, 0.0, 0.5))
    low, middle, high = (float(end[0]) for end in found.ends(*TAILS))
    assert -1e-6 <= low <= middle <= high <= 0.5
