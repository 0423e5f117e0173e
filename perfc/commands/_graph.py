"""Names of protocols, quantities and modes that the commands on graph predictors share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from perfc.choice import member

if TYPE_CHECKING:
    from perfc.analyzers.graph.rows import Measurements, Quantity
    from perfc.analyzers.training.graphs.protocols import Protocol


def chosen_protocols(names: Sequence[str]) -> list[Protocol]:
    """Those of that name; random and families by default."""
    from perfc.analyzers.training.graphs.protocols import Protocol

    return [member(Protocol, name, "--split") for name in names or ("random", "family")]


def chosen_quantity(name: str) -> Quantity:
    """The quantity of that name."""
    from perfc.analyzers.graph.rows import Quantity

    return member(Quantity, name, "--quantity")


def of_mode(data: Measurements, name: str) -> Measurements:
    """Rows of one way of running, all where no name is given; ``inference`` is all but training."""
    from perfc.analyzers.steps.setting import Mode

    if not name:
        return data
    if name == "inference":
        return data.where(lambda r: not r.setting.training)
    mode = member(Mode, name, "--mode")
    return data.where(lambda r: r.setting.mode is mode)
