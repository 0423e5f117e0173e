"""Errors of like steps: shared near, none far, and none of what all steps have in common."""

from __future__ import annotations

import numpy as np
import pytest

from perfc.analyzers.steps.similarity import MOST_ERROR, StepErrorProcess


def two_kinds(count: int = 40) -> tuple[np.ndarray, np.ndarray]:
    """Steps of two kinds, 0.1 too short and 0.2 too long; the last feature tells nothing apart."""
    rng = np.random.default_rng(0)
    kind = np.arange(count) % 2
    means = np.stack([kind + rng.normal(0, 0.05, count), 3.0 * kind, np.full(count, 7.0)], axis=1)
    return means, np.where(kind == 0, 0.1, -0.2)


def test_a_step_is_expected_to_be_off_as_like_ones_are() -> None:
    means, error = two_kinds()
    found = StepErrorProcess.learned(means, error)
    asked = np.array([[0.0, 0.0, 7.0], [1.0, 3.0, 7.0], [500.0, -900.0, 7.0]])
    assert found.error(asked) == pytest.approx([0.1, -0.2, 0.0], abs=0.02)
    assert found.error(means) == pytest.approx(error, abs=0.02)


def test_a_feature_that_all_steps_share_tells_nothing() -> None:
    means, error = two_kinds()
    found = StepErrorProcess.learned(means, error)
    asked = np.array([[0.0, 0.0, 7.0], [0.0, 0.0, 8.0]])
    assert found.error(asked)[0] == found.error(asked)[1]


def test_one_step_that_is_far_off_does_not_move_its_like_as_far() -> None:
    means, error = two_kinds()
    error[0] = 3.0
    found = StepErrorProcess.learned(means, error)
    assert found.error(means[:1])[0] < MOST_ERROR


def test_what_is_stored_tells_the_same() -> None:
    means, error = two_kinds()
    found = StepErrorProcess.learned(means, error)
    again = StepErrorProcess.of_arrays(found.arrays())
    assert again is not None
    assert (again.error(means) == found.error(means)).all()
    assert StepErrorProcess.of_arrays({"multipliers": means}) is None
