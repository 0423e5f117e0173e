"""Residuals of a kernel sum, estimated by a Gaussian process from similar rows.

It serves rows whose models and machines have known rows. Of one setting it distinguishes rows with
more and with fewer users continuously, where trees have steps. The process is that of
`perfc.analyzers.features.process`, fitted by `perfc_lab.training.process_fit`.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from enum import Enum, auto
from typing import TYPE_CHECKING

from perfc.analyzers.features.process import Near, Process, RowPositions, SimilarityAspects
from perfc.ir.record import entity
from perfc_lab.training.process_fit import ProcessRecipe, fitted_process

from .kernel_sum import SHARES
from .rows import COLUMNS, PARTLY, TreeRow, day_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]


class RowAspect(Enum):
    """Aspects of the similarity of two rows."""

    VERSION = auto()
    """The runtime and its version."""
    PRECISION = auto()
    MACHINE = auto()
    LAYOUT = auto()
    """All numbers of ranks, workers and draft tokens: equal or not."""
    MODEL = auto()
    LOAD = auto()
    """Users, lengths, and the time of a token by the kernel sum."""
    RANKS = auto()
    """Numbers of ranks, workers and draft tokens: near numbers are similar."""
    SHARES = auto()
    """Shares of prompts, communication, host and caches."""
    DAY = auto()
    EVERY = auto()
    """All features at once."""


PARTS = (*COLUMNS, *SHARES)
"""Columns of a table of features and shares."""
# columns of each aspect in which near rows are similar
LAYOUT = ("GPUs", "tensor", "expert", "data", "engines", "prompt GPUs", "drafted")
LOAD = ("users", "users of a rank", "SL", "output tokens", "time of a token")
OF_TIME = ("prompts", "exchanges", "host", "sequences", "caches")
DAY = "day"
PLACES: tuple[tuple[RowAspect, int, float], ...] = (
    (RowAspect.LOAD, len(LOAD), 1.0),
    (RowAspect.RANKS, len(LAYOUT), 1.0),
    (RowAspect.SHARES, len(OF_TIME), 1.0),
    (RowAspect.DAY, 1, 0.0),
    (RowAspect.EVERY, len(PARTS), 2.0),
)
"""Aspects in which near rows are similar: number of columns, and start of the fit.

The start is the logarithm of the reach (length scale) from which the search begins.
"""
# aspects in which rows are equal or not
KINDS = RowAspect.VERSION, RowAspect.PRECISION, RowAspect.MACHINE, RowAspect.LAYOUT, RowAspect.MODEL
# combinations that several terms of `AspectSums` have
_ENGINE = (RowAspect.VERSION, RowAspect.PRECISION, RowAspect.MACHINE, RowAspect.MODEL)
_PLACE = (RowAspect.LOAD, RowAspect.RANKS)
_WHOLE = (*_PLACE, RowAspect.SHARES)


class AspectSums(Enum):
    """Sums of functions, each of which has similar values for rows similar in all its aspects."""

    ONE = ((RowAspect.EVERY,),)
    """A single function of all features."""
    MANY = (
        (),
        (RowAspect.VERSION,),
        (RowAspect.MACHINE, RowAspect.MODEL),
        _ENGINE,
        _WHOLE,
        (RowAspect.VERSION, *_WHOLE),
        (RowAspect.MACHINE, RowAspect.MODEL, *_WHOLE),
        (*_ENGINE, *_PLACE),
        (*_ENGINE, *_WHOLE),
        (*_ENGINE, RowAspect.LAYOUT),
        (*_ENGINE, RowAspect.LAYOUT, RowAspect.LOAD),
        (*_ENGINE, RowAspect.DAY),
        (*_ENGINE, RowAspect.DAY, *_PLACE),
        (RowAspect.EVERY,),
    )
    """Functions of few aspects, from what all rows share to what one engine shares on a day."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name

    @property
    def form(self) -> SimilarityAspects:
        """Return the form of the process."""
        # the slices of columns are in the order of `PLACES`, as `tabulated` writes them
        near: dict[Enum, Near] = {}
        column = 0
        for aspect, count, start in PLACES:
            near[aspect] = Near(slice(column, column + count), has_each=True, start=start)
            column += count
        kinds: dict[Enum, tuple[int, ...]] = {aspect: (i,) for i, aspect in enumerate(KINDS)}
        return SimilarityAspects(self.value, kinds, near, column, RowAspect.MODEL)


# parameters are fitted to at most 600 rows of a table, which may all be of one model
RECIPE = ProcessRecipe(rows=600, of_model=600, steps=40)
LEAST_ROWS = 10
"""Minimum rows of a table for which a process is fitted."""
SMALLEST = 0.25
"""Minimum of a count before its logarithm, as 0 has none."""
USUAL_DAY = day_number("2026-01-15")
"""Day of rows without a day, all of which count as equally old."""


@entity
class Likeness:
    """One process for each table, which knows the table's rows.

    Args:
        processes: process of each table.
        means: mean residual of each table's known rows, around which the process is fitted.
    """

    processes: dict[str, Process]
    means: dict[str, float]

    @classmethod
    def fitted(
        cls, terms: AspectSums, rows: Sequence[TreeRow], table: Array, left: Array
    ) -> Likeness:
        """Fit the processes to rows.

        Args:
            terms: terms of the processes.
            rows: known rows.
            table: features and shares of the rows, ``[rows, COLUMNS and SHARES]``.
            left: logarithm of the measured value over the kernel sum, ``[rows]``.
        """
        processes, means, known = {}, {}, tabulated(rows, table)
        for name, places in by_table(rows).items():
            if len(places) >= LEAST_ROWS:
                # far from all known rows a process gives 0, which thereby stands for the mean
                means[name] = float(left[places].mean())
                beyond = left[places] - means[name]
                processes[name] = fitted_process(terms.form, known.take(places), beyond, RECIPE)
        return cls(processes, means)

    def __call__(self, rows: Sequence[TreeRow], table: Array) -> Array:
        """Return the expected residual of rows, ``[rows]``; 0 for a table without a process.

        Args:
            rows: rows to predict.
            table: features and shares of the rows.
        """
        import numpy as np

        positions, residuals = tabulated(rows, table), np.zeros(len(rows))
        for name, places_of_table in by_table(rows).items():
            if name in self.processes:
                residuals[places_of_table] = self.means[name] + self.processes[name].beyond(
                    positions.take(places_of_table)
                )
        return residuals


def by_table(rows: Sequence[TreeRow]) -> dict[str, NDArray[np.int64]]:
    """Return the positions of the rows of each table, with its rows of partly known settings."""
    import numpy as np

    names = [row.source.removesuffix(PARTLY) for row in rows]
    return {name: np.flatnonzero([n == name for n in names]) for name in dict.fromkeys(names)}


def tabulated(rows: Sequence[TreeRow], table: Array) -> RowPositions:
    """Return the rows as a process reads them: numbers of kinds, and coordinates.

    Args:
        rows: rows of any table.
        table: features and shares of the rows, ``[rows, COLUMNS and SHARES]``.
    """
    import numpy as np

    column = {name: table[:, i] for i, name in enumerate(PARTS)}
    counted = {name: counted_of(column[name]) for name in (*LAYOUT, "BS", "SL", "output tokens")}
    ranks = counted["tensor"] + counted["data"] + counted["engines"]
    # columns that replace columns of the table, or are added to them
    derived = {
        "users": counted["BS"],
        # a difference of logarithms is a quotient
        "users of a rank": counted["BS"] - ranks,
        "sequences": counted_of(column["sequences"]),
        # no logarithm: most rows draft nothing
        "drafted": column["drafted"],
        "day": np.nan_to_num(column[DAY], nan=USUAL_DAY),
    }
    places = [(column | counted | derived)[name] for name in (*LOAD, *LAYOUT, *OF_TIME, DAY)]
    # -1, below every count, stands for unknown; logarithms, as features span magnitudes
    every = np.nan_to_num(table, nan=-1.0)
    every = np.sign(every) * np.log1p(np.abs(every))
    columns = np.concatenate([np.nan_to_num(np.stack(places, axis=1)), every], axis=1)
    return RowPositions(kinds_of(rows), columns.astype(np.float32))


def counted_of(amounts: Array) -> Array:
    """Return the base-2 logarithm of amounts; an unknown amount counts as one."""
    import numpy as np

    logs: Array = np.log2(np.maximum(np.nan_to_num(amounts, nan=1.0), SMALLEST))
    return logs


def kinds_of(rows: Sequence[TreeRow]) -> NDArray[np.float32]:
    """Return a number for each aspect in `KINDS`, equal for equal rows, ``[rows, KINDS]``.

    Checksums are cut to 24 bits, which float32 holds exactly.
    """
    import numpy as np

    return np.array(
        [[float(zlib.crc32(k.encode()) >> 8) for k in _kinds(r)] for r in rows], np.float32
    )


def _kinds(row: TreeRow) -> tuple[str, ...]:
    """Return the aspects in `KINDS` of a row as texts, in that order."""
    served = row.served
    layout = (
        served.tensor,
        served.expert,
        served.attention_data,
        served.engines,
        served.prefill,
        served.drafted,
        served.dataset,
    )
    return (
        f"{served.runtime} {served.version}",
        f"{served.weights} {served.cache}",
        row.machine,
        repr(layout),
        row.model,
    )
