"""Each rank sends to each other one its part, or two ranks exchange a message."""

from __future__ import annotations

from perfc.ir.problem import Exchange

from . import Algorithm, LinkExchange


def time_s(m: LinkExchange) -> float:
    """Return the longer of local and network traffic, which overlap.

    Messages are sent without waiting for one another, so that only the first one's wait is seen.
    """
    if m.exchange is Exchange.SEND_RECEIVE:
        # one pair: its own link, or its own part of the node's adapters
        if m.nodes > 1:
            return m.network_s + m.nbytes / m.network_bytes_per_s
        return m.local_s + m.nbytes / m.local_bytes_per_s
    part = m.nbytes / m.ranks
    local_s = (m.per_node - 1) * part / m.local_bytes_per_s + m.local_s
    if m.nodes < 2:
        return local_s
    leaving = m.per_node * (m.ranks - m.per_node) * part
    return max(local_s, m.network_s + leaving / m.network_bytes_per_s)


ALGORITHM = Algorithm("pairwise", frozenset({Exchange.ALL_TO_ALL, Exchange.SEND_RECEIVE}), time_s)
