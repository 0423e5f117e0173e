"""Problem size of collectives among devices that run one model together."""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple

from ..symbolic.dim import Dim


class Exchange(Enum):
    """Kind of collective, in the terms of NCCL."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    SEND_RECEIVE = "send-receive"

    __hash__ = object.__hash__


class Collective(NamedTuple):
    """``exchange`` of ``nbytes`` among ``ranks``.

    Args:
        exchange: kind of collective.
        nbytes: the whole message of one rank: the input of an all-reduce, the result of an
            all-gather, the input of a reduce-scatter.
        ranks: participating devices.
        nodes: number of nodes they span.
    """

    exchange: Exchange
    nbytes: Dim
    ranks: int
    nodes: int = 1
