"""Predict kernel times by trained weights: shape parameters and a machine to time and interval."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import dtype_named, entity

from ..artefacts import artefact
from ..artefacts.artefact import Artefact, WeightsError
from ..artefacts.card import Card
from ..features.rows import Protocol
from ..features.sheet import Sheet
from ..features.table import class_of, complete
from ..intervals.mixture import Mixture
from .candidate_times import timed_as, unbounded

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from perfc.machine import Machine

    from ..features.classes import Array, Columns

FLOOR = "floor_s"
"""Name under which lower bounds by the caller are one more column of the rows."""


@entity
class Estimates:
    """Predicted kernels, one element each.

    Args:
        time_s: likeliest time in seconds; at least the lower bound.
        low_s: lower end of the 90 % prediction interval; at least the lower bound.
        high_s: upper end of the interval; at least the lower bound.
        floor_s: lower bound, which no execution can beat.
        extrapolating: True if machine, type, protocol or extents are so far from all measured ones
            that a large error is expected; the interval includes it.
        predictor: name of the weights.
    """

    time_s: Array
    low_s: Array
    high_s: Array
    floor_s: Array
    extrapolating: NDArray[np.bool_]
    predictor: str

    @property
    def efficiency(self) -> Array:
        """Return the lower bound over the time, in (0, 1]."""
        return self.floor_s / self.time_s


def known_classes(folder: Path = artefact.SHIPPED) -> frozenset[str]:
    """Return the kernel classes that have weights in a folder."""
    return frozenset(_classes(folder))


def select(
    class_name: str,
    dtype: str,
    protocol: Protocol,
    target: str = "",
    folder: Path = artefact.SHIPPED,
    *,
    cells: bool = False,
) -> Artefact:
    """Return the weights of a class that match best: by element type, then protocol, then machine.

    With ``cells`` they include the summary of the training rows, which explanations read.

    Raises:
        WeightsError: the class has no weights, or they are damaged.
    """
    path = fitting(class_name, dtype, protocol, target, folder)[1]
    return _load(path, _stamp(path), cells)


def fitting(
    class_name: str,
    dtype: str,
    protocol: Protocol,
    target: str = "",
    folder: Path = artefact.SHIPPED,
) -> tuple[Card, Path]:
    """Return the card that `select` would choose, and its file, without reading the arrays.

    Raises:
        WeightsError: the class has no weights.
    """
    cards = _cards(folder, class_name)
    if not cards:
        raise WeightsError(
            f"no weights for {class_name}", where=str(folder), hint="perfc train op writes them"
        )

    def fit(entry: tuple[Card, Path]) -> tuple[bool, bool, bool]:
        """Return the sort key of a card, its most important part first."""
        card = entry[0]
        return dtype in card.dtypes, protocol in card.protocols, target in card.targets

    return max(cards, key=fit)


def has_rows_of(
    class_name: str, dtype: str, target: str, framework: str, folder: Path = artefact.SHIPPED
) -> bool:
    """Return True if a framework's kernels of a class were measured on a machine in a type."""
    configuration = target, dtype, framework
    return any(configuration in card.configurations for card, _ in _cards(folder, class_name))


def predict(
    class_name: str,
    rows: Columns,
    dtype: str,
    machine: Machine,
    protocol: Protocol,
    framework: str = "",
    *,
    folder: Path = artefact.SHIPPED,
) -> Estimates:
    """Return the times of kernels of one class and type on a machine, with 90 % intervals.

    Args:
        class_name: class name of `perfc.analyzers.features.classes`.
        rows: the parameters of the class, one column each with an element per kernel.
        dtype: element type of the computation, by any of its names.
        machine: any target; nothing but its data sheet is used.
        protocol: protocol of the measurements whose time is predicted.
        framework: framework that runs the kernels; empty for any that was measured.
        folder: folder of the weights.

    Raises:
        WeightsError: no weights of that class.
        KernelError: rows that no class describes.
        ParseError: no such element type.
    """
    dtype = dtype_named(dtype).code
    weights = select(class_name, dtype, protocol, machine.name, folder)
    return predict_with(weights, rows, dtype, Sheet(machine), protocol, framework)


def predict_with(
    artefact: Artefact,
    rows: Columns,
    dtype: str,
    sheet: Sheet,
    protocol: Protocol,
    framework: str = "",
    floor_s: Array | None = None,
) -> Estimates:
    """Return the times of kernels by given weights.

    If several kernels are candidates (`implementations`), the time has the least expected relative
    error over all of them (`mixture`), and the interval is between two calibrated quantiles.

    Args:
        artefact: the weights.
        rows: the parameters of the class, one column each with an element per kernel.
        dtype: element type of the computation.
        sheet: sheet of the machine.
        protocol: protocol of the measurements whose time is predicted.
        framework: framework that runs the kernels; empty for any that was measured.
        floor_s: lower bound of each row in seconds, from a caller that knows which operands are
            shared or read in part; by default that of the class, by the extents.

    Raises:
        WeightsError: weights that read other features than the class gives.
        KernelError: rows that no class describes.
    """
    kind = class_of(artefact.card.class_name)
    given = {} if floor_s is None else {FLOOR: floor_s}
    # lower bounds are a column as well: rows with other bounds are other rows
    unique, back = distinct({**complete(kind, rows), **given})
    floor_s = unique.get(FLOOR)
    mixture, outside = possible(artefact, unique, dtype, sheet, protocol, framework, floor_s)
    levels = artefact.card.calibration.levels(
        kind.category(unique, dtype, sheet, timed_as(artefact.card, protocol)), kind.categories
    )
    least_s = kind.floor_s(unique, dtype, sheet) if floor_s is None else floor_s
    ends = tuple([np.maximum(np.exp(end), least_s) for end in mixture.ends(*levels)])
    # times of rows for which the class itself has a law; NaN for other rows
    known_times = kind.stated_s(unique, sheet)
    if known_times is not None:
        is_learned = np.isnan(known_times[1])
        # a law raised to its bound keeps its upper error (`Interval.at_least`)
        low_s, mid_s, high_s = known_times
        known_times = low_s, mid_s, high_s * np.maximum(least_s / mid_s, 1.0)
        ends = tuple(
            [
                np.where(is_learned, end, np.maximum(law_s, least_s))
                for end, law_s in zip(ends, known_times, strict=True)
            ]
        )
        outside = outside & is_learned
    low_s, time_s, high_s = ends
    return Estimates(
        time_s[back], low_s[back], high_s[back], least_s[back], outside[back], artefact.card.name
    )


def possible(
    artefact: Artefact,
    rows: Columns,
    dtype: str,
    sheet: Sheet,
    protocol: Protocol,
    framework: str = "",
    floor_s: Array | None = None,
) -> tuple[Mixture, NDArray[np.bool_]]:
    """Return times of rows by every candidate kernel, and which rows all of them extrapolate.

    The arguments are those of `predict_with`; ``rows`` are complete and distinct.
    """
    columns = {name: column for name, column in rows.items() if name != FLOOR}
    known = unbounded(artefact, columns, dtype, sheet, protocol, framework)
    part, row, outside = known.part, known.row, known.outside
    # a kernel without work has a lower bound of 0, and a logarithm of minus infinity
    with np.errstate(divide="ignore"):
        floor = np.log(known.floor_s if floor_s is None else floor_s[row])
    # the interval is around the estimate after it was raised to its lower bound
    middle = np.maximum(known.log_s, floor)
    low = np.maximum(middle + known.low, floor)
    # four tables of candidates by rows: low, middle, high, and 1 if the candidate may execute the
    # row. Values of candidates that may not are 0 and ignored
    table = np.zeros((4, known.parts, len(rows[class_of(artefact.card.class_name).parameters[0]])))
    table[:, part, row] = [low, middle, middle + known.high, np.ones(len(row))]
    low, middle, high, is_present = table
    is_inside = np.zeros(table.shape[2], np.bool_)
    is_inside[row[~outside]] = True
    return Mixture(low, middle, high, is_present > 0), ~is_inside


def distinct(columns: Columns) -> tuple[dict[str, Array], NDArray[np.intp]]:
    """Return each distinct row once, and the index of each given row in them: layers repeat."""
    stacked = np.stack(list(columns.values()), axis=1)
    # rows are compared by their bytes, which is faster than `np.unique`
    index_of: dict[bytes, int] = {}
    back = [index_of.setdefault(row.tobytes(), len(index_of)) for row in stacked]
    unique = np.frombuffer(b"".join(index_of), stacked.dtype).reshape(len(index_of), -1)
    return {name: unique[:, i] for i, name in enumerate(columns)}, np.array(back, np.intp)


def _cards(folder: Path, class_name: str) -> list[tuple[Card, Path]]:
    """Return the cards of one class and their files.

    Other cards are not parsed, which would take longer than evaluating a forest.
    """
    paths = _classes(folder).get(class_name, ())
    return [(_card(path, _stamp(path)), path) for path in paths]


def _classes(folder: Path) -> Mapping[str, tuple[Path, ...]]:
    """Return the cards of a folder by class, read again when the folder changes."""
    return _listed(folder, _stamp(folder)) if folder.is_dir() else {}


def _stamp(path: Path) -> int:
    """Return the time of the last change, a key of caches: a changed file is read again."""
    return path.stat().st_mtime_ns


@cache
def _listed(folder: Path, stamp: int) -> Mapping[str, tuple[Path, ...]]:
    """Return the cards of a folder by class; ``stamp`` is only part of the cache's key."""
    result: dict[str, tuple[Path, ...]] = {}
    for path in sorted(folder.glob("*.json")):
        name = artefact.class_of(path)
        result[name] = (*result.get(name, ()), path)
    return result


@cache
def _card(path: Path, stamp: int) -> Card:
    """Return the card of a file; ``stamp`` is only part of the cache's key."""
    return artefact.read_card(path)


@cache
def _load(path: Path, stamp: int, cells: bool) -> Artefact:
    """Return the weights of a card's file; ``stamp`` is only part of the cache's key."""
    return artefact.load(path, cells=cells, card=_card(path, stamp))
