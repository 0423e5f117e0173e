"""Latencies of FBNet's networks, batch 1 to 256, on graphics processors.

`perfc data build fbnet` writes them. `spaces/help_nas.py` reads the rows, `spaces/fbnet.py` builds
the graphs.
"""

from __future__ import annotations

from typing import ClassVar

from .spaces.fbnet import network
from .spaces.help_nas import SearchSpace


class FbNet(SearchSpace):
    """Architectures of FBNet's space that HELP measured, as graphs with their latencies."""

    name: ClassVar[str] = "fbnet"
    title: ClassVar[str] = "FBNet's networks on four graphics processors"
    space: ClassVar[str] = "fbnet"
    network = staticmethod(network)  # builds the graph of an architecture, as 0,3,8,…
