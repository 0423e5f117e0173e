"""Return the stored weights of a model in one of llama.cpp's mixes of types, such as ``q4_k_m``.

A mix stores tensors by role and layer in different types. The rules are in
``frontend/checkpoints/mixes.toml``; source: llama.cpp, src/llama-quant.cpp,
``llama_tensor_get_type``.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from functools import lru_cache

from perfc.frontend.checkpoints.ggml_types import BLOCKS, TYPES, GgmlType
from perfc.frontend.checkpoints.mixes import TABLE, WeightMix
from perfc.frontend.checkpoints.stored import StoredWeight
from perfc.frontend.config import ForwardStep, ServingPrecision, lower
from perfc.frontend.config.mixers import Attention, Experts
from perfc.frontend.config.model import LanguageModel, mixers
from perfc.ir import DType, TensorType

WIDE = next(t for t in TYPES.values() if t.dtype is DType.F32)
"""Type of weights that no mix quantizes: norms, biases, routers, convolutions."""
LAYER = re.compile(r"(?:layers|decoder)\.(\d+)\.")
"""Number of the layer in the name of a weight."""


@lru_cache(maxsize=32)
def mix_of(model: LanguageModel, name: str) -> WeightMix:
    """Return the weights of a model in the mix of a name of the table."""
    graph = lower(model, ForwardStep.DECODE, ServingPrecision()).graph
    shapes = {
        v.name: tuple(map(int, v.type.shape or ()))  # type: ignore[arg-type]
        for v in graph.weights
        if isinstance(v.type, TensorType) and v.is_parameter
    }
    mix = _Mix(model, name, is_tied=not any(n.endswith(".head.weight") for n in shapes))
    return WeightMix({n: mix.stored(n, shape) for n, shape in shapes.items()}, tensors={})


class _Mix:
    """Types of the tensors of one model in one mix."""

    def __init__(self, model: LanguageModel, name: str, *, is_tied: bool) -> None:
        self.rules, self.is_tied = TABLE["mixes"][name], is_tied
        # the suffix is the variant of a mix: q4_k_m and q4_k_s both store most tensors as q4_k
        self.base = re.sub(r"_[sml]$", "", name)
        layers = model.decoder.layers if model.decoder is not None else ()
        self.count = len(layers)
        all_mixers = [m for layer in layers for m in mixers(layer)]
        self.attention = [
            next((m for m in mixers(layer) if isinstance(m, Attention)), None) for layer in layers
        ]
        # llama.cpp has rules for models of eight experts, as Mixtral (``n_expert == 8``)
        self.has_eight = any(isinstance(m, Experts) and m.count == 8 for m in all_mixers)
        # llama.cpp recognizes 70B models by these numbers
        has_few_heads = any(m is not None and m.kv_heads <= 8 for m in self.attention)
        self.is_large = self.count == 80 and has_few_heads

    def stored(self, name: str, shape: tuple[int, ...]) -> StoredWeight:
        """Return one weight of the lowered model with the bytes of its tensors in the mix."""
        parts = [(type_name, n) for type_name, n in self._parts(name, shape) if n]
        tensors = [(self._fitted(type_name, shape[-1]), n) for type_name, n in parts]
        # bytes of whole blocks; a fused weight gets the type of its largest tensor
        sizes = [-(-n // t.elements) * t.nbytes for t, n in tensors]
        largest, _ = tensors[sizes.index(max(sizes))]
        is_uniform = all(t is largest for t, _ in tensors)
        return StoredWeight(largest, math.prod(shape), sum(sizes), is_uniform=is_uniform)

    def _parts(self, name: str, shape: tuple[int, ...]) -> Iterator[tuple[str, int]]:
        """Yield type and elements of each tensor of a weight; type "" for unquantized floats."""
        stem, whole = name.removesuffix(".weight"), math.prod(shape)
        match = LAYER.match(name)
        layer = int(match[1]) if match else 0
        last = stem.rpartition(".")[2]
        if len(shape) < 2 or last in {"router", "conv"} or not name.endswith(".weight"):
            yield "", whole
        elif match is None:
            # weights outside of layers: an embedding that is also the head has the head's type
            is_head = "head" in stem or self.is_tied
            yield self.rules.get("head", "q6_k") if is_head else self.base, whole
        # the lowered model fuses query, key and value, which are separate tensors of the file
        elif last == "qkv" and (a := self.attention[layer]) is not None:
            key, value = (a.kv_heads * n * shape[-1] for n in (a.head_dim, a.values))
            yield self.base, whole - key - value
            yield self._of("key", layer), key
            yield self._of("value", layer), value
        else:
            yield self._of(last, layer), whole

    def _of(self, role: str, layer: int) -> str:
        """Return the name of the type of a tensor of a layer."""
        rules, n = self.rules, self.count
        chosen: str = rules.get("all", {}).get(role, self.base)
        # `use_more_bits` of llama.cpp: the first and last eighth, and every third layer between
        is_more = layer < n // 8 or layer >= 7 * n // 8 or (layer - n // 8) % 3 == 2
        if is_more:
            chosen = rules.get("more", {}).get(role, chosen)
        # the first layers have another type: `share` of them if `parts` is 1, else `share / parts`
        # of all
        first_type, share, parts = rules.get("first", {}).get(role, (chosen, 0, 1))
        if layer < (share if parts == 1 else share * n // parts):
            chosen = first_type
        if self.is_large and chosen in {"q3_k", "q4_k"}:
            chosen = rules.get("large", {}).get(role, chosen)
        return str(rules.get("experts", {}).get(role, chosen) if self.has_eight else chosen)

    def _fitted(self, name: str, contracted: int) -> GgmlType:
        """Return the type, or a wider one whose blocks divide rows of ``contracted`` elements."""
        if not name:
            return WIDE
        if contracted % BLOCKS[name].elements:
            name = TABLE["fallback"].get(name, name)
        return BLOCKS[name] if contracted % BLOCKS[name].elements == 0 else WIDE
