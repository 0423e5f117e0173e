"""Attention of a step that mixes a chunk of a prompt with single tokens of other sequences."""

from __future__ import annotations

from typing import NamedTuple

from .attention import Attention


class MixedAttention(NamedTuple):
    """Both in one kernel, over the same heads.

    Args:
        prefill: queries of the chunk.
        decode: one query of each of the other sequences.
    """

    prefill: Attention
    decode: Attention
