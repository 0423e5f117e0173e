"""Problem size of recurrent layers."""

from __future__ import annotations

from typing import NamedTuple

from ..symbolic.dim import Dim


class Recurrence(NamedTuple):
    """``steps`` that depend on one another."""

    steps: Dim
