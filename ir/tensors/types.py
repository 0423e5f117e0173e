"""Types of values: tensors with symbolic shapes, sequences, optionals, and their element types."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import field
from enum import Enum
from functools import cache, lru_cache
from typing import Any, TypeAlias

from perfc.common.fitted import data_next_to
from perfc.errors import ParseError

from ..record import record
from ..symbolic.dim import Dim, Poly


class DType(Enum):
    """Element type. ``bits`` is the storage width; ``onnx`` the number in ``TensorProto.DataType``.

    ``is_float`` is True for real floating-point numbers, 4-bit and 8-bit ones included.
    ``STR`` elements have no fixed width: 0 bits, and ``nbytes`` of such tensors is unknown.
    ``UNKNOWN`` marks an element type that could not be inferred.
    """

    F32 = ("f32", 32, 1)
    U8 = ("u8", 8, 2)
    I8 = ("i8", 8, 3)
    U16 = ("u16", 16, 4)
    I16 = ("i16", 16, 5)
    I32 = ("i32", 32, 6)
    I64 = ("i64", 64, 7)
    STR = ("str", 0, 8)
    BOOL = ("b1", 8, 9)  # stored in bytes
    F16 = ("f16", 16, 10)
    F64 = ("f64", 64, 11)
    U32 = ("u32", 32, 12)
    U64 = ("u64", 64, 13)
    C64 = ("c64", 64, 14)
    C128 = ("c128", 128, 15)
    BF16 = ("bf16", 16, 16)
    F8E4M3FN = ("f8e4m3", 8, 17)
    F8E4M3FNUZ = ("f8e4m3fnuz", 8, 18)
    F8E5M2 = ("f8e5m2", 8, 19)
    F8E5M2FNUZ = ("f8e5m2fnuz", 8, 20)
    U4 = ("u4", 4, 21)
    I4 = ("i4", 4, 22)
    F4E2M1 = ("f4e2m1", 4, 23)
    F8E8M0 = ("f8e8m0", 8, 24)
    U2 = ("u2", 2, 25)
    I2 = ("i2", 2, 26)
    F6E2M3 = ("f6e2m3", 6, 27)
    F6E3M2 = ("f6e3m2", 6, 28)
    TF32 = ("tf32", 32, -1)  # rounding of operands, which ONNX has no type for; stored as f32
    UNKNOWN = ("?", 0, 0)  # ONNX: UNDEFINED

    code: str
    bits: int
    onnx: int
    is_float: bool

    def __init__(self, code: str, bits: int, onnx: int) -> None:
        self.code, self.bits, self.onnx = code, bits, onnx
        self.is_float = code.startswith(("f", "bf", "tf"))

    # members are compared by identity: this hash is faster than that of the name, as `Enum` has it
    __hash__ = object.__hash__

    def __str__(self) -> str:
        return self.code

    @property
    def is_integer(self) -> bool:
        """Return True if elements are integers, signed or not; booleans are not."""
        return self.code[0] in "iu"

    @property
    def is_signed(self) -> bool:
        """Return True if elements can be negative."""
        return self.is_float or self.code.startswith("i")


# TF32 and UNKNOWN have no number in ONNX
BY_ONNX: dict[int, DType] = {d.onnx: d for d in DType if d.onnx > 0}
BY_CODE: dict[str, DType] = {d.code: d for d in DType}


def dtype_of(number: object) -> DType:
    """Return the element type with this number in ``TensorProto.DataType``."""
    if isinstance(number, DType):
        return number
    return BY_ONNX.get(number, DType.UNKNOWN) if isinstance(number, int) else DType.UNKNOWN


SPELLINGS, _PREFIXES = data_next_to(__file__).values()
"""Codes of element types by names that follow no pattern, without underscores and dashes; and the
letters of codes by the words before the bits, such as ``f`` by ``float``."""


def dtype_named(name: str) -> DType:
    """Return the element type that perfc, ONNX, NumPy, PyTorch or a command line calls ``name``.

    Raises:
        ParseError: no element type has this name.

    >>> [dtype_named(n).code for n in ("fp16", "half", "torch.float8_e4m3fn", "INT8", "tf32")]
    ['f16', 'f16', 'f8e4m3', 'i8', 'tf32']
    """
    plain = re.sub(r"[_-]", "", name.strip().lower().rpartition(".")[2])
    # ``float16``, ``int8``: the code's letters replace the word, and the bits stay
    if plain not in SPELLINGS and (parts := re.fullmatch(r"([a-z]+)(\d\w*)", plain)):
        plain = _PREFIXES.get(parts[1], parts[1]) + parts[2]
    dtype = BY_CODE.get(SPELLINGS.get(plain, plain))
    if dtype is None or dtype is DType.UNKNOWN:
        raise ParseError(
            f"no element type {name[:32]!r}", hint="such as f32, f16, bf16, f8e4m3, i8"
        )
    return dtype


@cache
def bits_of(name: str) -> int:
    """Return the storage bits of an element of the type called ``name``.

    Raises:
        ParseError: no element type has this name.

    >>> bits_of("f8e4m3"), bits_of("i4"), bits_of("tf32")
    (8, 4, 32)
    """
    return dtype_named(name).bits


Shape: TypeAlias = "tuple[Dim, ...]"
"""Extents by axis; () of a scalar."""


@lru_cache(maxsize=1 << 12)
def element_count(shape: Shape) -> Dim:
    """Return the product of the extents, 1 for a scalar; recent shapes are cached."""
    total: Dim = 1
    for d in shape:
        total = total * d
    return total


def storage_bytes(count: Dim, bits: int) -> Dim:
    """Return bytes of ``count`` elements of ``bits`` each; sub-byte elements are packed."""
    if bits % 8 == 0:
        return count * (bits // 8)
    return (count * bits + 7) // 8


@record
class TensorType:
    """Element type and shape, ``f16[N, 64, 56, 56]``; ``shape`` None means unknown rank.

    Types are keys of the caches of every pass, so a type caches its hash. It is not pickled, as
    hashes of enums differ between processes.
    """

    dtype: DType
    shape: Shape | None
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((self.dtype, self.shape)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        return TensorType, (self.dtype, self.shape)

    @property
    def rank(self) -> int | None:
        """Return the number of axes, None if unknown."""
        return None if self.shape is None else len(self.shape)

    @property
    def numel(self) -> Dim | None:
        """Return the number of elements, None if the rank is unknown."""
        return None if self.shape is None else element_count(self.shape)

    @property
    def nbytes(self) -> Dim | None:
        """Return bytes of the packed elements; None if the shape or element width is unknown."""
        return _nbytes(self)

    @property
    def known_nbytes(self) -> int | None:
        """Return bytes of the packed elements; None unless they are a number."""
        return self.nbytes if isinstance(self.nbytes, int) else None

    @property
    def is_static(self) -> bool:
        """Return True if every extent is a number."""
        return self.shape is not None and not any(isinstance(d, Poly) for d in self.shape)

    def __str__(self) -> str:
        if self.shape is None:
            return f"{self.dtype}[*]"
        return f"{self.dtype}[{', '.join(map(str, self.shape))}]"


@lru_cache(maxsize=1 << 12)
def _nbytes(type_: TensorType) -> Dim | None:
    """Return bytes of a tensor; recent types are cached."""
    if type_.shape is None or type_.dtype.bits == 0:
        return None
    return storage_bytes(element_count(type_.shape), type_.dtype.bits)


MAX_ITEMS = 64
"""Elements of a sequence whose types are tracked individually; later ones share a type."""


@record
class SequenceType:
    """A list of values of one type; ``length`` None when not known.

    ``items`` are the types of the first elements if they are narrower than ``elem``, which
    covers every element; at most ``MAX_ITEMS``. Construct with
    :func:`perfc.ir.tensors.join.sequence_type`.
    """

    elem: Type
    length: Dim | None = None
    items: tuple[Type, ...] | None = None

    def __str__(self) -> str:
        if not self.items:
            return f"seq<{self.elem}{'' if self.length is None else f'; {self.length}'}>"
        length = "?" if self.length is None else self.length
        return f"seq<{self.elem}; {length}; {', '.join(map(str, self.items))}>"


@record
class OptionalType:
    """A value that may be absent."""

    elem: Type

    def __str__(self) -> str:
        return f"opt<{self.elem}>"


@record
class MapType:
    """A dictionary (``ai.onnx.ml``): keys of one element type, values of one type."""

    key: DType
    value: Type

    def __str__(self) -> str:
        return f"map<{self.key}, {self.value}>"


@record
class UnknownType:
    """A value about which nothing is known."""

    def __str__(self) -> str:
        return "?"


Type: TypeAlias = "TensorType | SequenceType | OptionalType | MapType | UnknownType"
UNKNOWN = UnknownType()


def with_tensors(
    type_: Type,
    change: Callable[[TensorType], TensorType],
    length: Callable[[Dim | None], Dim | None] = lambda n: n,
) -> Type:
    """Return ``type_`` with its tensors changed, including those in sequences and optionals.

    Args:
        type_: any type.
        change: maps a tensor type to another.
        length: maps the length of a sequence to another; unchanged by default.
    """
    match type_:
        case TensorType():
            return change(type_)
        case SequenceType(elem, count, items):
            each = None if items is None else tuple(with_tensors(t, change, length) for t in items)
            return SequenceType(with_tensors(elem, change, length), length(count), each)
        case OptionalType(elem):
            return OptionalType(with_tensors(elem, change, length))
        case _:
            return type_
