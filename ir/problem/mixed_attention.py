"""Attention of prompts and of single tokens in one launch."""

from __future__ import annotations

from typing import NamedTuple

from .attention import Attention


class MixedAttention(NamedTuple):
    """A chunk of prompts and tokens being decoded, over one cache.

    Args:
        prefill: the sequences with many new tokens.
        decode: the sequences with one new token each, or a few that are verified.
    """

    prefill: Attention
    decode: Attention
