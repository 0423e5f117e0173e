"""Compare the law of links between nodes with collectives that Vidur measured between nodes.

`perfc eval training` prints the scores.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perfc.analyzers.features import networks
from perfc.ir.problem import Exchange
from perfc.ir.record import record
from perfc.machine import Cluster, load_machine
from perfc_lab.tables import read_parquet

FILE = "vidur_network.parquet"
CLUSTERS = {"a100_dgx": "p4d", "h100_dgx": "dgx-h100", "a100_pairwise_nvlink": "nc-a100-v4"}
"""Target by the system of the source. The source describes no network: ``a100_dgx`` has the target
whose rate between nodes is nearest to the measured one."""
EXCHANGES = {"all_reduce": Exchange.ALL_REDUCE, "send_recv": Exchange.SEND_RECEIVE}
LARGE_BYTES = 1 << 22
"""Messages from 4 MiB on, whose time is bandwidth, not latency."""


@record
class LinkScore:
    """Measured over expected times of one exchange between nodes.

    Args:
        system: name of the system in the source.
        exchange: kind of collective, as the source names it.
        ranks: number of ranks.
        nodes: number of nodes.
        rows: number of message sizes.
        ratio: median of measured over expected times.
        large: median over messages of 4 MiB and more.
    """

    system: str
    exchange: str
    ranks: int
    nodes: int
    rows: int
    ratio: float
    large: float


def link_scores(data: Path) -> Iterator[LinkScore]:
    """Yield the score of every measured exchange between nodes."""
    frame = read_parquet(data / FILE)
    # exchanges that cross nodes, without rows that the table marks as suspect
    frame = frame[(~frame["suspect"]) & (frame["devices_per_node"] < frame["num_workers"])]
    keys = ["system", "collective", "num_workers", "devices_per_node"]
    for (system, kind, ranks, per_node), block in frame.groupby(keys, observed=True):
        if str(system) not in CLUSTERS:
            continue
        cluster = Cluster.of(load_machine(CLUSTERS[str(system)]))
        nodes = int(ranks) // int(per_node)
        measured = block.groupby("size_bytes")["latency_median_us"].median() * 1e-6
        ratio = measured / [
            networks.time_s(
                networks.LinkExchange.of(EXCHANGES[str(kind)], float(n), int(ranks), nodes, cluster)
            )
            for n in measured.index
        ]
        large = ratio[ratio.index >= LARGE_BYTES]
        yield LinkScore(
            str(system),
            str(kind),
            int(ranks),
            nodes,
            len(ratio),
            float(ratio.median()),
            float(large.median()),
        )
