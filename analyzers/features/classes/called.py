"""Shared code of kernel classes whose rows are eager calls: a body and a call that overlaps it.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from .. import reach
from ..rows import Protocol
from ..sheet import Sheet
from . import Array, Columns, KernelClass


class Called(KernelClass):
    """A kernel and the eager call that launches it, which overlap a little."""

    eager_s: ClassVar[float]
    """Seconds of one eager call on the measured hosts with NVIDIA cards."""
    is_own: ClassVar[bool] = False
    """True if the kernel is the framework's own, not a library's: calls of such kernels take longer
    on GPUs of other vendors (`reach.call_s`)."""
    categories: ClassVar[tuple[str, ...]] = reach.CATEGORIES

    @abstractmethod
    def body_s(self, rows: Columns, dtype: str, sheet: Sheet) -> Array:
        """Return the time of the kernel without its call, at rates that usual kernels reach."""

    def category(
        self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol
    ) -> NDArray[np.intp]:
        """Return 0 for kernels that the launch bounds, 1 for those that the body bounds."""
        return reach.category(self.body_s(rows, dtype, sheet), self.eager_s)

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Return the time of body and call, joined by a norm, as the two overlap in part."""
        call = reach.call_s(protocol, sheet, self.eager_s, is_own=self.is_own)
        return reach.joined_s(call, self.body_s(rows, dtype, sheet))
