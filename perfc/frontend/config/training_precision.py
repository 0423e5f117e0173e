"""Element types in which trainers' kernels run a configuration."""

from __future__ import annotations

from collections.abc import Callable

from perfc.errors import ParseError
from perfc.ir import DType, dtype_named

from .precision import ServingPrecision, WeightFormat, in_half, precision_of, weight_format

HALVES = ("bf16", "f16")
"""Types of mixed precision, the usual one first."""
FULL = ("f32", "tf32")
"""Types whose weights are f32."""


def usual_type(takes: Callable[[str], bool]) -> str:
    """Return the type that models are trained in on a machine: 16 bits if it multiplies them.

    Args:
        takes: whether the machine multiplies a type.
    """
    return next((name for name in HALVES if takes(name)), FULL[0])


def training_precision(dtype: str, takes: Callable[[str], bool]) -> ServingPrecision:
    """Return the element types of a step whose products have a type, on a machine.

    Args:
        dtype: as `type_named` returns it.
        takes: whether the machine multiplies a type.

    Raises:
        ParseError: an unknown format, autocast, or one whose weights have no gradient.
    """
    if dtype in FULL:
        return ServingPrecision(WeightFormat.HALF, DType.F32)
    return in_half(trained_in(usual_type(takes), dtype), takes)


def type_named(text: str) -> str:
    """Return the code of an element type, or a format of weights in lower case; "" for 16 bits.

    >>> type_named("float32"), type_named("half"), type_named("F8-Block")
    ('f32', '', 'f8-block')
    """
    name = text.strip().lower()
    if name in ("", WeightFormat.HALF.value):
        return ""
    try:
        return dtype_named(name).code
    except ParseError:
        return name


def is_packed(dtype: str) -> bool:
    """Return True for a format of few bits that is dequantized before each product.

    Raises:
        ParseError: an unknown format.
    """
    form = weight_format(dtype) if dtype else WeightFormat.HALF
    return form is not WeightFormat.HALF and form.multiplied is None


def trained_in(stored: str, dtype: str) -> ServingPrecision:
    """Return the element types of a training step.

    Args:
        stored: 16-bit type of the weights.
        dtype: format of matrix multiplications; "" for that type.

    Raises:
        ParseError: an unknown format, autocast, or one whose weights have no gradient.
    """
    if dtype.startswith("amp"):
        hint = "--dtype bf16 has f32 master weights, as language models are trained"
        raise ParseError("autocast is for graphs", where="--dtype", hint=hint)
    precision = precision_of(stored, None, dtype)
    for form in (precision.weights, precision.of_experts):
        is_float = form.multiplied is not None and form.multiplied.is_float
        if form is not WeightFormat.HALF and not is_float:
            offer = ", ".join(
                f.value for f in WeightFormat if f.multiplied and f.multiplied.is_float
            )
            raise ParseError(
                f"weights in {form.value} cannot be trained",
                where="--dtype",
                hint=f"half, {offer}; --lora-rank R trains adapters of frozen ones",
            )
    return precision
