"""Exchanges by their links: a time for each message and a rate, and algorithms, one a file.

Every algorithm is the alpha-beta model: steps that each wait for a message, and bytes that pass
the narrowest link. NCCL takes the fastest for each size, and so does `time_s`.

Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of collective communication operations
in MPICH", 2005; NCCL's tuning model (``src/graph/tuning.cc``).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from perfc.common.declared import modules
from perfc.common.fitted import FILE_NAME, read_constants
from perfc.ir import record
from perfc.ir.problem import Exchange
from perfc.machine import Cluster

LOCAL_LATENCY_S = 1.5e-6
"""One hop within a node: NCCL's tuning model has 1.2 to 1.9 µs for rings over NVLink."""
_FITTED = read_constants(Path(__file__).parents[1] / FILE_NAME)
LOCAL_EFFICIENCY = _FITTED["local_efficiency"].number
"""Share of NVLink's rate in one direction that messages reach."""
NETWORK_EFFICIENCY = _FITTED["network_efficiency"].number
"""Share of a network adapter's rate that messages reach."""


@record
class LinkExchange:
    """An exchange as its links see it; rates are of one direction.

    Args:
        exchange: what is done.
        nbytes: the whole message of one rank, as `Collective` has it.
        ranks: that take part.
        nodes: over which they spread evenly.
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
        """Ranks of one node."""
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
        """Between ranks of a cluster, of which each has its part of the node's adapters.

        Args:
            exchange: what is done.
            nbytes: the whole message of one rank.
            ranks: that take part.
            nodes: over which they spread evenly.
            cluster: what joins them.
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


@record
class Algorithm:
    """A way of doing exchanges.

    Args:
        name: usual one.
        exchanges: that it does.
        time_s: time of a message between two ranks at least.
    """

    name: str
    exchanges: frozenset[Exchange]
    time_s: Callable[[LinkExchange], float]


@cache
def algorithms() -> tuple[Algorithm, ...]:
    """Those that the files here declare as ``ALGORITHM``, by name of file."""
    return tuple([m.ALGORITHM for m in modules(__name__)])


def fitting(message: LinkExchange) -> Iterator[Algorithm]:
    """Return the algorithms of such a collective."""
    return (a for a in algorithms() if message.exchange in a.exchanges)


def time_s(message: LinkExchange) -> float:
    """Return the seconds that the fastest algorithm takes; 0 for a single rank."""
    if message.ranks < 2:
        return 0.0
    return min(a.time_s(message) for a in fitting(message))


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
