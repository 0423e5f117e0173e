"""Clusters: nodes of GPUs of one kind, and the links between them.

A cluster's file is read as the machine of its GPUs, with the numbers of the node added.
"""

from __future__ import annotations

from perfc.ir import record

from .machine import Machine

USUAL_NODE = 8
"""Default number of GPUs per node: that of DGX, HGX and cloud instances of their kind."""
USUAL_NETWORK_BYTES_PER_S = 25e9
"""Default network rate of one GPU in one direction: one port of 200 Gb/s."""
UNKNOWN_LINK_BYTES_PER_S = 16e9
"""Default link rate in one direction: PCIe 3.0 x16."""
NETWORK_LATENCY_S = 17e-6
"""Default latency of one message between nodes, launch included: the shortest time between two
nodes of DGX H100 in the data set ``vidur_network``."""


@record
class Cluster:
    """Nodes of GPUs of one kind.

    Args:
        name: name of the cluster, else of the machine.
        machine: each GPU.
        gpus_per_node: number of GPUs of one node.
        joined: number of GPUs of a node that NVLink connects; 1 without NVLink.
        nvlink_bytes_per_s: bandwidth of NVLink, or of all links of a mesh, of one GPU in one
            direction; 0 without either.
        host_bytes_per_s: bandwidth of PCIe of one GPU in one direction.
        network_bytes_per_s: bandwidth of all adapters of a node in one direction.
        network_latency_s: latency of one message between nodes.
        is_assumed: True if the links between nodes are defaults.
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
        """Return the cluster of a machine's file, with default nodes if it has none."""

        def fact(key: str, otherwise: float) -> float:
            """Return a number of the file, or its default."""
            rate = machine.facts.get(key)
            return rate.value if rate is not None else otherwise

        count = int(fact("node.gpu_count", USUAL_NODE))
        nvlink = machine.direct_bytes_per_s
        # a mesh joins a GPU and its peers, a switch all GPUs of the node
        reached = machine.peer_count + 1 if machine.peer_count else count
        joined = int(fact("node.nvlink_gpu_count", reached)) if nvlink else 1
        return cls(
            machine.label,
            machine,
            count,
            joined,
            nvlink,
            fact("link.host.bandwidth_bytes_per_s", UNKNOWN_LINK_BYTES_PER_S),
            fact("link.network.bandwidth_bytes_per_s", count * USUAL_NETWORK_BYTES_PER_S),
            fact("link.network.latency_s", NETWORK_LATENCY_S),
            machine.link("network") is None,
        )

    def local_bytes_per_s(self, ranks: int) -> float:
        """Return the rate in one direction of the link among ``ranks`` GPUs of a node."""
        direct = self.machine.joined_bytes_per_s(ranks) if ranks <= self.joined else 0.0
        return direct or self.host_bytes_per_s
