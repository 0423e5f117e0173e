"""Operands of operators of a trace: element types by the words of the tools, sizes, roles.

Cost models read a call through `CallOperands`: its tensors and values by the letters of their
roles.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from functools import cache

from perfc.common.fitted import data_next_to
from perfc.errors import ParseError
from perfc.ir import DType, dtype_named, record

from ..facts import Argument, OperatorCall, TensorArgument
from .operators import OperatorSignature

_TABLE = data_next_to(__file__)
_WORDS: dict[str, str] = _TABLE["words"]
"""Words of Kineto and of kernels that `dtype_named` does not know."""
SCALAR_TYPES: list[str] = _TABLE["scalars"]
"""Element types by their number in ``c10/core/ScalarType.h``."""
_OPAQUE = re.compile(r"OpaqueType<(\d+)")
"""Kernels that only copy bits name the size of an element: ``OpaqueType<4>``."""
_BY_SIZE = {1: DType.U8, 2: DType.F16, 4: DType.F32, 8: DType.F64, 16: DType.C128}
"""A type for each size of an element. Kernels that name only the size copy: no rate is needed."""
_REAL = re.compile(
    r"(?<![\w:])(?:c10::(?:BFloat16|Half)|__half|__(?:nv|hip)_bfloat16|float|double)\b"
)
"""Real types of C++ among the template arguments of a kernel: it computes in one of them."""
_FIRST = re.compile(r"<(?:unsigned char|signed char|long|int|short|bool)\b(?! int)")
"""Integers that begin a list of template arguments, read only where no real type is named: later
integers may be types of indices."""
MOST_ELEMENTS = 1 << 40
"""Maximum elements of an operand; extents of a damaged trace multiply to more."""
PACKED = 2
"""Values in one element of a type whose name ends in ``x2``, as two 4-bit numbers in a byte."""


@record
class OperandTensor:
    """Operand or result with a known element type.

    Args:
        dtype: element type.
        sizes: extents in elements.
        packed: values in one element, as 2 for a pair of 4-bit numbers.
        held: elements in memory, if an expanded axis shares them; None if there are all.
    """

    dtype: DType
    sizes: tuple[int, ...]
    packed: int = 1
    held: int | None = None

    @property
    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self.sizes)

    @property
    def nbytes(self) -> float:
        """Return the bytes in memory."""
        held = self.numel if self.held is None else self.held
        return held * self.packed * self.dtype.bits / 8


@cache
def dtype_of(word: str) -> DType | None:
    """Return the element type that a tool's word names; None if it is unknown.

    >>> [str(dtype_of(word)) for word in ("c10::BFloat16", "long int", "TensorList")]
    ['bf16', 'i64', 'None']
    """
    try:
        return dtype_named(_WORDS.get(word) or word.removeprefix("c10::"))
    except ParseError:
        return None


def dtype_in(kernels: Iterable[str]) -> DType | None:
    """Return the narrowest element type in names of kernels: of real types, else of integers.

    >>> str(dtype_in(["CatArrayBatchedCopy<at::native::OpaqueType<2u>, unsigned int, 4>"]))
    'f16'
    """
    text = " ".join(kernels)
    if sizes := [_BY_SIZE[int(n)] for n in _OPAQUE.findall(text) if int(n) in _BY_SIZE]:
        return min(sizes, key=lambda d: d.bits)
    words = _REAL.findall(text) or [w[1:] for w in _FIRST.findall(text)]
    known = [d for d in map(dtype_of, words) if d is not None]
    return min(known, key=lambda d: d.bits, default=None)


def tensor_of(argument: TensorArgument, listed: DType | None) -> OperandTensor | None:
    """Return an operand; None if its element type is unknown.

    Args:
        argument: argument of a trace.
        listed: element type for members of lists, for which traces record none.
    """
    dtype = dtype_of(argument.dtype) if argument.dtype else listed
    if dtype is None:
        return None
    packed = PACKED if argument.dtype.endswith("x2") else 1
    return OperandTensor(dtype, argument.sizes, packed, argument.held)


def promoted(
    tensors: Iterable[OperandTensor], scalars: Iterable[object], *, is_real: bool
) -> DType:
    """Return the element type of a result by the rules of PyTorch.

    Tensors with axes decide before those without, and these before numbers, within a category:
    truth values, integers, real and complex numbers.

    Args:
        tensors: operands.
        scalars: numbers among the arguments.
        is_real: True if integers give real numbers.

    Source: https://docs.pytorch.org/docs/stable/tensor_attributes.html#type-promotion-doc
    """
    operands = list(tensors)
    best, rank = DType.BOOL, -1
    for group in ([t for t in operands if t.sizes], [t for t in operands if not t.sizes]):
        category = max((category_of(t.dtype) for t in group), default=-1)
        if category > rank:
            dtypes = [t.dtype for t in group if category_of(t.dtype) == category]
            widest = max(dtypes, key=lambda d: d.bits)
            if {DType.F16, DType.BF16} <= {*dtypes} and widest.bits == 16:
                widest = DType.F32  # neither holds all values of the other
            if rank >= 0 and widest is DType.F64:
                widest = DType.F32  # a wrapped number of Python, which has the default type
            best, rank = widest, category
    has_real = any(isinstance(s, float) for s in scalars)
    return DType.F32 if rank < category_of(DType.F32) and (is_real or has_real) else best


def category_of(dtype: DType) -> int:
    """Return the category of a type in promotions: truth, integers, real, complex numbers."""
    if dtype is DType.BOOL:
        return 0
    return 1 if dtype.is_integer else 2 if dtype.is_float else 3


class UnknownOperandError(ValueError):
    """An argument, or its element type, that a cost needs and the trace does not have."""


class CallOperands:
    """Arguments of a call by their roles, the letters of `operators.TABLE`.

    Raises:
        UnknownOperandError: a tensor with an unknown element type.
    """

    def __init__(
        self, call: OperatorCall, signature: OperatorSignature, kernels: Sequence[str]
    ) -> None:
        self.call, self.signature, self.kernels = call, signature, kernels
        self.listed = dtype_in(kernels)
        self.result = None if call.result is None else self.tensor(call.result)

    def tensor(self, argument: TensorArgument) -> OperandTensor:
        """Return a tensor with its element type."""
        operand = tensor_of(argument, self.listed)
        if operand is None or operand.numel > MOST_ELEMENTS or min(operand.sizes, default=1) < 0:
            raise UnknownOperandError(argument.dtype)
        return operand

    def tensors(self, index: int) -> list[OperandTensor]:
        """Return the tensors of an argument, several for a list."""
        argument = self.call.arguments[index] if index < len(self.call.arguments) else None
        if isinstance(argument, TensorArgument) and self.signature.roles[index : index + 1] == "l":
            raise UnknownOperandError("l")  # role of lists, where old traces record a result
        if isinstance(argument, TensorArgument):
            return [self.tensor(argument)]
        several = argument if isinstance(argument, tuple) else ()
        return [self.tensor(t) for t in several if isinstance(t, TensorArgument)]

    def with_roles(self, roles: str) -> list[OperandTensor]:
        """Return the tensors of all arguments with one of some roles."""
        indices = (i for i, role in enumerate(self.signature.roles) if role in roles)
        return [t for i in indices for t in self.tensors(i)]

    def one(self, role: str) -> OperandTensor:
        """Return the first tensor of a role.

        Raises:
            UnknownOperandError: there is none.
        """
        tensors = self.with_roles(role)
        if not tensors:
            raise UnknownOperandError(role)
        return tensors[0]

    def value(self, role: str) -> Argument:
        """Return the number or the numbers of a role; None if not recorded."""
        index = self.signature.roles.find(role)
        argument = self.call.arguments[index] if 0 <= index < len(self.call.arguments) else None
        return None if isinstance(argument, TensorArgument) else argument

    def extents(self, role: str, rank: int) -> tuple[int, ...]:
        """Return a number for each axis; a single recorded number applies to all axes.

        Raises:
            UnknownOperandError: they are not recorded.
        """
        recorded = self.value(role)
        several = recorded if isinstance(recorded, tuple) else (recorded,)
        numbers = tuple(e for e in several if isinstance(e, int))
        if len(numbers) not in (1, rank):
            raise UnknownOperandError(role)
        return numbers * (rank // len(numbers))
