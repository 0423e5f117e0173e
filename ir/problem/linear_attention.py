"""Problem size of attention with a recurrent state per head instead of scores."""

from __future__ import annotations

from typing import NamedTuple

from ..symbolic.dim import Dim


class LinearAttention(NamedTuple):
    """``tokens`` of all ``sequences`` through states of ``key_dim`` by ``value_dim``.

    Args:
        sequences: number of sequences, each with its own states.
        tokens: tokens of all sequences.
        heads: states per sequence.
        key_heads: heads of keys, which several states may share.
        key_dim: size of a key.
        value_dim: size of a value.
        is_delta: True if updates subtract what the state already stores for a key.
    """

    sequences: Dim
    tokens: Dim
    heads: Dim
    key_heads: Dim
    key_dim: Dim
    value_dim: Dim
    is_delta: bool
