"""Classes of measured runs of whole models and their graphs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from math import isfinite, nan
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import cached_entity, record

from ..steps.setting import Setting
from .model_graph import KernelGraph, ModelGraph

if TYPE_CHECKING:
    from ..features.classes import Array
    from ..steps.columns import Columns


class Quantity(Enum):
    """Measured quantities of a run, by the name of their field in `GraphRow`."""

    TIME = "time_s"
    MEMORY = "memory_bytes"
    ENERGY = "energy_j"
    POWER = "power_w"
    SM_ACTIVE = "sm_active"


@record
class GraphRow:
    """One measured run.

    Args:
        graph: name of the graph.
        architecture: unit of splits, held out as a whole; may have graphs of several input sizes.
        setting: precision, layout, framework and mode of the run.
        target: name of the machine's target.
        batch: number of samples.
        time_s: time of one step.
        memory_bytes: peak of allocated memory. NaN if not measured, as for the fields below.
        energy_j: energy of one step.
        power_w: mean board power.
        floor_s: sum of the lower bounds of all launches; 0 if not computed.
        sm_active: mean share of multiprocessors that have work; NaN if not measured.
    """

    graph: str
    architecture: str
    setting: Setting
    target: str
    batch: int
    time_s: float
    memory_bytes: float = nan
    energy_j: float = nan
    power_w: float = nan
    floor_s: float = 0.0
    sm_active: float = nan

    def value(self, quantity: Quantity) -> float:
        """Return the measured value of a quantity; NaN if it was not measured."""
        value: float = getattr(self, quantity.value)
        return value

    @property
    def part(self) -> str:
        """Return the execution mode: ``eager``, ``channels last``, ``compiled`` or ``training``.

        Scores of a data set are divided into parts by it.
        """
        return self.setting.mode.value


@cached_entity
class Measurements:
    """Rows with their graphs.

    Args:
        dataset: name of the data set.
        graphs: graphs by name; may have graphs without rows.
        rows: measured runs, in a fixed order.
        digest: digest of the data set's card.
        left_out: messages about omitted rows of the tables: how many, and why.
    """

    dataset: str
    graphs: Mapping[str, ModelGraph]
    rows: tuple[GraphRow, ...]
    digest: str = ""
    left_out: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def architectures(self) -> list[str]:
        """Return the names of all architectures, sorted."""
        return sorted({r.architecture for r in self.rows})

    @property
    def targets(self) -> list[str]:
        """Return the names of all machines, sorted."""
        return sorted({r.target for r in self.rows})

    def where(self, keep: Callable[[GraphRow], bool]) -> Measurements:
        """Return the rows that satisfy a condition."""
        return self.of([r for r in self.rows if keep(r)])

    def of(self, rows: Sequence[GraphRow]) -> Measurements:
        """Return given rows with the same graphs."""
        return Measurements(self.dataset, self.graphs, tuple(rows), self.digest)

    def measured(self, quantity: Quantity) -> Measurements:
        """Return the rows in which a quantity was measured; one of 0 has no relative error."""
        return self.where(lambda r: isfinite(r.value(quantity)) and r.value(quantity) > 0)

    def values(self, quantity: Quantity) -> Array:
        """Return the measured values of a quantity, one number per row."""
        return np.array([r.value(quantity) for r in self.rows], np.float64)

    def graph(self, row: GraphRow) -> ModelGraph:
        """Return the graph of a row."""
        return self.graphs[row.graph]

    def kernels(self, row: GraphRow) -> KernelGraph:
        """Return the launches of a row, in the order of the framework, at any batch."""
        return self.graphs[row.graph].kernels[row.setting.launch_key]

    def launches(self, row: GraphRow) -> Columns:
        """Return the launches of a row at its batch."""
        return self.kernels(row).columns.at(row.batch)


def drawn(rows: Sequence[GraphRow], seed: int, count: int) -> list[GraphRow]:
    """Return at most ``count`` rows, drawn at random, at most one of each architecture."""
    import random

    # all rows are shuffled, so that the draw of a larger count begins with that of a smaller one
    generator = random.Random(seed)
    shuffled = generator.sample(range(len(rows)), len(rows))
    drawn_rows: dict[str, GraphRow] = {}
    for i in shuffled:
        # the first row of an architecture in the shuffled order represents it
        drawn_rows.setdefault(rows[i].architecture, rows[i])
        if len(drawn_rows) == count:
            break
    return list(drawn_rows.values())
