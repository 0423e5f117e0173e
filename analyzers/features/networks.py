"""Times of collectives from the latency and bandwidth of links, by algorithm.

Every algorithm follows the alpha-beta model: its time is that of steps, each of which waits for a
message, plus that of bytes that pass the slowest link. NCCL selects the fastest algorithm for each
size, and so does `time_s`.

Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations
in MPICH", 2005; NCCL's tuning model (``src/graph/tuning.cc``); P. Sanders, J. Speck, J. L. Träff,
"Two-tree algorithms for full bandwidth broadcast, reduction and scan", 2009.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import IntEnum

from perfc.common.fitted import constants_next_to
from perfc.ir import record
from perfc.ir.problem import Exchange
from perfc.machine import Cluster

LOCAL_LATENCY_S = 1.5e-6
"""Latency of one hop within a node: between the 1.2 and 1.9 µs that NCCL's tuning model has for
rings over NVLink."""
_FITTED = constants_next_to(__file__)
LOCAL_EFFICIENCY = _FITTED["local_efficiency"].number
"""Share of NVLink's rate in one direction that messages reach."""
NETWORK_EFFICIENCY = _FITTED["network_efficiency"].number
"""Share of a network adapter's rate that messages reach."""


class Operation(IntEnum):
    """Collectives, as the column ``operation`` numbers them."""

    ALL_REDUCE = 1
    ALL_GATHER = 2
    REDUCE_SCATTER = 3
    ALL_TO_ALL = 4
    SEND_RECEIVE = 5


EXCHANGES = {o: Exchange(o.name.lower().replace("_", "-")) for o in Operation}
"""The exchange of the IR by the number of the column ``operation``."""


@record
class LinkExchange:
    """A collective with the latencies and rates of its links; rates are of one direction.

    Args:
        exchange: kind of collective.
        nbytes: bytes of the whole message of one rank, as in `Collective.nbytes`.
        ranks: number of ranks.
        nodes: number of nodes, with equally many ranks each.
        local_s: latency of one hop within a node.
        local_bytes_per_s: bandwidth of one rank within its node.
        network_s: latency of one message between nodes.
        network_bytes_per_s: bandwidth of the network of all participating ranks of one node.
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
        """Return the number of ranks of one node."""
        return max(self.ranks // self.nodes, 1)

    @classmethod
    def of(
        cls,
        exchange: Exchange,
        nbytes: float,
        ranks: int,
        nodes: int,
        cluster: Cluster,
    ) -> LinkExchange:
        """Return an exchange on the links of a cluster, whose ranks share its adapters equally.

        Args:
            exchange: kind of collective.
            nbytes: bytes of the whole message of one rank.
            ranks: number of ranks.
            nodes: number of nodes, with equally many ranks each.
            cluster: interconnects between the ranks.
        """
        # ranks that are a part of a node's GPUs use only that part of its adapters
        per_node = max(ranks // nodes, 1)
        share = min(per_node / cluster.gpus_per_node, 1.0)
        return cls(
            exchange,
            nbytes,
            ranks,
            nodes,
            LOCAL_LATENCY_S,
            LOCAL_EFFICIENCY * cluster.local_bytes_per_s(per_node),
            cluster.network_latency_s,
            NETWORK_EFFICIENCY * share * cluster.network_bytes_per_s,
        )


def hierarchical_s(m: LinkExchange) -> float:
    """Return the time of exchanging parts within each node, then each part between nodes.

    Between nodes the number of partners doubles in each step (recursive halving), so that there are
    log₂ steps. An all-reduce is two rounds, a reduce-scatter and an all-gather; the other
    collectives are one round.
    """
    rounds = 2 if m.exchange is Exchange.ALL_REDUCE else 1
    # within a node of n ranks: n - 1 hops, and (n - 1)/n of the message
    time = rounds * (m.per_node - 1) * m.local_s
    if m.per_node > 1:
        time += rounds * m.nbytes * (m.per_node - 1) / m.per_node / m.local_bytes_per_s
    if m.nodes > 1:
        # parts of all ranks of a node pass its adapters, together the message
        time += rounds * math.ceil(math.log2(m.nodes)) * m.network_s
        time += rounds * m.nbytes * (m.nodes - 1) / m.nodes / m.network_bytes_per_s
    return time


def pairwise_s(m: LinkExchange) -> float:
    """Return the time of messages between pairs of ranks: the longer of local and network traffic.

    Both overlap. Messages do not wait for each other, so that only one latency counts.
    """
    if m.exchange is Exchange.SEND_RECEIVE:
        # one message, over one rank's link or its part of the node's adapters
        if m.nodes > 1:
            return m.network_s + m.nbytes / m.network_bytes_per_s
        return m.local_s + m.nbytes / m.local_bytes_per_s
    part = m.nbytes / m.ranks
    local_s = (m.per_node - 1) * part / m.local_bytes_per_s + m.local_s
    if m.nodes < 2:
        return local_s
    # every rank of a node sends one part to each rank of other nodes
    leaving = m.per_node * (m.ranks - m.per_node) * part
    return max(local_s, m.network_s + leaving / m.network_bytes_per_s)


def ring_s(m: LinkExchange) -> float:
    """Return the time of a ring: ``n - 1`` steps, each of which sends ``1/n`` of the message.

    An all-reduce goes around the ring twice. Within a node each rank sends over a separate link.
    Between nodes there are as many parallel rings as adapters, which share the bytes of one ring.
    """
    rounds = 2 if m.exchange is Exchange.ALL_REDUCE else 1
    nbytes = rounds * m.nbytes * (m.ranks - 1) / m.ranks
    # a ring over several nodes leaves each node once; other hops are local
    hops = m.nodes if m.nodes > 1 else 0
    wait_s = rounds * ((m.ranks - 1 - max(hops - 1, 0)) * m.local_s + hops * m.network_s)
    rates = [m.local_bytes_per_s] if m.per_node > 1 else []
    if m.nodes > 1:
        rates.append(m.network_bytes_per_s)
    # the ring is as fast as its slowest link
    return wait_s + nbytes / min(rates)


def tree_s(m: LinkExchange) -> float:
    """Return the time of NCCL's double tree: each rank sends and receives the message twice.

    Ranks of a node form a chain, nodes form a binary tree. Messages pass both twice: up with
    partial sums, down with the result.
    """
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
"""Algorithms of each collective: functions that return its time in seconds."""


def time_s(message: LinkExchange) -> float:
    """Return the time in seconds of the fastest algorithm; 0 for a single rank."""
    if message.ranks < 2:
        return 0.0
    return min(seconds(message) for seconds in ALGORITHMS[message.exchange])


def least_s(message: LinkExchange, cluster: Cluster) -> float:
    """Return a lower bound of the time: bytes that leave a node over the rate of its adapters.

    Even if switches compute sums, a node sends its partial sum and receives the total. The bound is
    0 within one node, or if no file declares a network.
    """
    if message.nodes < 2 or cluster.is_assumed:
        return 0.0
    remote_share = (message.nodes - 1) / message.nodes
    match message.exchange:
        case Exchange.ALL_REDUCE | Exchange.SEND_RECEIVE:
            between = message.nbytes
        case Exchange.ALL_GATHER | Exchange.REDUCE_SCATTER:
            between = remote_share * message.nbytes
        case Exchange.ALL_TO_ALL:
            between = remote_share * message.nbytes * message.per_node
    return between / cluster.network_bytes_per_s
