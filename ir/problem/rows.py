"""Rows that are reduced and written again: softmax and normalisation."""

from __future__ import annotations

from ..dim import Dim
from ..record import record


@record
class Rows:
    """``rows`` with statistics of their own, of ``elements`` in all."""

    rows: Dim
    elements: Dim
