"""A ring: every rank passes parts on to the next, so that each link carries the same."""

from __future__ import annotations

from perfc.ir.problem import Exchange

from . import Algorithm, LinkExchange


def time_s(m: LinkExchange) -> float:
    """``n - 1`` steps of ``1/n`` of the message each; an all-reduce goes round twice.

    Within a node each rank sends over its own link. Between nodes as many rings run side by side
    as there are adapters, so that all of them carry what one ring would.
    """
    rounds = 2 if m.exchange is Exchange.ALL_REDUCE else 1
    nbytes = rounds * m.nbytes * (m.ranks - 1) / m.ranks
    hops = m.nodes if m.nodes > 1 else 0
    wait_s = rounds * ((m.ranks - 1 - max(hops - 1, 0)) * m.local_s + hops * m.network_s)
    rates = [m.local_bytes_per_s] if m.per_node > 1 else []
    if m.nodes > 1:
        rates.append(m.network_bytes_per_s)
    return wait_s + nbytes / min(rates)


ALGORITHM = Algorithm(
    "ring", frozenset({Exchange.ALL_REDUCE, Exchange.ALL_GATHER, Exchange.REDUCE_SCATTER}), time_s
)
