"""Problem size of attention in a step that mixes a prefill chunk with decode tokens."""

from __future__ import annotations

from typing import NamedTuple

from .attention import Attention


class MixedAttention(NamedTuple):
    """Prefill and decode in one kernel, over the same heads.

    Args:
        prefill: attention of the prefill chunk.
        decode: attention of one query of each decoding sequence.
    """

    prefill: Attention
    decode: Attention
