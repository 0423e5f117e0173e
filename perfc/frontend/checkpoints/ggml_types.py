"""Tensor types of GGML: elements and bytes of a block, which holds its scales.

Source: llama.cpp, ggml/include/ggml.h ``ggml_type`` and ggml/src/ggml-common.h ``block_*``.
"""

from __future__ import annotations

from typing import Any

from perfc.common.fitted import data_next_to
from perfc.ir import DType, dtype_named, record


@record
class GgmlType:
    """One tensor type.

    Args:
        name: name in lower case, as ``q4_k``.
        elements: elements of a block.
        nbytes: bytes of a block.
        bits: bits of the code of one element, without scales.
        scaled: elements that share a scale.
        dtype: element type; None for blocks of codes.
    """

    name: str
    elements: int
    nbytes: int
    bits: int
    scaled: int = 0
    dtype: DType | None = None

    @property
    def bits_per_weight(self) -> float:
        """Return the bits of one element, its share of scales included."""
        return 8 * self.nbytes / self.elements


def _type(name: str, *numbers: Any) -> GgmlType:
    """Return a type of the table.

    Args:
        name: its name.
        numbers: bytes of an element; for a type of blocks, the fields of `GgmlType` from
            ``elements`` to ``scaled``.
    """
    if len(numbers) > 1:
        return GgmlType(name, *numbers)
    (nbytes,) = numbers
    return GgmlType(name, elements=1, nbytes=nbytes, bits=8 * nbytes, dtype=dtype_named(name))


_TABLE = data_next_to(__file__)
TYPES: dict[int, GgmlType] = {int(number): _type(*values) for number, values in _TABLE.items()}
"""Types by their number in a file, without types that only intermediate results have."""
BLOCKS = {t.name: t for t in TYPES.values() if t.dtype is None}
"""Types of codes in blocks, by name."""
