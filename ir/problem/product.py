"""Matrix products."""

from __future__ import annotations

from typing import NamedTuple

from ..dim import Dim


class Product(NamedTuple):
    """``batch`` products ``[m, k] × [k, n]``; of groups, all ``m`` rows are spread over them.

    Args:
        batch: product of the leading axes.
        m: rows of one left operand.
        n: columns.
        k: extent summed over.
        is_shared: all of the batch meet one right operand, so that they are one tall product.
        weight_bits: of an element of a right operand that is widened inside; 0 where none is.
        scale_block: elements of it that share a scale; 0 where it has none.
        is_grouped: ``m`` are the rows of all products together, evenly spread, as of tokens whose
            weights differ.
    """

    batch: Dim
    m: Dim
    n: Dim
    k: Dim
    is_shared: bool = False
    weight_bits: int = 0
    scale_block: int = 0
    is_grouped: bool = False

    @property
    def products(self) -> Dim:
        """Products with a right operand of their own."""
        return 1 if self.is_shared else self.batch

    @property
    def rows(self) -> Dim:
        """Rows of each of them; of groups those of the largest."""
        if self.is_grouped:
            return -(-self.m // self.batch)
        return self.batch * self.m if self.is_shared else self.m
