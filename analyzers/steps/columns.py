"""Launches as columns of numbers: constant traits, and amounts as linear functions of the batch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import Env, entity
from perfc.passes.inference.strides import StrideTable

from .launch import AMOUNTS, TRAITS, Launch
from .launch_kind import LaunchKind
from .launches import LaunchWalk

if TYPE_CHECKING:
    from perfc.passes.fusion.fuse import KernelTable

    from ..features.classes import Array

PLAIN = {"groups": 1.0, "window": 1.0, "stride": 1.0}
"""Defaults of missing columns, if not 0: kernels without products or windows have one of each."""
# rows of a launch that gives no amounts or traits, in the order of the columns
_NO_AMOUNTS = [PLAIN.get(name, 0.0) for name in AMOUNTS]
_NO_TRAITS = [PLAIN.get(name, 0.0) for name in TRAITS]


@entity
class Columns:
    """Launches of one step: each is one element of every column.

    Args:
        kind: number of each launch's `LaunchKind`.
        times: number of equal launches that each represents.
        amounts: columns that depend on the batch, such as bytes and FLOPs, by name.
        traits: columns that do not depend on the batch, by name.
    """

    kind: Array
    times: Array
    amounts: Mapping[str, Array]
    traits: Mapping[str, Array]

    def __len__(self) -> int:
        return len(self.kind)


@entity
class LinearColumns:
    """Launches whose amounts grow linearly with the batch, as in every batched model.

    Args:
        batches: the two batches at which amounts were counted.
        table: ``[launches, 1 + 1 + amounts + amounts + traits]``: kind, times, amounts at each
            batch, traits.
    """

    batches: tuple[int, int]
    table: Array

    def at(self, batch: float) -> Columns:
        """Return the launches at a batch, by the line through the two counted batches."""
        count = len(AMOUNTS)
        first, second = self.table[:, 2 : 2 + count], self.table[:, 2 + count : 2 + 2 * count]
        low, high = self.batches
        # not below 0, as counts that are not quite linear may be there for small batches
        amounts = np.maximum(first + (second - first) * ((batch - low) / (high - low)), 0.0)
        traits = self.table[:, 2 + 2 * count :]
        return _named(self.table, amounts, traits)


def by_name(names: Iterable[str], table: Array) -> dict[str, Array]:
    """Return the columns of a table by name."""
    return {name: table[:, i] for i, name in enumerate(names)}


def _named(table: Array, amounts: Array, traits: Array) -> Columns:
    """Return `Columns` of a table, whose first two columns are kind and times."""
    named = by_name(AMOUNTS, amounts), by_name(TRAITS, traits)
    return Columns(table[:, 0], table[:, 1], *named)


def tabulated(launches: Sequence[Launch], environments: int) -> Array:
    """Return launches as a table, ``[launches, 2 + environments · amounts + traits]``.

    ``environments`` is the number of values of the symbols at which amounts were counted.
    """
    rows: list[list[float]] = []
    # repeated launches share the objects of amounts and traits, so that identities are compared
    row_of: dict[tuple[int, int, LaunchKind, float], int] = {}
    row_of_launch: list[int] = []
    for launch in launches:
        key = id(launch.amounts), id(launch.traits), launch.kind, launch.times
        number = row_of.setdefault(key, len(rows))
        if number == len(rows):
            rows.append(_row(launch, environments))
        row_of_launch.append(number)
    width = 2 + environments * len(AMOUNTS) + len(TRAITS)
    table: Array = np.array(rows, np.float64).reshape(len(rows), width)[row_of_launch]
    return table


def _row(launch: Launch, environments: int) -> list[float]:
    """Return the row of a launch, with defaults for missing columns."""
    row = [float(launch.kind.number), launch.times]
    columns = [launch.amounts.get(name) for name in AMOUNTS]
    for i in range(environments):
        pairs = zip(columns, _NO_AMOUNTS, strict=True)
        row += [default if amount is None else amount[i] for amount, default in pairs]
    traits = launch.traits
    row += [traits.get(name, default) for name, default in zip(TRAITS, _NO_TRAITS, strict=True)]
    return row


def merged(table: Array) -> Array:
    """Return the distinct launches with summed counts, sorted.

    Numbers are rounded to six decimals, so that rounding errors do not separate equal launches.
    """
    keys = np.delete(table, 1, axis=1)  # all columns but the count
    unique, position = np.unique(np.round(keys, 6), axis=0, return_inverse=True)
    times = np.bincount(position.reshape(-1), table[:, 1], len(unique))
    return np.insert(unique, 1, times, axis=1)


def columns(launches: Sequence[Launch]) -> Columns:
    """Return launches counted at one environment, one row each, in order."""
    table = tabulated(launches, 1)
    return _named(table, table[:, 2 : 2 + len(AMOUNTS)], table[:, 2 + len(AMOUNTS) :])


def columns_at(table: KernelTable, env: Env, at: Iterable[int]) -> Columns:
    """Return extents of some kernels, independent of a machine.

    Args:
        table: kernels of a run.
        env: values of the symbols.
        at: indices of the kernels.
    """
    # no autocast (None), no strides and no generated kernels (False): they do not change extents
    walk = LaunchWalk(table, None, StrideTable({}, {}, {}), False, [table.numbers(env)])
    return columns([walk.compared(table.kernels[i]) for i in at])
