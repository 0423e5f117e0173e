"""Factors learned through sums: known ones are fitted again."""

from __future__ import annotations

import numpy as np
import pytest

from perfc.analyzers.steps.launch_stack import SumStack
from perfc_lab.training.runs.sums import SumRecipe, multipliers, non_negative

KINDS = (4, 5, 12, 14)
TRUE = {4: 2.0, 5: 3.0, 12: 1.2, 14: 1.5}


def drawn(count: int, noise: float = 0.02) -> SumStack:
    """Return runs of a few launches each, whose kinds take fixed multiples of their scale."""
    rng = np.random.default_rng(0)
    row = np.repeat(np.arange(count), rng.integers(3, 9, count))
    kind = rng.choice(KINDS, len(row))
    scale_s = 10 ** rng.uniform(-5, -3, len(row))
    factor = np.array([TRUE[int(k)] for k in kind])
    time_s = np.bincount(row, scale_s * factor) * np.exp(rng.normal(0, noise, count))
    known = ("rtx3090",), ("rtx4090",)
    values = np.zeros((len(row), 1), np.float32)
    return SumStack(
        ("x",), values, kind, scale_s, 0 * scale_s, row, np.arange(count) % 2, known, time_s
    )


def test_coordinate_descent_finds_the_optimum() -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        left, right = rng.random((30, 6)), rng.normal(size=30)
        matrix, vector = left.T @ left, left.T @ right
        x = non_negative(matrix, vector)
        gradient = matrix @ x - vector
        assert (x >= 0).all()
        assert (gradient > -1e-4).all()
        assert np.abs(gradient * x).max() < 1e-4


def test_known_multipliers_are_found_again() -> None:
    stack = drawn(200)
    found = multipliers(stack, SumRecipe(ridge=0.05))
    for kind, value in TRUE.items():
        assert found[:, kind] == pytest.approx(value, rel=0.1)
