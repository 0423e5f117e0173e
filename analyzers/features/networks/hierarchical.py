"""Within nodes first, then between ranks of the same place in every node, then within again."""

from __future__ import annotations

import math

from perfc.ir.problem import Exchange

from . import Algorithm, LinkExchange


def time_s(m: LinkExchange) -> float:
    """Parts within the node, and of each part an exchange between nodes by halves.

    An all-reduce scatters and gathers within the node; the others do one of both.
    """
    rounds = 2 if m.exchange is Exchange.ALL_REDUCE else 1
    each = m.per_node
    time = rounds * (each - 1) * m.local_s
    if each > 1:
        time += rounds * m.nbytes * (each - 1) / each / m.local_bytes_per_s
    if m.nodes > 1:
        time += rounds * math.ceil(math.log2(m.nodes)) * m.network_s
        time += rounds * m.nbytes * (m.nodes - 1) / m.nodes / m.network_bytes_per_s
    return time


ALGORITHM = Algorithm(
    "hierarchical",
    frozenset({Exchange.ALL_REDUCE, Exchange.ALL_GATHER, Exchange.REDUCE_SCATTER}),
    time_s,
)
