"""What like runs took beyond their kernels, as a Gaussian process tells it of another.

``log(T / sum of kernels)`` is a sum of functions. One is alike for runs of one runtime, one for
runs of like sizes under one runtime, and so on: `TERMS` lists them. Two runs are alike in an aspect
from 0 to 1; in a term they are as alike as the product of its aspects.

Source: Rasmussen and Williams, "Gaussian Processes for Machine Learning", 2006: equation 2.25, the
mean; equation 4.17, likeness of sizes; equation 4.9, of shares and machines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto
from typing import TYPE_CHECKING, Any

import numpy as np

from ..features.distance import squares
from ..steps.launch_kind import LaunchKind
from .run_table import IS_RUNTIME, OF_MACHINE

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array


class Aspect(Enum):
    """What two runs may be alike in."""

    RUNTIME = auto()
    PRECISION = auto()
    VERSION = auto()
    """The runtime and its version."""
    GRAPH = auto()
    """The very model: what is asked of is none of those known."""
    MACHINE = auto()
    SIZES = auto()
    """Of the run, of its launches and of its products."""
    SHARES = auto()
    """Of the kernels' time by what they do."""


_ENGINE = (Aspect.RUNTIME, Aspect.PRECISION)
TERMS: tuple[tuple[Aspect, ...], ...] = (
    (),
    (Aspect.RUNTIME,),
    _ENGINE,
    (Aspect.RUNTIME, Aspect.MACHINE),
    (*_ENGINE, Aspect.MACHINE),
    (Aspect.VERSION,),
    (Aspect.VERSION, Aspect.PRECISION, Aspect.MACHINE),
    (Aspect.SIZES,),
    (Aspect.RUNTIME, Aspect.SIZES),
    (*_ENGINE, Aspect.MACHINE, Aspect.SIZES),
    (Aspect.SHARES,),
    (Aspect.SHARES, Aspect.SIZES),
    (Aspect.RUNTIME, Aspect.SHARES),
    (Aspect.RUNTIME, Aspect.SHARES, Aspect.SIZES),
    (*_ENGINE, Aspect.SHARES),
    (Aspect.GRAPH,),
    (Aspect.RUNTIME, Aspect.GRAPH),
    (*_ENGINE, Aspect.MACHINE, Aspect.GRAPH),
)
SUMS = ("log_kernels", "log_launch")
"""Sizes that stand in no table: the sum of the kernels, and the mean of its launches."""
SIZES = (
    *SUMS, "log_launches", "log_batch", "log_floor_per_sum", "log_roof_per_sum", "log2_attended",
    "time_in_10us", "launches_in_10us", "time_in_50us", "product_m", "product_n", "product_k",
    "product_waves", "product_fill", "forest_share",
)  # fmt: skip
SHARES = tuple(f"time_{kind.name.lower()}" for kind in LaunchKind)
COLUMNS = (*SIZES, *OF_MACHINE, *SHARES)
GROUPS: Mapping[Aspect, slice] = {
    Aspect.SIZES: slice(0, len(SIZES)),
    Aspect.MACHINE: slice(len(SIZES), len(SIZES) + len(OF_MACHINE)),
    Aspect.SHARES: slice(len(SIZES) + len(OF_MACHINE), len(COLUMNS)),
}
KINDS = (Aspect.RUNTIME, Aspect.PRECISION, Aspect.VERSION, Aspect.GRAPH)
NOBODY = -1
"""Number of the graph of a run that is asked of."""
LEAST_WIDTH = 1e-6
LEAST_RATE = 1e-9
NAMES = ("centre", "width", "amplitudes", "kinds", "places", "weights")


@dataclass(frozen=True, eq=False)
class Runs:
    """Runs as places.

    Args:
        kinds: numbers of `KINDS`, ``[runs, 4]``.
        places: of `COLUMNS`, ``[runs, columns]``.
    """

    kinds: NDArray[np.float32]
    places: NDArray[np.float32]

    def take(self, chosen: NDArray[Any]) -> Runs:
        """Some of them."""
        return Runs(self.kinds[chosen], self.places[chosen])


def tabulated(
    values: NDArray[np.float32],
    names: Sequence[str],
    kernels_s: Array,
    graph: NDArray[Any] | None = None,
) -> Runs:
    """Runs by their features.

    Args:
        values: ``[runs, features]``.
        names: of the features.
        kernels_s: sum of the kernels of each run.
        graph: number of each run's model; none of those known by default.
    """
    at = {name: values[:, i].astype(np.float64) for i, name in enumerate(names)}
    none = np.zeros(len(values))
    sums = np.log(kernels_s)
    columns = {**at, SUMS[0]: sums, SUMS[1]: sums - at["log_launches"]}
    columns |= {name: np.log(np.maximum(at[name], LEAST_RATE)) for name in OF_MACHINE}
    columns |= {name: np.sqrt(np.maximum(at.get(name, none), 0.0)) for name in SHARES}
    runtimes = [i for i, name in enumerate(names) if name.startswith(IS_RUNTIME)]
    kinds = [
        values[:, runtimes].argmax(axis=1), at["precision"], at["runtime_version"],
        np.full(len(values), NOBODY) if graph is None else graph,
    ]  # fmt: skip
    return Runs(
        np.stack(kinds, axis=1).astype(np.float32),
        np.stack([columns[name] for name in COLUMNS], axis=1).astype(np.float32),
    )


def alike(mine: Runs, theirs: Runs) -> dict[Aspect, Array]:
    """How alike runs are in each aspect, ``[mine, theirs]``, from 0 to 1.

    Args:
        mine: runs, places in units of reach.
        theirs: likewise.
    """
    same = {
        aspect: (mine.kinds[:, i][:, None] == theirs.kinds[:, i]).astype(np.float64)
        for i, aspect in enumerate(KINDS)
    }
    same[Aspect.VERSION] *= same[Aspect.RUNTIME]
    same[Aspect.GRAPH] *= mine.kinds[:, KINDS.index(Aspect.GRAPH)][:, None] != NOBODY
    square = {
        aspect: squares(*(one.places[:, columns].astype(np.float64) for one in (mine, theirs)))
        for aspect, columns in GROUPS.items()
    }
    apart = np.sqrt(3.0 * square[Aspect.SIZES])
    return same | {
        Aspect.SIZES: (1.0 + apart) * np.exp(-apart),
        Aspect.MACHINE: np.exp(-square[Aspect.MACHINE]),
        Aspect.SHARES: np.exp(-square[Aspect.SHARES]),
    }


def term(aspects: Sequence[Aspect], likeness: Mapping[Aspect, Array]) -> Array | float:
    """How alike runs are in all of some aspects."""
    found: Array | float = 1.0
    for one in aspects:
        found = found * likeness[one]
    return found


@dataclass(frozen=True, eq=False)
class RunProcess:
    """Runs whose times are known.

    Args:
        centre: of each of `COLUMNS`.
        width: at which runs are no longer alike in it; infinite where they do not differ.
        amplitudes: standard deviation of each of `TERMS`.
        known: the runs, places less ``centre`` and over ``width``.
        weights: of the runs.
    """

    centre: Array
    width: Array
    amplitudes: Array
    known: Runs
    weights: Array

    @classmethod
    def of_arrays(cls, arrays: Mapping[str, Any]) -> RunProcess:
        """From further arrays of an artefact.

        Raises:
            KeyError, ValueError: an array is not there, or is of another shape.
        """
        centre, width, amplitudes, kinds, places, weights = (
            np.asarray(arrays[name], np.float64) for name in NAMES
        )
        rows = len(weights)
        wanted = [(len(COLUMNS),)] * 2 + [(len(TERMS),), (rows, len(KINDS)), (rows, len(COLUMNS))]
        if [one.shape for one in (centre, width, amplitudes, kinds, places)] != wanted:
            raise ValueError("runs of another shape")
        known = Runs(kinds.astype(np.float32), places.astype(np.float32))
        return cls(centre, width, amplitudes, known, weights)

    def arrays(self) -> dict[str, Any]:
        """What `of_arrays` reads."""
        return {
            "centre": self.centre.astype(np.float32), "width": self.width.astype(np.float32),
            "amplitudes": self.amplitudes.astype(np.float32), "kinds": self.known.kinds,
            "places": self.known.places.astype(np.float16),
            "weights": self.weights.astype(np.float32),
        }  # fmt: skip

    def placed(self, runs: Runs) -> Runs:
        """Runs in units of reach."""
        return Runs(runs.kinds, ((runs.places - self.centre) / self.width).astype(np.float32))

    def beyond(self, runs: Runs) -> Array:
        """``log(T / sum of kernels)`` that is expected of runs, ``[runs]``."""
        found: Array = self.covariance(self.placed(runs)) @ self.weights
        return found

    def covariance(self, placed: Runs) -> Array:
        """Of runs with those known, ``[runs, known]``."""
        likeness = alike(placed, self.known)
        found: Array = np.zeros((len(placed.places), len(self.weights)))
        for amplitude, aspects in zip(self.amplitudes, TERMS, strict=True):
            found += amplitude**2 * term(aspects, likeness)
        return found
