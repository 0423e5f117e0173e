"""Layer normalisation and its kin: statistics of every row, then a pass that applies them."""

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

EAGER_S = 46e-6
THREADS = 128.0
"""Of a block, whatever the row."""


class Normalization(KernelClass):
    """``rows`` of ``cols`` elements, normalised along the row, scaled and shifted.

    Blocks of 128 threads read their row twice; rows that the caches do not keep pass memory
    thrice in all. Source: PyTorch 2.1, ``layer_norm_kernel.cu``.
    """

    name: ClassVar[str] = "normalization"
    parameters: ClassVar[tuple[str, ...]] = ("rows", "cols")
    categories: ClassVar[tuple[str, ...]] = reach.CATEGORIES

    def amounts(self, rows: Columns, dtype: str) -> Amounts:
        """Read and written once, a product and a sum an element.

        All of its kin do that much: where statistics are given none are summed, and not all
        normalisations read a scale and a shift.
        """
        n = rows["rows"] * rows["cols"]
        nbytes = n * bits_of(dtype) / 8
        nothing = np.zeros_like(n)
        return Amounts(nothing, nothing, 2 * n, nothing, nbytes, nbytes)

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Body against call, passes, blocks against what is resident."""
        threads = np.full_like(rows["cols"], THREADS)
        return features(rows, self.body_s(rows, dtype, sheet), EAGER_S, threads, dtype, sheet)

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
        threads = np.full_like(rows["cols"], THREADS)
        nbytes = rows["rows"] * rows["cols"] * bits_of(dtype) / 8
        times = passes(rows, 2.0, np.ones_like(threads), threads, dtype, sheet)
        body: Array = nbytes * times / reach.memory_bytes_per_s(sheet)
        return body
