"""Keywords of a deployment in the signatures of Python's functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import perfc
from perfc.deployment import KEYS


@pytest.mark.parametrize("function", [perfc.analyze, perfc.predict, perfc.compare, perfc.sweep])
def test_every_keyword_is_in_the_signature(function: Callable[..., Any]) -> None:
    parameters = inspect.signature(function).parameters
    missing = {*KEYS} - {"target"} - parameters.keys()
    assert not missing
    assert all(p.kind is not p.VAR_KEYWORD for p in parameters.values())
