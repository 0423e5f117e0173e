"""Time of runs beyond their kernels, by a Gaussian process of similar measured runs.

``log(T / timeline)`` is a sum of functions (`perfc.analyzers.features.process`), `TERMS`: one
correlates runs of one runtime on similar machines, one those of similar sizes among them, and so
on. Machines of one architecture are similar whatever their numbers, so that what a runtime adds is
known of a new chip. All terms are of one runtime and of such machines: nothing is added to the
kernels of a runtime or an architecture without similar runs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto

import numpy as np

from perfc.common.fitted import constants_next_to

from ..features.process import NOBODY, Near, RowPositions, SimilarityAspects
from .run_table import COLUMNS, MACHINE, ORDER, SIZES, RunTable


class Aspect(Enum):
    """Properties in which two runs may be similar."""

    RUNTIME = auto()
    PRECISION = auto()
    """Runtime and precision."""
    VERSION = auto()
    """Runtime and its version."""
    GRAPH = auto()
    """Runtime and model."""
    MACHINE = auto()
    """Numbers of the data sheet, and the architecture."""
    SIZES = auto()
    SHARES = auto()
    """Shares of the kernels' time by kind of launch."""


_MACHINE, _ENGINE = (Aspect.RUNTIME, Aspect.MACHINE), (Aspect.PRECISION, Aspect.MACHINE)
TERMS: tuple[tuple[Aspect, ...], ...] = (
    _MACHINE,
    _ENGINE,
    (*_ENGINE, Aspect.VERSION),
    (*_MACHINE, Aspect.SIZES),
    (*_ENGINE, Aspect.SIZES),
    (*_ENGINE, Aspect.SHARES),
    (*_MACHINE, Aspect.SIZES, Aspect.SHARES),
    (*_MACHINE, Aspect.GRAPH),
)
ARCHITECTURE = 3
"""Number of the architecture among the kinds of a run."""
MACHINE_COLUMNS = slice(len(SIZES), len(SIZES) + len(MACHINE))
ROUNDING = float(np.finfo(np.float16).eps) * 10
"""Largest difference of equal columns, in widths: rows are stored in f16."""
FORM = SimilarityAspects(
    TERMS,
    {
        Aspect.RUNTIME: (0,),
        Aspect.PRECISION: (0, 1),
        Aspect.VERSION: (0, 2),
        Aspect.GRAPH: (0, 4),
    },
    {
        Aspect.SIZES: Near(slice(0, len(SIZES)), has_each=True, start=1.0),
        Aspect.MACHINE: Near(
            MACHINE_COLUMNS,
            start=1.0,
            is_one_unit=True,
            shared=constants_next_to(__file__)["same_architecture"].number,
            group=ARCHITECTURE,
        ),
        Aspect.SHARES: Near(
            slice(MACHINE_COLUMNS.stop, len(COLUMNS)), start=-0.5, is_one_unit=True
        ),
    },
    len(COLUMNS),
    Aspect.GRAPH,
)


def positions(
    runs: Sequence[RunTable], runtimes: Sequence[str], networks: Mapping[int, int] = {}
) -> RowPositions:
    """Return the positions of runs in the process.

    Args:
        runs: their facts.
        runtimes: the measured ones; another one is similar to none of them.
        networks: numbers of models by `network_id`; any other is similar to none.
    """
    numbers = {name: i for i, name in enumerate(runtimes)}
    kinds = [
        (
            numbers.get(run.runtime, NOBODY), ORDER.index(run.stored), run.version,
            run.architecture, networks.get(run.network_id, NOBODY),
        )
        for run in runs
    ]  # fmt: skip
    places = np.array([run.places for run in runs], np.float32).reshape(len(runs), len(COLUMNS))
    return RowPositions(np.array(kinds, np.float32).reshape(len(runs), FORM.numbers), places)
