"""Measured kernels of one class, one machine and one element type, as columns.

`perfc_lab.tables` yields them, experiments train and test on them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.analyzers.features.rows import DataError, Protocol
from perfc.ir import entity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.analyzers.features.classes import Array, Columns


@entity
class Rows:
    """Measurements of kernels of one class on one machine, under one protocol.

    Args:
        class_name: class name of `perfc.analyzers.features.classes`.
        target: name of the machine's target.
        dtype: element type that is computed in, ``bf16``.
        protocol: how the time was taken.
        framework: whose kernels they are, ``vllm``; empty where one library alone is known.
        columns: the class's parameters, one element a row.
        time_s: time of one call.
        power_w: mean board power, NaN where not measured; None where no row has any.

    Raises:
        DataError: columns of different lengths, or a time that is not a positive number.
    """

    class_name: str
    target: str
    dtype: str
    protocol: Protocol
    framework: str
    columns: Columns
    time_s: Array
    power_w: Array | None = None

    def __post_init__(self) -> None:
        where = f"{self.class_name} on {self.target}, {self.dtype} {self.framework}".rstrip()
        for name, column in (*self.columns.items(), ("power_w", self.power_w)):
            if column is not None and len(column) != len(self.time_s):
                raise DataError(
                    f"{len(column)} of {name} and {len(self.time_s)} times", where=where
                )
        wrong = np.flatnonzero(~(np.isfinite(self.time_s) & (self.time_s > 0)))
        if len(wrong):
            raise DataError(
                f"{len(wrong)} of {len(self)} times are none: row {wrong[0]} takes "
                f"{self.time_s[wrong[0]]} s",
                where=where,
                hint="a time is a positive number; drop such rows",
            )

    def __len__(self) -> int:
        return len(self.time_s)

    def take(self, which: NDArray[np.bool_] | NDArray[np.int64]) -> Rows:
        """Return the rows of a mask, or of indices."""
        columns: Mapping[str, Array] = {n: c[which] for n, c in self.columns.items()}
        power = None if self.power_w is None else self.power_w[which]
        return replace(self, columns=columns, time_s=self.time_s[which], power_w=power)
