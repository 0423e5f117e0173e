"""Latencies of NAS-Bench-201's networks, batch 1 to 256, on graphics processors.

`perfc data build nb201` writes it; rows and builder are in `spaces`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .spaces.help_nas import SearchSpace
from .spaces.nas_bench_201 import network

if TYPE_CHECKING:
    from perfc.ir.graph import Module


class Nb201(SearchSpace):
    """Architectures of NAS-Bench-201 that HELP measured, as graphs with their latencies."""

    name: ClassVar[str] = "nb201"
    title: ClassVar[str] = "NAS-Bench-201's networks on four graphics processors"
    space: ClassVar[str] = "nasbench201"

    def network(self, arch: str) -> Module:
        """Return the network of an architecture as the table writes it, ``|none~0|+|…``."""
        return network(arch)
