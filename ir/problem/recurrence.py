"""Recurrent layers."""

from __future__ import annotations

from ..dim import Dim
from ..record import record


@record
class Recurrence:
    """``steps`` that wait for one another."""

    steps: Dim
