"""Exchanges by their links: a time for each message and a rate, and algorithms.

Every algorithm is the alpha-beta model: steps that each wait for a message, and bytes that pass
the narrowest link. NCCL takes the fastest for each size, and so does `time_s`.

Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations
in MPICH", 2005; NCCL's tuning model (``src/graph/tuning.cc``); P. Sanders, J. Speck, J. L. Träff,
"Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from perfc.common.fitted import constants_next_to
from perfc.ir import record
from perfc.ir.problem import Exchange
from perfc.machine import Cluster

LOCAL_LATENCY_S = 1.5e-6
"""One hop within a node: NCCL's tuning model has 1.2 to 1.9 µs for rings over NVLink."""
_FITTED = constants_next_to(__file__)
LOCAL_EFFICIENCY = _FITTED["local_efficiency"].number
"""Share of NVLink's rate in one direction that messages reach."""
NETWORK_EFFICIENCY = _FITTED["network_efficiency"].number
"""Share of a network adapter's rate that messages reach."""


@record
class LinkExchange:
    """An exchange as its links see it; rates are of one direction.

    Args:
        exchange: kind of collective.
        nbytes: the whole message of one rank, as `Collective` has it.
        ranks: number of ranks.
        nodes: number of nodes, with equally many ranks each.
        local_s: local time of one hop within a node.
        local_bytes_per_s: local bandwidth of one rank within its node.
        network_s: network time of one message between nodes.
        network_bytes_per_s: network bandwidth of all ranks of one node that take part.
    """

    exchange: Exchange
    nbytes: float
    ranks: int
    nodes: int
    local_s: float
    local_bytes_per_s: float
    network_s: float
    network_bytes_per_s: float

    @property
    def per_node(self) -> int:
        """Return the ranks of one node."""
        return max(self.ranks // self.nodes, 1)

    @classmethod
    def of(
        cls,
        exchange: Exchange,
        nbytes: float,
        ranks: int,
        nodes: int,
        cluster: Cluster,
        *,
        efficiency: float = 1.0,
    ) -> LinkExchange:
        """Return links between ranks of a cluster, each with its part of the node's adapters.

        Args:
            exchange: kind of collective.
            nbytes: the whole message of one rank.
            ranks: number of ranks.
            nodes: number of nodes, with equally many ranks each.
            cluster: interconnects between the ranks.
            efficiency: share of the network's reached rate that is left.
        """
        each = max(ranks // nodes, 1)
        share = min(each / cluster.gpus_per_node, 1.0)
        return cls(
            exchange,
            nbytes,
            ranks,
            nodes,
            LOCAL_LATENCY_S,
            LOCAL_EFFICIENCY * cluster.local_bytes_per_s(each),
            cluster.network_latency_s,
            NETWORK_EFFICIENCY * efficiency * share * cluster.network_bytes_per_s,
        )


def hierarchical_s(m: LinkExchange) -> float:
    """Return the time of parts within the node, and of each an exchange between nodes by halves.

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


def pairwise_s(m: LinkExchange) -> float:
    """Return the longer of local and network traffic of pairs of ranks, which overlap.

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


def ring_s(m: LinkExchange) -> float:
    """Return the time of a ring: ``n - 1`` steps of ``1/n`` of the message; an all-reduce has two.

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


def tree_s(m: LinkExchange) -> float:
    """Return the time of two trees of nodes: each rank sends and receives the message twice."""
    wait_s = 2 * (m.per_node - 1) * m.local_s
    rates = [m.local_bytes_per_s] if m.per_node > 1 else []
    if m.nodes > 1:
        wait_s += 2 * math.ceil(math.log2(m.nodes)) * m.network_s
        rates.append(m.network_bytes_per_s)
    return wait_s + 2 * m.nbytes / min(rates)


ALGORITHMS: Mapping[Exchange, tuple[Callable[[LinkExchange], float], ...]] = {
    Exchange.ALL_REDUCE: (hierarchical_s, ring_s, tree_s),
    Exchange.ALL_GATHER: (hierarchical_s, ring_s),
    Exchange.REDUCE_SCATTER: (hierarchical_s, ring_s),
    Exchange.ALL_TO_ALL: (pairwise_s,),
    Exchange.SEND_RECEIVE: (pairwise_s,),
}
"""Algorithms of each collective: functions that return the lower bound of its time in seconds."""


def time_s(message: LinkExchange) -> float:
    """Return the seconds that the fastest algorithm takes; 0 for a single rank."""
    if message.ranks < 2:
        return 0.0
    return min(seconds(message) for seconds in ALGORITHMS[message.exchange])


def least_s(message: LinkExchange, cluster: Cluster) -> float:
    """Return a lower bound: bytes that leave a node over the declared rate of its adapters.

    Even where switches add, a node sends its own sum and receives that of all. Nothing within one
    node, or where no file states a network.
    """
    if message.nodes < 2 or cluster.is_assumed:
        return 0.0
    others = (message.nodes - 1) / message.nodes
    match message.exchange:
        case Exchange.ALL_REDUCE | Exchange.SEND_RECEIVE:
            between = message.nbytes
        case Exchange.ALL_GATHER | Exchange.REDUCE_SCATTER:
            between = others * message.nbytes
        case Exchange.ALL_TO_ALL:
            between = others * message.nbytes * message.per_node
    return between / cluster.network_bytes_per_s
