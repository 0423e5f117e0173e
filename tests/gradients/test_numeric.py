"""Every rule against PyTorch's autograd, both executed: shapes and numbers."""

from __future__ import annotations

import pytest

pytest.importorskip("torch")

from tests.gradients.cases import Case, cases, operands
from tests.gradients.harness import gradients, largest_error

CASES = list(cases())
TOLERANCE = 2e-4
"""Of the largest element of a gradient, in f32."""
STEP = 12
"""Of the cases one in so many is run every time."""


def check(case: Case) -> None:
    _, function, stated = case
    theirs, ours = gradients(function, operands(stated))
    assert largest_error(theirs, ours) < TOLERANCE


@pytest.mark.parametrize("case", CASES[::STEP], ids=lambda c: c[0])
def test_some_rules_agree_with_autograd(case: Case) -> None:
    check(case)


@pytest.mark.long
@pytest.mark.parametrize("case", CASES, ids=lambda c: c[0])
def test_every_rule_agrees_with_autograd(case: Case) -> None:
    check(case)


def test_there_are_two_hundred_cases() -> None:
    assert len({name for name, _, _ in CASES}) == len(CASES) >= 200
