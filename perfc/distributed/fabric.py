"""Times of collectives in groups of ranks: fitted within a node, a link model between nodes."""

from __future__ import annotations

from dataclasses import field
from functools import cache, lru_cache

import numpy as np

from perfc.analyzers.estimators import predictor
from perfc.analyzers.features import networks
from perfc.analyzers.features.networks import EXCHANGES
from perfc.analyzers.features.rows import Protocol
from perfc.ir import entity, record
from perfc.ir.problem import Exchange
from perfc.machine import Cluster, load_machine
from perfc.serving.cost.grid import Grid, octaves

SIZES = octaves(1 << 10, 1 << 34, step=4)
"""Message sizes whose times are predicted, from 1 KiB to 16 GiB; times of other sizes are
interpolated in the logarithm."""
OPERATIONS = {exchange: operation for operation, exchange in EXCHANGES.items()}
"""Numbers of operations in the rows that the collective predictor learned from."""


@record
class RankGroup:
    """A group of communicating ranks.

    Args:
        size: number of ranks.
        stride: distance of neighbors in the order in which ranks fill nodes.
    """

    size: int
    stride: int

    def nodes(self, per_node: int) -> int:
        """Return the number of nodes that the group spans."""
        span = self.size * self.stride
        if span <= per_node:
            return 1
        # ranks that are far from each other have a node each
        return min(self.size, -(-span // per_node))


@entity
class Fabric:
    """Communication times of a cluster.

    Args:
        cluster: links between its GPUs.
        known: cache of computed times.
    """

    cluster: Cluster
    known: dict[tuple[object, ...], float] = field(default_factory=dict)

    def time_s(self, exchange: Exchange, nbytes: float, group: RankGroup) -> float:
        """Return the time of one collective in seconds; 0 for a single rank.

        Args:
            exchange: kind of collective.
            nbytes: the whole message of one rank.
            group: participating ranks; all other groups of this kind communicate concurrently.
        """
        if group.size < 2 or nbytes <= 0:
            return 0.0
        key = (exchange, nbytes, group.size, group.stride)
        if key not in self.known:
            self.known[key] = self._time_s(exchange, nbytes, group)
        return self.known[key]

    def _time_s(self, exchange: Exchange, nbytes: float, group: RankGroup) -> float:
        """Return the time of a collective: learned within a node, by the link model beyond it."""
        nodes = group.nodes(self.cluster.gpus_per_node)
        # the link model takes equally many ranks on each node: their number is rounded up
        ranks = group.size if nodes == 1 else nodes * -(-group.size // nodes)
        if exchange is Exchange.SEND_RECEIVE:
            # a message between neighbors, which are on two nodes if the group spans several
            ranks, nodes = 2, min(nodes, 2)
        # the rows of the learned times have groups that exchange, no single messages
        elif nodes == 1:
            return learned(str(self.cluster.machine.path), exchange, ranks).at(nbytes)
        message = networks.LinkExchange.of(exchange, nbytes, ranks, nodes, self.cluster)
        return networks.time_s(message)


@lru_cache(maxsize=256)
def learned(target: str, exchange: Exchange, ranks: int) -> Grid:
    """Return the times of collectives within a node, by message bytes."""
    machine = load_machine(target)
    count = len(SIZES)
    rows = {
        "operation": np.full(count, float(OPERATIONS[exchange])),
        "ranks": np.full(count, float(ranks)),
        "nbytes": np.array(SIZES),
        "nodes": np.ones(count),
    }
    # bf16 is the type that ranks exchange in mixed precision; the message is given in bytes
    prediction = predictor.predict("collective", rows, "bf16", machine, Protocol.GRAPH)
    # a larger message takes no less time than a smaller one
    return Grid.of((SIZES,), np.maximum.accumulate(prediction.time_s).tolist())


@cache
def fabric_of(target: str) -> Fabric:
    """Return the links of a target, by the path of its file."""
    return Fabric(Cluster.of(load_machine(target)))
