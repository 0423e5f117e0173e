"""Elements of ONNX tensors: how each data type is stored, and its Python values."""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterable, Sequence
from enum import IntEnum
from functools import cache
from typing import Any

from perfc.errors import ParseError
from perfc.ir.tensors.types import BY_ONNX, dtype_named

Scalar = int | float | bool | bytes | complex


class DataType(IntEnum):
    """Element types (``TensorProto.DataType``)."""

    UNDEFINED = 0
    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    STRING = 8
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    COMPLEX64 = 14
    COMPLEX128 = 15
    BFLOAT16 = 16
    FLOAT8E4M3FN = 17
    FLOAT8E4M3FNUZ = 18
    FLOAT8E5M2 = 19
    FLOAT8E5M2FNUZ = 20
    UINT4 = 21
    INT4 = 22
    FLOAT4E2M1 = 23
    FLOAT8E8M0 = 24
    UINT2 = 25
    INT2 = 26
    FLOAT6E2M3 = 27
    FLOAT6E3M2 = 28


_D = DataType

_STRUCT_CODE: dict[int, str] = {
    _D.FLOAT: "f",
    _D.UINT8: "B",
    _D.INT8: "b",
    _D.UINT16: "H",
    _D.INT16: "h",
    _D.INT32: "i",
    _D.INT64: "q",
    _D.BOOL: "?",
    _D.FLOAT16: "e",
    _D.DOUBLE: "d",
    _D.UINT32: "I",
    _D.UINT64: "Q",
}
"""Letters of `struct` of the element types."""

FLOATS = frozenset({_D.FLOAT, _D.FLOAT16, _D.DOUBLE, _D.BFLOAT16})
"""Element types of floating-point arithmetic."""
MOST_ELEMENTS = 1024
"""Maximum elements of a constant that is read from a file; constants that extents are computed from
have fewer."""
MOST_FLOATS = 16
"""Maximum elements of a constant of real numbers that is read: an epsilon, a scale or a bound."""
ELEMENT_BITS: dict[int, int] = {d.onnx: d.bits for d in BY_ONNX.values() if d.bits}
"""Bits of an element by type; types without a fixed width, such as texts, are left out."""

_FLOAT_FIELD = frozenset({_D.FLOAT, _D.COMPLEX64})
"""Types stored in ``float_data``; a complex number is two floats (onnx.proto)."""
_DOUBLE_FIELD = frozenset({_D.DOUBLE, _D.COMPLEX128})
"""Types stored in ``double_data``."""
_UINT64_FIELD = frozenset({_D.UINT32, _D.UINT64})
"""Types stored in ``uint64_data`` (onnx.proto)."""
_SIX_BIT = frozenset({_D.FLOAT6E2M3, _D.FLOAT6E3M2})
"""Types of which four elements fill three bytes."""


@cache
def element_type(name: str) -> int:
    """Return the ONNX element type of a name in OpenVINO, MLIR or TVM; 0 if it has none.

    >>> [element_type(n) for n in ("fp16", "ui8", "i1", "f8E4M3FN", "float8_e5m2", "dynamic")]
    [10, 2, 9, 17, 19, 0]
    """
    other = {"boolean": "bool", "i1": "bool", "nf4": "f4e2m1", "string": "str"}
    try:
        return dtype_named(other.get(name, re.sub(r"^ui(?=\d)", "u", name))).onnx
    except ParseError:
        return 0


def stored_bytes(data_type: int, count: int) -> int | None:
    """Return the bytes of ``count`` elements in ``raw_data``; None for an unknown type.

    Sub-byte types fill whole bytes per tensor.
    """
    bits = ELEMENT_BITS.get(data_type)
    return None if bits is None else (count * bits + 7) // 8


def typed_field(data_type: int) -> str:
    """Return the name of the ``*_data`` field that may hold this type instead of ``raw_data``.

    Source: comments of ``TensorProto`` in onnx.proto3.
    """
    if data_type in _FLOAT_FIELD:
        return "float_data"
    if data_type in _DOUBLE_FIELD:
        return "double_data"
    if data_type in _UINT64_FIELD:
        return "uint64_data"
    if data_type == _D.INT64:
        return "int64_data"
    return "int32_data"


def pack_integers(data_type: int, numbers: Sequence[int]) -> bytes | None:
    """Return the ``raw_data`` of numbers of ``int32_data``, ``int64_data``, ``uint64_data``.

    A number of ``int32_data`` has the bits of one element; of a 4-bit type it has two elements, of
    a 2-bit type four, which are packed already.
    """
    bits = ELEMENT_BITS.get(data_type)
    # complex numbers of 128 bits stand in other fields
    if bits is None or bits > 64:
        return None
    # a stream of bits: the first number has the lowest bits
    if data_type in _SIX_BIT:
        stream = sum((number & 0x3F) << (6 * place) for place, number in enumerate(numbers))
        return stream.to_bytes((6 * len(numbers) + 7) // 8, "little")
    size = max(bits, 8) // 8
    mask = (1 << (8 * size)) - 1
    return b"".join((number & mask).to_bytes(size, "little") for number in numbers)


def unpack_elements(data_type: int, payload: bytes, count: int) -> tuple[Scalar, ...] | None:
    """Return the first ``count`` elements; None for unknown types and other lengths."""
    if stored_bytes(data_type, count) != len(payload):
        return None
    letter = _STRUCT_CODE.get(data_type)
    if letter is not None:
        return struct.unpack(f"<{count}{letter}", payload)
    match data_type:
        case _D.COMPLEX64 | _D.COMPLEX128:
            parts = iter(
                struct.unpack(f"<{2 * count}{'f' if data_type == _D.COMPLEX64 else 'd'}", payload)
            )
            # one iterator twice: each pair has two consecutive floats
            return tuple(complex(real, imaginary) for real, imaginary in zip(parts, parts))  # noqa: B905
        case _D.BFLOAT16:
            # a bfloat16 is the upper half of an f32
            halves = struct.unpack(f"<{count}H", payload)
            return struct.unpack(
                f"<{count}f", struct.pack(f"<{count}I", *(h << 16 for h in halves))
            )
        case _:
            table = _code_values(data_type)
            return tuple(table[code] for code in _codes(payload, ELEMENT_BITS[data_type], count))


def _codes(payload: bytes, bits: int, count: int) -> Iterable[int]:
    """Return the unsigned codes of a bit stream whose first element stands in the lowest bits."""
    if bits == 8:
        return payload
    mask = (1 << bits) - 1
    # the least number of whole bytes that holds whole elements: 3 for six bits, else 1
    group = 3 if bits == 6 else 1
    codes: list[int] = []
    for start in range(0, len(payload), group):
        word = int.from_bytes(payload[start : start + group], "little")
        codes.extend((word >> shift) & mask for shift in range(0, 8 * group, bits))
    return codes[:count]


@cache
def _code_values(data_type: int) -> tuple[int | float, ...]:
    """Return the value of every code of a type of at most eight bits.

    Source: OCP Microscaling Formats 1.0 §5.3 (E5M2, E4M3, E3M2, E2M3, E2M1, E8M0);
    arXiv:2206.02915 for the FNUZ forms (one zero, one NaN, bias larger by one).
    """
    match data_type:
        case _D.UINT4 | _D.UINT2:
            return tuple(range(1 << ELEMENT_BITS[data_type]))
        case _D.INT4:
            return (*range(8), *range(-8, 0))
        case _D.INT2:
            return (0, 1, -2, -1)
        case _D.FLOAT8E8M0:
            return (*(2.0 ** (code - 127) for code in range(255)), math.nan)
        case _D.FLOAT4E2M1:
            return _minifloat(2, 1, bias=1)
        case _D.FLOAT6E2M3:
            return _minifloat(2, 3, bias=1)
        case _D.FLOAT6E3M2:
            return _minifloat(3, 2, bias=3)
        case _D.FLOAT8E4M3FN:
            return _with(_minifloat(4, 3, bias=7), {0x7F: math.nan, 0xFF: math.nan})
        case _D.FLOAT8E4M3FNUZ:
            return _with(_minifloat(4, 3, bias=8), {0x80: math.nan})
        case _D.FLOAT8E5M2FNUZ:
            return _with(_minifloat(5, 2, bias=16), {0x80: math.nan})
        case _:  # FLOAT8E5M2
            special = {0x7C: math.inf, 0xFC: -math.inf}
            nans = dict.fromkeys((0x7D, 0x7E, 0x7F, 0xFD, 0xFE, 0xFF), math.nan)
            return _with(_minifloat(5, 2, bias=15), special | nans)


def _minifloat(exponent_bits: int, mantissa_bits: int, *, bias: int) -> tuple[float, ...]:
    """Return the values of all codes of a sign–exponent–mantissa format without special codes."""
    positive: list[float] = []
    for exponent in range(1 << exponent_bits):
        for mantissa in range(1 << mantissa_bits):
            fraction = mantissa / (1 << mantissa_bits)
            # exponent 0 is subnormal: no leading 1, the scale of exponent 1
            lead = 1.0 if exponent else 0.0
            positive.append((lead + fraction) * 2.0 ** (max(exponent, 1) - bias))
    return (*positive, *(-value for value in positive))


def _with(values: tuple[float, ...], special: dict[int, float]) -> tuple[float, ...]:
    """Return values of all codes with special ones replaced."""
    return tuple(special.get(code, value) for code, value in enumerate(values))


def packed(values: Sequence[Any], dtype: int) -> bytes:
    """Return elements as little-endian bytes.

    Raises:
        ValueError: an element type that constants do not have.
    """
    if dtype == _D.BFLOAT16:
        # the upper half of an f32, which comes last in little-endian order: rounded toward zero
        return b"".join(struct.pack("<f", float(v))[2:] for v in values)
    code = _STRUCT_CODE.get(dtype)
    if code is None:
        raise ValueError(f"no constants of element type {dtype}")
    # the letters f, d and e are the real types
    number: Any = float if code in "fde" else bool if code == "?" else int
    try:
        return struct.pack(f"<{len(values)}{code}", *(number(v) for v in values))
    except (struct.error, OverflowError):
        # a number is out of range: each is packed by itself
        return b"".join(limited(number(v), code) for v in values)


def limited(value: float, code: str) -> bytes:
    """Return the bytes of a number; out of the range of its type, of the closest number in it."""
    if code in "fde":
        try:
            return struct.pack(f"<{code}", value)
        except OverflowError:
            return struct.pack(f"<{code}", math.copysign(math.inf, value))
    bits = 8 * struct.calcsize(code)
    # `struct` has capital letters for unsigned types
    least, most = (0, 2**bits - 1) if code.isupper() else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return struct.pack(f"<{code}", min(max(int(value), least), most))


def is_small(dtype: int, count: int, nbytes: int) -> bool:
    """Return True if the elements of a constant are few enough to be read."""
    most = MOST_FLOATS if dtype in FLOATS else MOST_ELEMENTS
    # the widest element, a complex128, has 16 bytes
    return count <= most and 0 < nbytes <= 16 * most
