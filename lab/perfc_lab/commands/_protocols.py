"""Protocols of held-out rows by name."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.common.choice import member

if TYPE_CHECKING:
    from ..training.graphs.protocols import GraphProtocol


def chosen_protocols(names: Sequence[str]) -> list[GraphProtocol]:
    """Return the split protocols with these names (default: random and families)."""
    from ..training.graphs.protocols import GraphProtocol

    return [member(GraphProtocol, name, "--split") for name in names or ("random", "family")]
