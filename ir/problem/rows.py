"""Rows that are reduced and written again: softmax and normalisation."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ..dim import Dim


class Span(Enum):
    """What of a tensor a row is."""

    AXES = "axes"
    """Some axes, the last ones as a rule."""
    GROUP = "group"
    """All positions of a few channels of one instance."""
    CHANNEL = "channel"
    """A channel of all instances, whose statistics are given when a model is run."""

    __hash__ = object.__hash__


class Rows(NamedTuple):
    """``elements`` of which ``rows`` have statistics of their own."""

    rows: Dim
    elements: Dim
    span: Span = Span.AXES
