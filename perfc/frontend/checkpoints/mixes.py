"""Weights of a model in a mix of types, such as Q4_K_M, as llama-quantize stores them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.ir import cached_entity

from .stored import StoredWeight

TABLE = data_next_to(__file__)
"""Mixes by name: types of the tensors, and other types for tensors whose rows no block divides."""


@cached_entity
class WeightMix:
    """Weights of a lowered model in a mix, in place of the `WeightFile` of a file.

    Args:
        weights: by name of the weight in the lowered model.
        tensors: empty, as there is no file; `WeightFile` has its tensors here.
    """

    weights: Mapping[str, StoredWeight]
    tensors: Mapping[str, Any]

    def weight(self, name: str) -> StoredWeight | None:
        """Return a weight of the lowered model as the mix stores it; None if the mix has none."""
        return self.weights.get(name)


def mix_named(name: str) -> str:
    """Return the name of a mix as the table has it; "" for another format."""
    plain = name.strip().lower().replace("-", "_")
    # llama-quantize takes a name without a size, as q4_k, for the medium mix, q4_k_m
    mixes = TABLE["mixes"]
    return next((n for n in (plain, f"{plain}_m") if n in mixes), "")
