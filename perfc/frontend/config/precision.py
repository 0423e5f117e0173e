"""Choose the element types of a model that is served or trained: weights, caches, activations."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from enum import Enum
from functools import lru_cache

from perfc.common.fitted import data_next_to
from perfc.errors import ParseError
from perfc.ir import DType, dtype_named, record

from ..checkpoints.ggml_types import BLOCKS, GgmlType
from ..checkpoints.mixes import WeightMix
from ..checkpoints.stored import WeightFile
from .modules import matches, names_of


class WeightFormat(Enum):
    """Format in which weights of linear layers are stored and multiplied."""

    HALF = "half"
    """Not quantised: the type of activations, which has 16 bits in serving."""
    F8 = "f8"
    """8-bit floats with one scale per tensor; activations are quantised too."""
    F8_BLOCK = "f8-block"
    """8-bit floats with a scale per block of 128 × 128; activations have one per 128."""
    I8 = "i8"
    """8-bit integers with a scale per column; activations are quantised too (SmoothQuant)."""
    W8 = "w8"
    """8-bit weights with a scale per 128, widened to 16 bits (GPTQ, Marlin)."""
    I3 = "i3"
    """3-bit integers, else like `I4` (GPTQ)."""
    I2 = "i2"
    """2-bit integers, else like `I4`."""
    NF4 = "nf4"
    """4-bit codes of a table with an f32 scale per 64, widened to 16 bits (bitsandbytes)."""
    NF4_NESTED = "nf4-nested"
    """`NF4` with 8-bit scales, which are quantised themselves."""
    I4 = "i4"
    """4-bit integers with a scale per 128, widened to 16 bits (AWQ, GPTQ)."""
    NVFP4 = "nvfp4"
    """4-bit floats with a scale per 16; activations are quantised too."""
    MXFP4 = "mxfp4"
    """4-bit floats with a scale per 32, widened to 16 bits."""
    MXFP4_F8 = "mxfp4-f8"
    """`MXFP4` whose experts multiply in 8-bit floats: activations are quantised in groups of 32."""
    MXFP4_A4 = "mxfp4-a4"
    """4-bit floats with a scale per 32; activations are quantised too (Quark's W4A4)."""
    # blocks of GGML, which hold their scales
    Q1_0, Q2_K, Q3_K, Q4_0, Q4_1, Q4_K = "q1_0", "q2_k", "q3_k", "q4_0", "q4_1", "q4_k"
    Q5_0, Q5_1, Q5_K, Q6_K, Q8_0 = "q5_0", "q5_1", "q5_k", "q6_k", "q8_0"
    IQ1_S, IQ1_M, IQ2_XXS, IQ2_XS, IQ2_S = "iq1_s", "iq1_m", "iq2_xxs", "iq2_xs", "iq2_s"
    IQ3_XXS, IQ3_S, IQ4_NL, IQ4_XS = "iq3_xxs", "iq3_s", "iq4_nl", "iq4_xs"
    TQ1_0, TQ2_0 = "tq1_0", "tq2_0"

    __hash__ = object.__hash__  # by identity: Enum hashes the name, in Python

    @property
    def bits(self) -> int:
        """Return the bits of one stored weight, without scales."""
        ggml = self.ggml
        return int(_FORMATS[self]["bits"]) if ggml is None else ggml.bits

    @property
    def block(self) -> int:
        """Return the number of weights along the contracted axis that share a scale; 0 for all."""
        ggml = self.ggml
        return int(_FORMATS[self].get("block", 0)) if ggml is None else ggml.scaled

    @property
    def ggml(self) -> GgmlType | None:
        """Return the tensor type of GGML; None for another format."""
        return None if self in _FORMATS else BLOCKS[self.value]

    @property
    def multiplied(self) -> DType | None:
        """Return the type of both factors of a product; None for the type of activations."""
        name = _FORMATS.get(self, {}).get("multiplied")
        return dtype_named(name) if name else None


_TABLE = data_next_to(__file__)
_FORMATS = {WeightFormat(name): row for name, row in _TABLE.items()}
WEIGHT_FORMATS = {
    **{form.value: form for form in WeightFormat if form not in _FORMATS},
    "mxfp4": WeightFormat.MXFP4,
    "nvfp4": WeightFormat.MXFP4,
}
"""Formats by tensor type of GGML; its kernels widen 4-bit floats."""
_ALIASES = {other: name for name, row in _TABLE.items() for other in row.get("aliases", ())}
HALVES = {
    "float16": DType.F16,
    "f16": DType.F16,
    "fp16": DType.F16,
    "float32": DType.F16,
}
"""Stored types that serving engines run in f16; all others run in bf16. Source: vLLM, whose default
for float32 is float16."""


@record
class FormatRule:
    """Modules whose weights have another format than the rest.

    Args:
        modules: patterns, as `perfc.frontend.config.modules.matches` reads them.
        weights: format of these modules.
        group: weights that share a scale, as in `Quantization`.
    """

    modules: tuple[str, ...]
    weights: WeightFormat
    group: int = 0


@record
class Quantization:
    """Number formats of a checkpoint's weights.

    Args:
        weights: format of the linear layers.
        experts: format of the experts; None for that of the other linear layers.
        group: weights that share a scale; -1 for all of a column, 0 for the usual of the format.
        rules: formats of single modules; the first rule that matches a module applies.
        stored: formats of the tensors in the file, which override all others; None without a file.
    """

    weights: WeightFormat
    experts: WeightFormat | None = None
    group: int = 0
    rules: tuple[FormatRule, ...] = ()
    stored: WeightFile | WeightMix | None = None


@record
class ServingPrecision:
    """Element types of a model that is served.

    Embeddings, normalisations, routers and the head stay in ``half``, as serving engines have it.

    Args:
        weights: format of the linear layers.
        half: element type of activations, and of weights that are not quantised.
        cache: element type of cached keys and values; None for that of activations.
        experts: format of the experts; None for that of the other linear layers.
        state: element type of the states of state spaces, which engines keep in 32 bits.
        group: weights that share a scale, as in `Quantization`.
        rules: formats of single modules, as in `Quantization`.
        stored: formats of the tensors in the file, as in `Quantization`.
        scale_bits: bits that scales of the cache add to each cached element.
    """

    weights: WeightFormat = WeightFormat.HALF
    half: DType = DType.BF16
    cache: DType | None = None
    experts: WeightFormat | None = None
    state: DType = DType.F32
    group: int = 0
    rules: tuple[FormatRule, ...] = ()
    stored: WeightFile | WeightMix | None = None
    scale_bits: float = 0.0

    @property
    def cached(self) -> DType:
        """Return the element type of cached keys and values."""
        return self.cache or self.half

    @property
    def of_experts(self) -> WeightFormat:
        """Return the format of the experts."""
        return self.experts or self.weights

    @property
    def in_halves(self) -> ServingPrecision:
        """Return the precision with all weights in 16 bits."""
        return replace(self, weights=WeightFormat.HALF, experts=None, rules=(), stored=None)

    def block(self, form: WeightFormat, contracted: int, name: str) -> int:
        """Return the weights along a contracted extent that share a scale, in a named product."""
        rule = self._rule_of(name)
        group = self.group if rule is None else rule.group
        return contracted if group < 0 else group or form.block

    def format_of(self, name: str, usual: WeightFormat) -> WeightFormat:
        """Return the format of a product of the lowered model; ``usual`` where no rule names it."""
        rule = self._rule_of(name)
        return usual if rule is None else rule.weights

    def _rule_of(self, name: str) -> FormatRule | None:
        return _rule_of(name, self.rules) if self.rules else None


@lru_cache(maxsize=1 << 14)
def _rule_of(name: str, rules: tuple[FormatRule, ...]) -> FormatRule | None:
    """Return the first rule that names a product; None where none does."""
    layer, names = names_of(name)
    named = (rule for rule in rules if any(matches(p, layer, names) for p in rule.modules))
    return next(named, None)


def weight_format(name: str) -> WeightFormat:
    """Return the weight format of a name, in any of its spellings.

    Raises:
        ParseError: there is no format of that name.

    >>> weight_format("FP8").value, weight_format("awq").value
    ('f8', 'i4')
    """
    plain = name.strip().lower().replace("_", "-")
    try:
        plain = _ALIASES.get(plain, plain)
        # a mix of GGML, as Q4_K_M, is named after the blocks of most of its weights, Q4_K
        blocks = re.sub(r"(_k)_[sml]$", r"\1", plain.replace("-", "_"))
        return WeightFormat(blocks if blocks in BLOCKS else plain)
    except ValueError:
        choice = ", ".join(f.value for f in WeightFormat)
        raise ParseError(f"no format of weights {name[:32]!r}", hint=f"one of {choice}") from None


def in_half(precision: ServingPrecision, takes: Callable[[str], bool]) -> ServingPrecision:
    """Return the precision with f16 in the place of bf16 where the machine multiplies no bf16.

    vLLM wants ``--dtype half`` there, SGLang takes it by itself, and TensorRT-LLM has no other.

    Args:
        precision: the requested precision.
        takes: whether the machine multiplies a type, by its code, at a separate rate.
    """
    if takes("bf16") or precision.half is not DType.BF16:
        return precision
    cache = DType.F16 if precision.cache is DType.BF16 else precision.cache
    return replace(precision, half=DType.F16, cache=cache)


def runnable(precision: ServingPrecision, takes: Callable[[str], bool]) -> ServingPrecision:
    """Return the precision in which an engine runs a model on a machine.

    Weights in a type that the machine does not multiply are widened inside kernels, as Marlin of
    vLLM does. Layers of `MXFP4` multiply in 4 bits if the machine does, as those of Quark. If only
    experts are published in it, activations stay in 16 bits. Halves follow `in_half`.
    """

    def form(wanted: WeightFormat) -> WeightFormat:
        # of `MXFP4_F8`, experts alone multiply in 8 bits: the format has no `multiplied`
        narrow = DType.F8E4M3FN if wanted is WeightFormat.MXFP4_F8 else wanted.multiplied
        if narrow is None or takes(narrow.code):
            return wanted
        return WeightFormat(_FORMATS[wanted]["widened"])

    weights = form(precision.weights)
    if precision.weights is WeightFormat.MXFP4 and takes(DType.F4E2M1.code):
        weights = WeightFormat.MXFP4_A4
    experts, block = precision.experts, precision.weights.block
    return replace(
        in_half(precision, takes),
        weights=weights,
        # a widened format keeps its blocks if the new format has larger blocks: 16 of NVFP4
        group=precision.group or (block if block < weights.block else 0),
        experts=None if experts is None else form(experts),
        rules=tuple(replace(rule, weights=form(rule.weights)) for rule in precision.rules),
    )


def precision_of(
    stored: str, quantization: Quantization | None = None, weights: str = "", cache: str = ""
) -> ServingPrecision:
    """Return the precision of a model as it is published, or with other weights or another cache.

    Args:
        stored: element type that the configuration states.
        quantization: quantization that the configuration states; None for none.
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
    dtype, scale_bits = _cached(cache)
    base = ServingPrecision(half=half, cache=dtype, scale_bits=scale_bits)
    q = quantization
    # gpt-oss stores only experts in four bits: such a format replaces the format of experts alone
    is_of_experts = q is not None and q.experts is not None and plain in _OF_EXPERTS
    if q is None or (plain and not is_of_experts):
        return replace(base, weights=weight_format(plain or "half"))
    experts = WeightFormat(plain) if plain else q.experts
    return replace(
        base, weights=q.weights, experts=experts, group=q.group, rules=q.rules, stored=q.stored
    )


def _cached(name: str) -> tuple[DType | None, float]:
    """Return element type and bits of scales of a cache; blocks of GGML hold their scales.

    Raises:
        ParseError: there is no type of this name.
    """
    plain = name.strip().lower()
    if plain in BLOCKS:
        block = BLOCKS[plain]
        dtype = DType.I8 if block.bits > 4 else DType.I4
        # negative for blocks of 5 bits in I8: type and scales together have the bits of the block
        return dtype, block.bits_per_weight - dtype.bits
    if plain == WeightFormat.NVFP4.value:
        return DType.F4E2M1, 8 / WeightFormat.NVFP4.block  # an 8-bit scale for each block
    return (dtype_named(plain) if plain else None), 0.0


_OF_EXPERTS = frozenset({WeightFormat.MXFP4.value, WeightFormat.MXFP4_F8.value})
"""Formats that apply to the experts only, in models that store no other weights in few bits."""
MIXED_TYPES = ("bf16", "f16")
"""Types of mixed precision, the usual one first."""
SINGLE_TYPES = ("f32", "tf32")
"""Types whose weights are f32."""


def usual_type(takes: Callable[[str], bool]) -> str:
    """Return the type in which models are trained on a machine: 16 bits if it multiplies them.

    Args:
        takes: whether the machine multiplies a type.
    """
    return next((name for name in MIXED_TYPES if takes(name)), SINGLE_TYPES[0])


def training_precision(dtype: str, takes: Callable[[str], bool]) -> ServingPrecision:
    """Return the element types of a step whose products have a type, on a machine.

    Args:
        dtype: name of the type, as `type_named` returns it.
        takes: whether the machine multiplies a type.

    Raises:
        ParseError: an unknown format, autocast, or one whose weights have no gradient.
    """
    if dtype in SINGLE_TYPES:
        return ServingPrecision(half=DType.F32)
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
