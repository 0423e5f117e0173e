"""Problem size of rows that are reduced and written: softmax and normalization."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ..symbolic.dim import Dim


class Span(Enum):
    """Part of a tensor that forms a row."""

    AXES = "axes"
    """Some axes, usually the last ones."""
    GROUP = "group"
    """All positions of a few channels of one instance."""
    CHANNEL = "channel"
    """A channel of all instances; its statistics are inputs at inference."""

    __hash__ = object.__hash__


class Rows(NamedTuple):
    """``elements`` in ``rows`` with separate statistics."""

    rows: Dim
    elements: Dim
    span: Span = Span.AXES
