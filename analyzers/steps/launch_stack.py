"""Launches of several steps or runs as one table, which trees evaluate in one call."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import entity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array

Configuration = tuple[str, ...]
"""Key of machine, precision and execution mode, in which rates of launches agree."""


@entity
class SumStack:
    """Launches of several steps as one table.

    Args:
        names: names of the features.
        values: features, ``[launches, features]``.
        kind: number of each launch's kind.
        scale_s: physical estimate of each launch times its repetitions.
        floor_s: lower bound of each launch times its repetitions.
        row: index of each launch's step.
        configuration: index in ``known`` of each step's configuration.
        known: configurations of the steps.
        time_s: measured time of each step; any other measured quantity where trees fit that one.
    """

    names: tuple[str, ...]
    values: NDArray[np.float32]
    kind: NDArray[np.intp]
    scale_s: Array
    floor_s: Array
    row: NDArray[np.intp]
    configuration: NDArray[np.intp]
    known: tuple[Configuration, ...]
    time_s: Array

    def __len__(self) -> int:
        return len(self.time_s)

    def total(self, per_launch: Array) -> Array:
        """Return the sum of ``per_launch`` over the launches of each step, ``[steps]``."""
        return np.bincount(self.row, per_launch, len(self)).astype(np.float64)
