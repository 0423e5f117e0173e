"""Problem size of matrix products."""

from __future__ import annotations

from typing import NamedTuple

from ..symbolic.dim import Dim


class Product(NamedTuple):
    """``batch`` products ``[m, k] × [k, n]``; grouped products divide all ``m`` rows among them.

    Args:
        batch: product of the leading axes.
        m: rows of one left operand.
        n: columns.
        k: reduced extent.
        is_shared: the whole batch has one right operand, so that it is one tall product.
        weight_bits: bits of a right operand that the kernel dequantizes; 0 if it does not.
        scale_block: elements of it that share a scale; 0 without scales.
        is_grouped: ``m`` counts the rows of all products together, evenly spread, as for tokens
            with different weights.
    """

    batch: Dim
    m: Dim
    n: Dim
    k: Dim
    is_shared: bool = False
    weight_bits: float = 0
    scale_block: int = 0
    is_grouped: bool = False

    @property
    def products(self) -> Dim:
        """Return the number of products with separate right operands."""
        return 1 if self.is_shared else self.batch

    @property
    def rows(self) -> Dim:
        """Return the rows of each product; for grouped products those of the largest."""
        if self.is_grouped:
            return -(-self.m // self.batch)
        return self.batch * self.m if self.is_shared else self.m
