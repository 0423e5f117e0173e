"""Attention by a recurrent state of each head instead of scores."""

from __future__ import annotations

from typing import NamedTuple

from ..dim import Dim


class LinearAttention(NamedTuple):
    """``tokens`` of all ``sequences`` through states of ``key_dim`` by ``value_dim``.

    Args:
        sequences: each with states of its own.
        tokens: of all of them.
        heads: states of a sequence.
        key_heads: of keys, which several states may share.
        key_dim: extent of a key.
        value_dim: extent of a value.
        is_delta: whether a state is corrected by what it holds of a key already.
    """

    sequences: Dim
    tokens: Dim
    heads: Dim
    key_heads: Dim
    key_dim: Dim
    value_dim: Dim
    is_delta: bool
