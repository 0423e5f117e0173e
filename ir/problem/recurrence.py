"""Recurrent layers."""

from __future__ import annotations

from typing import NamedTuple

from ..dim import Dim


class Recurrence(NamedTuple):
    """``steps`` that wait for one another."""

    steps: Dim
