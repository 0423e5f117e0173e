"""Launches of many runs as one table, for trees whose factors are fitted to the sums of runs.

`perfc_lab.training.runs.sums` describes the fit. One fit covers all execution modes, which are
features of the trees: a launch under ``torch.compile`` and the same eager launch differ in them
only. Launches that are too short to matter are multiplied by a factor of their kind and no tree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np

from perfc.ir import entity

from ..features.classes import Array
from ..features.sheet import EffectiveSheet, Sheet
from ..graph.dataset import sheet
from ..graph.model_graph import KernelGraph
from ..graph.rows import GraphRow, Measurements
from ..steps.columns import LinearColumns, merged
from ..steps.features import tabulate
from ..steps.launch_kind import LaunchKind
from ..steps.launch_stack import SumStack

KINDS = len(LaunchKind)
LEAST_SHARE = 0.004
"""Share of a run's time below which a launch is not evaluated by the trees: even a factor of two on
such a launch changes the run by less than 1 %."""
CONTEXT = ("compiled", "training")
"""Features of a launch besides those of `perfc.analyzers.steps.features`."""


@entity
class LaunchSums:
    """Distinct launches of runs.

    Args:
        stack: launches; its ``time_s`` is the measured quantity, in the unit of that quantity.
        times: how often each distinct launch is repeated in its run.
    """

    stack: SumStack
    times: Array

    def counts(self) -> Array:
        """Return the number of launches of each kind, ``[runs, kinds]``."""
        return by_kind(self.stack, self.times)


class RunConfiguration(NamedTuple):
    """Key of a set of multipliers.

    Machine, precision, framework with version, execution mode, and layout of images.
    """

    target: str
    precision: str
    framework: str
    mode: str
    layout: str

    @property
    def way(self) -> tuple[str, str, str]:
        """Return framework with version, mode and layout."""
        return self.framework, self.mode, self.layout


def configuration_of(row: GraphRow) -> RunConfiguration:
    """Return the key of a row's multipliers."""
    setting = row.setting
    layout = "channels last" if setting.channels_last else "channels first"
    return RunConfiguration(
        row.target, setting.precision.value, setting.framework, setting.mode.value, layout
    )


@cache
def effective_sheet(target: str) -> Sheet:
    """Return the data sheet of a target with its effective bandwidth."""
    return EffectiveSheet(sheet(target).machine)


@lru_cache(maxsize=8192)
def distinct(kernels: KernelGraph) -> LinearColumns:
    """Return the distinct launches of a graph."""
    return LinearColumns(kernels.columns.batches, merged(kernels.columns.table))


def tabulated_runs(
    data: Measurements, wanted: Array, sheets: Callable[[str], Sheet] = sheet
) -> LaunchSums:
    """Return the launches of all rows.

    Args:
        data: rows and their graphs.
        wanted: measured sums, ``[rows]``; any positive number if unknown.
        sheets: function from a machine's name to its data sheet.
    """
    # sorted, so that indices do not depend on the order of rows
    known = tuple(sorted({configuration_of(r) for r in data.rows}))
    index_of = {configuration: i for i, configuration in enumerate(known)}
    names: tuple[str, ...] = ()  # the features are those of every row, so the last row sets them
    values, kind, scale, floor, index, times = [], [], [], [], [], []
    for i, row in enumerate(data.rows):
        columns = distinct(data.kernels(row)).at(row.batch)
        table = tabulate(columns, row.setting, sheets(row.target))
        names = (*table.names, *CONTEXT)
        context = np.array([row.setting.compiled, row.setting.training], np.float32)
        width = (len(columns), len(CONTEXT))
        values.append(np.hstack([table.values, np.broadcast_to(context, width)]))
        kind.append(columns.kind.astype(np.intp))
        # rows are distinct launches; times and bounds are of all repetitions
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
        np.array([index_of[configuration_of(r)] for r in data.rows]),
        known,
        wanted,
    )
    return LaunchSums(stack, np.concatenate(times))


def by_kind(stack: SumStack, per_launch: Array) -> Array:
    """Return the sums of ``per_launch`` by run and kind, ``[runs, kinds]``."""
    # one bin per run and kind, in row-major order
    flat = np.bincount(stack.row * KINDS + stack.kind, per_launch, len(stack) * KINDS)
    return flat.reshape(len(stack), KINDS).astype(np.float64)


@entity
class KindRates:
    """Multipliers of kinds of launches by machine, precision and execution mode.

    Args:
        known: keys of the rows of ``table``.
        table: multipliers, ``[known, kinds]``.
    """

    known: tuple[RunConfiguration, ...]
    table: Array

    def of(self, configuration: RunConfiguration) -> Array:
        """Return the multipliers of a key.

        An unknown key gets the geometric mean of the nearest known keys: by execution mode and
        layout first, then by mode, precision, framework and machine.
        """

        def similarity(other: RunConfiguration) -> tuple[bool, ...]:
            # compared from left to right, so the order is that of importance
            return (
                (other.mode, other.layout) == (configuration.mode, configuration.layout),
                other.mode == configuration.mode,
                other.precision == configuration.precision,
                other.framework == configuration.framework,
                other.target == configuration.target,
            )

        if configuration in self.known:
            return np.asarray(self.table[self.known.index(configuration)])
        scores = [similarity(other) for other in self.known]
        best = max(scores)
        chosen = [i for i, score in enumerate(scores) if score == best]
        # multipliers are ratios, so their logarithms are averaged
        mean: Array = np.exp(np.log(self.table[chosen]).mean(axis=0))
        return mean

    def scaled(self, stack: SumStack) -> Array:
        """Return the estimate of every launch times the multiplier of its kind, ``[launches]``."""
        rates = np.array([self.of(RunConfiguration(*c)) for c in stack.known]).reshape(-1, KINDS)
        result: Array = stack.scale_s * rates[stack.configuration[stack.row], stack.kind]
        return result


@entity
class Pruned:
    """Launches long enough to matter, and the summed time of the others.

    Args:
        stack: long launches; their estimates include the multiplier.
        rest: time of the others, ``[runs, kinds]``.
    """

    stack: SumStack
    rest: Array

    @classmethod
    def of(cls, stack: SumStack, rates: KindRates) -> Pruned:
        """Divide launches into those of at least `LEAST_SHARE` of a run, and the rest."""
        scale = rates.scaled(stack)
        is_long = scale >= LEAST_SHARE * stack.total(scale)[stack.row]
        # features of short launches are not needed: no tree is evaluated on them
        short = replace(
            stack, row=stack.row[~is_long], kind=stack.kind[~is_long], scale_s=scale[~is_long]
        )
        long = replace(
            stack,
            values=stack.values[is_long],
            kind=stack.kind[is_long],
            scale_s=scale[is_long],
            floor_s=stack.floor_s[is_long],
            row=stack.row[is_long],
        )
        return cls(long, by_kind(short, short.scale_s))

    def seconds(self, log_factor: Array) -> Array:
        """Return the time by run and kind, ``[runs, kinds]``.

        ``log_factor`` is the logarithm of the trees' factor of each long launch.
        """
        return self.rest + by_kind(self.stack, self.stack.scale_s * np.exp(log_factor))
