"""Latencies of NAS-Bench-201's networks, batch 1 to 256, on graphics processors.

`perfc data build nb201` writes them. `spaces/help_nas.py` reads the rows,
`spaces/nas_bench_201.py` builds the graphs.
"""

from __future__ import annotations

from typing import ClassVar

from .spaces.help_nas import SearchSpace
from .spaces.nas_bench_201 import network


class Nb201(SearchSpace):
    """Architectures of NAS-Bench-201 that HELP measured, as graphs with their latencies."""

    name: ClassVar[str] = "nb201"
    title: ClassVar[str] = "NAS-Bench-201's networks on four graphics processors"
    space: ClassVar[str] = "nasbench201"
    network = staticmethod(network)  # builds the graph of an architecture, as |none~0|+|…
