"""Names of data sources and data sets, for help and completion.

Modules of data are imported only when a name is needed: a command line has to complete fast.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from perfc.common.choice import member

if TYPE_CHECKING:
    from perfc.analyzers.graph.rows import Measurements, Quantity


def sources() -> Iterable[str]:
    """Return the sources of measured rows."""
    from ..data.source import sources as known

    return known()


def data_sets() -> Iterable[str]:
    """Return the data sets of whole models."""
    from ..datasets import datasets

    return datasets()


def chosen_quantity(name: str) -> Quantity:
    """Return the quantity with this name."""
    from perfc.analyzers.graph.rows import Quantity

    return member(Quantity, name, "--quantity")


def of_mode(data: Measurements, name: str) -> Measurements:
    """Select rows of one mode (default: all); ``inference`` is everything except training."""
    from perfc.analyzers.steps.setting import RunMode

    if not name:
        return data
    if name == "inference":
        return data.where(lambda r: not r.setting.training)
    mode = member(RunMode, name, "--mode")
    return data.where(lambda r: r.setting.mode is mode)
