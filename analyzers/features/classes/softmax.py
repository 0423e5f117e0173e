"""Softmax over the last axis."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from perfc.ir.types import bits_of

from .. import reach
from . import Amounts, KernelClass
from .rowwise import features, passes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..rows import Protocol
    from ..sheet import Sheet
    from . import Array, Columns

EAGER_S = 34e-6
WARP_COLUMNS = 1024
"""Rows up to here stay in the registers of one warp, and are read once."""
VECTOR = 4
"""Elements a thread loads at once."""


class Softmax(KernelClass):
    """``rows`` of ``cols`` elements; maximum, sum and result are passes of one kernel.

    A row that does not fit into a warp's registers is read three times; what the caches do not
    keep between the passes is memory traffic. Source: PyTorch 2.1, ``SoftMax.cu`` and
    ``PersistentSoftmax.cuh``.
    """

    name: ClassVar[str] = "softmax"
    parameters: ClassVar[tuple[str, ...]] = ("rows", "cols")
    categories: ClassVar[tuple[str, ...]] = reach.CATEGORIES

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Read and written once; an exponential and a share of a division an element."""
        n = rows["rows"] * rows["cols"]
        nbytes = n * bits_of(dtype) / 8
        return Amounts(np.zeros_like(n), np.zeros_like(n), 2 * n, n, nbytes, nbytes)

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Body against call, passes, blocks against what is resident."""
        return features(
            rows, self.body_s(rows, dtype, sheet), EAGER_S, self.threads(rows), dtype, sheet
        )

    def category(
        self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol
    ) -> NDArray[np.intp]:
        """Whether the launch or the body takes longest."""
        return reach.category(self.body_s(rows, dtype, sheet), EAGER_S)

    def scale_s(self, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol) -> Array:
        """Traffic of the passes at the bandwidth that kernels reach, and the call."""
        call = reach.call_s(protocol, sheet, EAGER_S)
        return reach.joined_s(call, self.body_s(rows, dtype, sheet))

    def body_s(self, rows: Columns, dtype: str, sheet: Sheet) -> Array:
        """The kernel alone."""
        again = np.where(rows["cols"] <= WARP_COLUMNS, 0.0, 2.0)
        nbytes = rows["rows"] * rows["cols"] * bits_of(dtype) / 8
        times = passes(rows, 2.0, again, self.threads(rows), dtype, sheet)
        body: Array = nbytes * times / reach.memory_bytes_per_s(sheet)
        return body

    def threads(self, rows: Columns) -> Array:
        """Of a block: the least power of two that is half of one for each four elements.

        That is what ``SoftMax_getBlockSize`` gives, which stops at 512.
        """
        wanted = np.log2(np.maximum(rows["cols"] / VECTOR / 2, 32))
        threads: Array = np.clip(2 ** np.ceil(wanted), 32, 512)
        return threads
