"""Every rule against PyTorch's autograd, both executed: shapes and numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("torch")

from tests.gradients.cases import cases, operands
from tests.gradients.harness import gradients, largest_error

CASES = list(cases())
TOLERANCE = 2e-4
"""Maximum error relative to the largest element of a gradient, in f32."""


@pytest.mark.parametrize(("_", "function", "stated"), CASES, ids=[c[0] for c in CASES])
def test_every_rule_agrees_with_autograd(
    _: str, function: Callable[..., Any], stated: list[Any]
) -> None:
    theirs, ours = gradients(function, operands(stated))
    assert largest_error(theirs, ours) < TOLERANCE


def test_there_are_two_hundred_cases() -> None:
    assert len({name for name, _, _ in CASES}) == len(CASES) >= 200
