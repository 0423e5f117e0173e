"""In what element types a model is served: its weights, its cache, and all that lies between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum

from perfc.errors import ParseError
from perfc.ir.record import record
from perfc.ir.types import DType, dtype_named


class WeightFormat(Enum):
    """How the weights of linear layers are stored and multiplied, by the usual name."""

    HALF = "half"
    """16 bits, products in 16 bits."""
    F8 = "f8"
    """8-bit floats with one scale a tensor; activations are quantised too."""
    F8_BLOCK = "f8-block"
    """8-bit floats with a scale a block of 128 by 128; activations by 128."""
    I8 = "i8"
    """8-bit integers with a scale a column; activations are quantised too (SmoothQuant)."""
    W8 = "w8"
    """8-bit weights with a scale for 128 of them, widened to 16 bits (GPTQ, Marlin)."""
    I4 = "i4"
    """4-bit integers with a scale for 128 of them, widened to 16 bits (AWQ, GPTQ)."""
    NVFP4 = "nvfp4"
    """4-bit floats with a scale for 16 of them; activations are quantised too."""
    MXFP4 = "mxfp4"
    """4-bit floats with a scale for 32 of them, widened to 16 bits."""
    MXFP4_F8 = "mxfp4-f8"
    """The same, but experts multiply in 8-bit floats: their activations are quantised by 32."""

    __hash__ = object.__hash__

    @property
    def bits(self) -> int:
        """Of one stored weight, scales left out."""
        return _BITS[self]

    @property
    def block(self) -> int:
        """Weights along the contracted axis that share a scale; 0 where all do."""
        return _BLOCKS.get(self, 0)

    @property
    def multiplied(self) -> DType | None:
        """Element type of both factors of a product; None where it is that of activations."""
        return _MULTIPLIED.get(self)


_BITS = {
    WeightFormat.HALF: 16, WeightFormat.F8: 8, WeightFormat.F8_BLOCK: 8, WeightFormat.I8: 8,
    WeightFormat.W8: 8,    WeightFormat.I4: 4, WeightFormat.NVFP4: 4, WeightFormat.MXFP4: 4,
    WeightFormat.MXFP4_F8: 4,
}  # fmt: skip
_BLOCKS = {
    WeightFormat.F8_BLOCK: 128, WeightFormat.W8: 128, WeightFormat.I4: 128, WeightFormat.NVFP4: 16,
    WeightFormat.MXFP4: 32, WeightFormat.MXFP4_F8: 32,
}  # fmt: skip
_MULTIPLIED = {
    WeightFormat.F8: DType.F8E4M3FN, WeightFormat.F8_BLOCK: DType.F8E4M3FN,
    WeightFormat.I8: DType.I8, WeightFormat.NVFP4: DType.F4E2M1,
}  # fmt: skip
_WIDENED = {
    WeightFormat.F8: WeightFormat.W8, WeightFormat.F8_BLOCK: WeightFormat.W8,
    WeightFormat.I8: WeightFormat.W8, WeightFormat.NVFP4: WeightFormat.MXFP4,
    WeightFormat.MXFP4_F8: WeightFormat.MXFP4,
}  # fmt: skip
"""Formats of as many bits whose weights are widened, where a machine multiplies none so narrow."""
_ALIASES = {
    "fp8": "f8", "f8e4m3": "f8", "fp8-block": "f8-block", "int8": "i8", "int4": "i4", "awq": "i4",
    "gptq": "i4", "fp4": "nvfp4", "f4e2m1": "nvfp4", "bf16": "half", "f16": "half",
    "w8a16": "w8", "gptq-int8": "w8", "fp16": "half", "bfloat16": "half", "float16": "half",
}  # fmt: skip
HALVES = {
    "float16": DType.F16, "f16": DType.F16, "fp16": DType.F16, "float32": DType.F16,
}  # fmt: skip
"""Stored types that serving engines run in f16; all others run in bf16."""


@record
class Precision:
    """Element types of a model that is served.

    Embeddings, normalisations, routers and the head stay in ``half``, as serving engines have it.

    Args:
        weights: format of the linear layers.
        half: element type of activations and of what is not quantised.
        cache: element type of cached keys and values; None for that of activations.
        experts: format of the experts; None for that of the other linear layers.
        state: element type of the states of state spaces, which engines keep in 32 bits.
    """

    weights: WeightFormat = WeightFormat.HALF
    half: DType = DType.BF16
    cache: DType | None = None
    experts: WeightFormat | None = None
    state: DType = DType.F32

    @property
    def cached(self) -> DType:
        """Element type of cached keys and values."""
        return self.cache or self.half

    @property
    def of_experts(self) -> WeightFormat:
        """Format of the experts."""
        return self.experts or self.weights


def weight_format(name: str) -> WeightFormat:
    """The format that ``name`` asks for, however it is spelled.

    Raises:
        ParseError: there is none.

    >>> weight_format("FP8").value, weight_format("awq").value
    ('f8', 'i4')
    """
    plain = name.strip().lower().replace("_", "-")
    try:
        return WeightFormat(_ALIASES.get(plain, plain))
    except ValueError:
        choice = ", ".join(f.value for f in WeightFormat)
        raise ParseError(f"no format of weights {name[:32]!r}", hint=f"one of {choice}") from None


def in_half(precision: Precision, takes: Callable[[str], bool]) -> Precision:
    """The precision with f16 in the place of bf16 where the machine multiplies no bf16.

    vLLM wants ``--dtype half`` there, SGLang takes it by itself, and TensorRT-LLM has no other.

    Args:
        precision: as asked for.
        takes: whether the machine multiplies a type, by its code, at a rate of its own.
    """
    if takes("bf16") or precision.half is not DType.BF16:
        return precision
    cache = DType.F16 if precision.cache is DType.BF16 else precision.cache
    return replace(precision, half=DType.F16, cache=cache)


def runnable(precision: Precision, takes: Callable[[str], bool]) -> Precision:
    """The precision in which an engine runs a model: also as `in_half` has it.

    Weights in a type that the machine does not multiply are widened on their way into products, as
    Marlin's kernels of vLLM do.
    """

    def form(asked: WeightFormat) -> WeightFormat:
        narrow = DType.F8E4M3FN if asked is WeightFormat.MXFP4_F8 else asked.multiplied
        return asked if narrow is None or takes(narrow.code) else _WIDENED[asked]

    experts = precision.experts
    return replace(
        in_half(precision, takes), weights=form(precision.weights),
        experts=None if experts is None else form(experts),
    )  # fmt: skip


def precision_of(stored: str, quantization: str, weights: str = "", cache: str = "") -> Precision:
    """The precision of a model as it is published, or with other weights or another cache.

    Args:
        stored: element type that the configuration states.
        quantization: method that the configuration states, "" for none.
        weights: another format of weights, "" for the published one.
        cache: element type of cached keys and values, "" for that of activations.

    Raises:
        ParseError: no such format or type.
    """
    half = HALVES.get(stored.lower(), DType.BF16)
    plain = weights.strip().lower()
    if plain in ("bf16", "bfloat16"):
        half = DType.BF16
    elif plain in HALVES:
        half = HALVES[plain]
    stated = plain or _PUBLISHED.get(quantization.lower(), "")
    cached = dtype_named(cache) if cache else None
    if quantization.lower() == "mxfp4" and plain in ("", *_OF_EXPERTS):
        # gpt-oss: only experts are stored in four bits
        return Precision(WeightFormat.HALF, half, cached, WeightFormat(plain or "mxfp4"))
    return Precision(weight_format(stated or "half"), half, cached)


_OF_EXPERTS = frozenset({WeightFormat.MXFP4.value, WeightFormat.MXFP4_F8.value})
_PUBLISHED = {
    "fp8": "f8-block", "awq": "i4", "gptq": "i4", "compressed-tensors": "", "modelopt": "",
    "bitsandbytes": "",
}  # fmt: skip
