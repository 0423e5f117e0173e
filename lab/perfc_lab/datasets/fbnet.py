"""Latencies of FBNet's networks, batch 1 to 256, on graphics processors.

`perfc data build fbnet` writes it; rows and builder are in `spaces`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .spaces.fbnet import network
from .spaces.help_nas import SearchSpace

if TYPE_CHECKING:
    from perfc.ir.graph import Module


class FbNet(SearchSpace):
    """Architectures of FBNet's space that HELP measured, as graphs with their latencies."""

    name: ClassVar[str] = "fbnet"
    title: ClassVar[str] = "FBNet's networks on four graphics processors"
    space: ClassVar[str] = "fbnet"

    def network(self, arch: str) -> Module:
        """Return the network of an architecture as the table writes it, ``0,3,8,…``."""
        return network(arch)
