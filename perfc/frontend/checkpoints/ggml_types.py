"""Tensor types of GGML: elements and bytes of a block, which holds its scales.

Source: llama.cpp, ggml/include/ggml.h ``ggml_type`` and ggml/src/ggml-common.h ``block_*``.
"""

from __future__ import annotations

from perfc.ir import DType, record


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


def _float(name: str, nbytes: int, dtype: DType) -> GgmlType:
    return GgmlType(name, 1, nbytes, 8 * nbytes, dtype=dtype)


TYPES: dict[int, GgmlType] = {
    0: _float("f32", 4, DType.F32), 1: _float("f16", 2, DType.F16),
    2: GgmlType("q4_0", 32, 18, 4, 32), 3: GgmlType("q4_1", 32, 20, 4, 32),
    6: GgmlType("q5_0", 32, 22, 5, 32), 7: GgmlType("q5_1", 32, 24, 5, 32),
    8: GgmlType("q8_0", 32, 34, 8, 32),
    10: GgmlType("q2_k", 256, 84, 2, 16), 11: GgmlType("q3_k", 256, 110, 3, 16),
    12: GgmlType("q4_k", 256, 144, 4, 32), 13: GgmlType("q5_k", 256, 176, 5, 32),
    14: GgmlType("q6_k", 256, 210, 6, 16),
    16: GgmlType("iq2_xxs", 256, 66, 2, 32), 17: GgmlType("iq2_xs", 256, 74, 2, 16),
    18: GgmlType("iq3_xxs", 256, 98, 3, 32), 19: GgmlType("iq1_s", 256, 50, 1, 32),
    20: GgmlType("iq4_nl", 32, 18, 4, 32), 21: GgmlType("iq3_s", 256, 110, 3, 32),
    22: GgmlType("iq2_s", 256, 82, 2, 16), 23: GgmlType("iq4_xs", 256, 136, 4, 32),
    24: _float("i8", 1, DType.I8), 25: _float("i16", 2, DType.I16),
    26: _float("i32", 4, DType.I32), 27: _float("i64", 8, DType.I64),
    28: _float("f64", 8, DType.F64), 29: GgmlType("iq1_m", 256, 56, 1, 16),
    30: _float("bf16", 2, DType.BF16), 34: GgmlType("tq1_0", 256, 54, 2, 256),
    35: GgmlType("tq2_0", 256, 66, 2, 256), 39: GgmlType("mxfp4", 32, 17, 4, 32),
    40: GgmlType("nvfp4", 64, 36, 4, 16), 41: GgmlType("q1_0", 128, 18, 1, 128),
}  # fmt: skip
"""Types by number in a file; those of intermediate results are left out."""
BLOCKS = {t.name: t for t in TYPES.values() if t.dtype is None}
"""Types of codes in blocks, by name."""
