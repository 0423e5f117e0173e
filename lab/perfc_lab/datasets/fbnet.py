"""Latencies of FBNet's networks, batch 1 to 256, on graphics processors."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from .spaces.fbnet import network
from .spaces.help_nas import SearchSpace

if TYPE_CHECKING:
    from perfc.ir.graph import Module


class FbNet(SearchSpace):
    """Its architectures that were measured."""

    name: ClassVar[str] = "fbnet"
    title: ClassVar[str] = "FBNet's networks on four graphics processors"
    space: ClassVar[str] = "fbnet"

    def network(self, arch: str) -> Module:
        """Return the network of a string."""
        return network(arch)
