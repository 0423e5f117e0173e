"""Exchanges among machines that run one model together."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ..dim import Dim


class Exchange(Enum):
    """What a collective does, in the words of NCCL."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    SEND_RECEIVE = "send-receive"

    __hash__ = object.__hash__


class Collective(NamedTuple):
    """``exchange`` of ``nbytes`` among ``ranks``.

    Args:
        exchange: what is done.
        nbytes: the whole message of one rank: what an all-reduce sums, what an all-gather ends
            with, what a reduce-scatter starts from.
        ranks: machines that take part.
        nodes: over how many nodes they spread.
    """

    exchange: Exchange
    nbytes: Dim
    ranks: int
    nodes: int = 1
