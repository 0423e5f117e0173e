"""Rows that are reduced and written again: softmax and normalisation."""

from __future__ import annotations

from typing import NamedTuple

from ..dim import Dim


class Rows(NamedTuple):
    """``rows`` with statistics of their own, of ``elements`` in all."""

    rows: Dim
    elements: Dim
