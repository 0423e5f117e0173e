"""Split protocols, quantities and modes shared by the graph predictor commands."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.choice import member

if TYPE_CHECKING:
    from perfc.analyzers.graph.rows import Measurements, Quantity
    from perfc.analyzers.training.graphs.protocols import Protocol


def chosen_protocols(names: Sequence[str]) -> list[Protocol]:
    """Return the split protocols with these names (default: random and families)."""
    from perfc.analyzers.training.graphs.protocols import Protocol

    return [member(Protocol, name, "--split") for name in names or ("random", "family")]


def chosen_quantity(name: str) -> Quantity:
    """Return the quantity with this name."""
    from perfc.analyzers.graph.rows import Quantity

    return member(Quantity, name, "--quantity")


def of_mode(data: Measurements, name: str) -> Measurements:
    """Select rows of one mode (default: all); ``inference`` is everything except training."""
    from perfc.analyzers.steps.setting import Mode

    if not name:
        return data
    if name == "inference":
        return data.where(lambda r: not r.setting.training)
    mode = member(Mode, name, "--mode")
    return data.where(lambda r: r.setting.mode is mode)
