"""Launches of many runs as one table, and trees of their factors learned through their sums.

As `perfc_lab.training.runs.sums` describes it, over all ways of running at once: a launch
under ``torch.compile`` and the same launch eager share what they have in common, and the trees see
how they were run. Launches too short to matter keep the multiplier of their kind.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..features.effective_bandwidth import EffectiveSheet
from ..graph.dataset import sheet
from ..steps.columns import LinearColumns, merged
from ..steps.features import tabulate
from ..steps.launch_kind import LaunchKind
from ..steps.launch_stack import SumStack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array
    from ..features.sheet import Sheet
    from ..graph.model_graph import KernelGraph
    from ..graph.rows import GraphRow, Measurements

KINDS = len(LaunchKind)
LEAST_SHARE = 0.004
"""Of a run's time; shorter launches are no rows of the trees."""
CONTEXT = ("compiled", "training")
"""Features of a launch besides those of `perfc.analyzers.steps.features`."""


@dataclass(frozen=True, eq=False)
class LaunchSums:
    """Launches of runs, equal ones once.

    Args:
        stack: launches; its ``time_s`` is the quantity that is learned, in its own unit.
        times: how often each is launched.
    """

    stack: SumStack
    times: Array

    def counts(self) -> Array:
        """Launches of each kind, ``[runs, kinds]``."""
        return by_kind(self.stack, self.times)


class RunKin(NamedTuple):
    """What has multipliers of its own."""

    target: str
    precision: str
    framework: str
    mode: str
    layout: str

    @property
    def way(self) -> tuple[str, str, str]:
        """How it is run: framework with its version, mode and layout."""
        return self.framework, self.mode, self.layout


def kin_of(row: GraphRow) -> RunKin:
    """Of a row."""
    setting = row.setting
    layout = "channels last" if setting.channels_last else "channels first"
    return RunKin(
        row.target, setting.precision.value, setting.framework, setting.mode.value, layout
    )


@cache
def effective_sheet(target: str) -> Sheet:
    """The data sheet of a target, with the bandwidth that it keeps up."""
    return EffectiveSheet(sheet(target).machine)


@lru_cache(maxsize=8192)
def distinct(kernels: KernelGraph) -> LinearColumns:
    """Equal launches of a graph once."""
    return LinearColumns(kernels.columns.batches, merged(kernels.columns.table))


def tabulated_runs(
    data: Measurements, wanted: Array, sheets: Callable[[str], Sheet] = sheet
) -> LaunchSums:
    """Launches of every row.

    Args:
        data: rows and graphs.
        wanted: ``[rows]``, what their sums shall be; anything positive where it is not known.
        sheets: what is known of a machine, by its name.
    """
    known = tuple(sorted({kin_of(r) for r in data.rows}))
    place = {kin: i for i, kin in enumerate(known)}
    names: tuple[str, ...] = ()
    values, kind, scale, floor, index, times = [], [], [], [], [], []
    for i, row in enumerate(data.rows):
        columns = distinct(data.kernels(row)).at(row.batch)
        table = tabulate(columns, row.setting, sheets(row.target))
        names = (*table.names, *CONTEXT)
        context = np.array([row.setting.compiled, row.setting.training], np.float32)
        width = (len(columns), len(CONTEXT))
        values.append(np.hstack([table.values, np.broadcast_to(context, width)]))
        kind.append(columns.kind.astype(np.int64))
        scale.append(table.scale_s * columns.times)
        floor.append(table.floor_s * columns.times)
        times.append(columns.times)
        index.append(np.full(len(columns), i))
    stack = SumStack(
        names,
        np.concatenate(values),
        np.concatenate(kind),
        np.concatenate(scale),
        np.concatenate(floor),
        np.concatenate(index),
        np.array([place[kin_of(r)] for r in data.rows]),
        known,
        wanted,
    )
    return LaunchSums(stack, np.concatenate(times))


def by_kind(stack: SumStack, per_launch: Array) -> Array:
    """Sums by run and kind, ``[runs, kinds]``."""
    flat = np.bincount(stack.row * KINDS + stack.kind, per_launch, len(stack) * KINDS)
    return flat.reshape(len(stack), KINDS).astype(np.float64)


@dataclass(frozen=True, eq=False)
class KindRates:
    """Multipliers of kinds of launches by machine, precision and way of running.

    Args:
        known: what has some of its own.
        table: ``[known, kinds]``.
    """

    known: tuple[RunKin, ...]
    table: Array

    def of(self, kin: RunKin) -> Array:
        """Its own, or the geometric mean of those most alike: way of running before precision."""

        def alike(other: RunKin) -> tuple[bool, ...]:
            return (
                (other.mode, other.layout) == (kin.mode, kin.layout),
                other.mode == kin.mode,
                other.precision == kin.precision,
                other.framework == kin.framework,
                other.target == kin.target,
            )

        if kin in self.known:
            return np.asarray(self.table[self.known.index(kin)])
        scores = [alike(other) for other in self.known]
        best = max(scores)
        chosen = [i for i, score in enumerate(scores) if score == best]
        found: Array = np.exp(np.log(self.table[chosen]).mean(axis=0))
        return found

    def scaled(self, stack: SumStack) -> Array:
        """Of every launch the scale times its multiplier."""
        rates = np.array([self.of(RunKin(*kin)) for kin in stack.known]).reshape(-1, KINDS)
        found: Array = stack.scale_s * rates[stack.kin[stack.row], stack.kind]
        return found


@dataclass(frozen=True, eq=False)
class Pruned:
    """Launches long enough to matter, and what the others take.

    Args:
        stack: the launches kept; their scale is multiplied already.
        rest: ``[runs, kinds]``, time of the others.
    """

    stack: SumStack
    rest: Array

    @classmethod
    def of(cls, stack: SumStack, rates: KindRates) -> Pruned:
        """By their share of a run."""
        scale = rates.scaled(stack)
        kept = scale >= LEAST_SHARE * stack.total(scale)[stack.row]
        short = replace(
            stack, row=stack.row[~kept], kind=stack.kind[~kept], scale_s=scale[~kept]
        )  # fmt: skip
        long = replace(
            stack, values=stack.values[kept], kind=stack.kind[kept], scale_s=scale[kept],
            floor_s=stack.floor_s[kept], row=stack.row[kept],
        )  # fmt: skip
        return cls(long, by_kind(short, short.scale_s))

    def take(self, chosen: NDArray[np.bool_]) -> Pruned:
        """The runs of a mask."""
        return Pruned(self.stack.take(chosen), self.rest[chosen])

    def seconds(self, log_factor: Array) -> Array:
        """Time by run and kind, ``[runs, kinds]``."""
        return self.rest + by_kind(self.stack, self.stack.scale_s * np.exp(log_factor))
