"""Two binary trees of nodes: the wait grows with the logarithm of the nodes.

Source: P. Sanders, J. Speck, J. L. Träff, "Two-tree algorithms for full bandwidth broadcast,
reduction and scan", 2009; NCCL 2.4.
"""

from __future__ import annotations

import math

from perfc.ir.problem import Exchange

from . import Algorithm, LinkExchange


def time_s(m: LinkExchange) -> float:
    """Up and down: each rank sends and receives the message twice in all."""
    wait_s = 2 * (m.per_node - 1) * m.local_s
    rates = [m.local_bytes_per_s] if m.per_node > 1 else []
    if m.nodes > 1:
        wait_s += 2 * math.ceil(math.log2(m.nodes)) * m.network_s
        rates.append(m.network_bytes_per_s)
    return wait_s + 2 * m.nbytes / min(rates)


ALGORITHM = Algorithm("tree", frozenset({Exchange.ALL_REDUCE}), time_s)
