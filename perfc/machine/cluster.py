"""Clusters: GPUs of one kind in nodes, and what joins them: one description of links for all.

A cluster is read as the machine that its GPUs are, with the numbers of the node beside its own.
"""

from __future__ import annotations

from perfc.ir.record import record

from .machine import Machine

USUAL_NODE = 8
"""GPUs of a node where nobody says: so many have DGX, HGX and all cloud shapes of their kind."""
USUAL_NETWORK_BYTES_PER_S = 25e9
"""Of one GPU, one direction, where nobody says: one port of 200 Gb/s."""
UNKNOWN_LINK_BYTES_PER_S = 16e9
"""One direction of PCIe 3.0 x16, where a target states no link."""
NETWORK_LATENCY_S = 17e-6
"""Of one message between nodes where the file states none: shortest of two nodes of DGX H100
(``vidur_network``), its launch included."""


@record
class Cluster:
    """Nodes of GPUs of one kind.

    Args:
        name: of the cluster, else of the machine.
        machine: each GPU.
        gpus_per_node: of one node.
        joined: of those that NVLink joins; 1 where none is.
        nvlink_bytes_per_s: of one GPU, one direction; of all links of a mesh; 0 without either.
        host_bytes_per_s: PCIe of one GPU, one direction.
        network_bytes_per_s: all adapters of one node together, one direction.
        network_latency_s: of one message between nodes.
        is_assumed: whether no file says what joins nodes.
    """

    name: str
    machine: Machine
    gpus_per_node: int
    joined: int
    nvlink_bytes_per_s: float
    host_bytes_per_s: float
    network_bytes_per_s: float
    network_latency_s: float
    is_assumed: bool

    @classmethod
    def of(cls, machine: Machine) -> Cluster:
        """Of a machine; usual nodes where its file states none."""

        def fact(key: str, otherwise: float) -> float:
            rate = machine.facts.get(key)
            return rate.value if rate is not None else otherwise

        count = int(fact("node.gpu_count", USUAL_NODE))
        nvlink = machine.direct_bytes_per_s
        reached = machine.peer_count + 1 if machine.peer_count else count
        joined = int(fact("node.nvlink_gpu_count", reached)) if nvlink else 1
        return cls(
            machine.label, machine, count, joined, nvlink,
            fact("link.host.bandwidth_bytes_per_s", UNKNOWN_LINK_BYTES_PER_S),
            fact("link.network.bandwidth_bytes_per_s", count * USUAL_NETWORK_BYTES_PER_S),
            fact("link.network.latency_s", NETWORK_LATENCY_S),
            machine.link("network") is None,
        )  # fmt: skip

    def local_bytes_per_s(self, ranks: int) -> float:
        """One direction of the link that joins so many GPUs of a node."""
        direct = self.machine.joined_bytes_per_s(ranks) if ranks <= self.joined else 0.0
        return direct or self.host_bytes_per_s
