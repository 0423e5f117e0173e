"""Similarity of runs, by which a Gaussian process corrects their parts from measured runs.

Each part of a run (device, host and fixed time) has a correction, the logarithm of its factor. It
is a sum of functions (`perfc.analyzers.features.process`), the terms in `OF_PARTS`: one correlates
runs of one runtime on similar machines, another runs that also have similar sizes, and so on.
Corrections of the device depend on the library of the kernels and on the precision, whichever
runtime launches them, and one of their terms is common to all chips. Corrections of hosts do not
depend on the batch. Machines of one architecture are similar whatever their numbers, so that
corrections of a runtime apply to a new chip of the architecture.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, auto

import numpy as np

from perfc.common.fitted import constants_next_to

from ..features.process import NOBODY, Near, RowPositions, SimilarityAspects
from .run_table import COLUMNS, COUNTS, MACHINE, NETWORK, ORDER, PARTS, WORK, RunTable


class Aspect(Enum):
    """Properties in which two runs may be similar."""

    RUNTIME = auto()
    """Runtime."""
    PRECISION = auto()
    """Runtime and precision."""
    KERNELS = auto()
    """Library of the kernels, and precision."""
    VERSION = auto()
    """Runtime and its version."""
    GRAPH = auto()
    """Runtime and model."""
    MACHINE = auto()
    """Numbers of the data sheet, and the architecture."""
    WORK = auto()
    """Sizes that grow with the batch (`run_table.WORK`)."""
    NETWORK = auto()
    """Sizes that do not depend on the batch (`run_table.NETWORK`)."""
    SHARES = auto()
    """Shares of the kernels' time by kind of launch."""
    COUNTS = auto()
    """Launches by kind."""
    DEVICE = auto()
    """Share of the device's time in the run. The correction of a part counts by the part's share,
    which is this aspect, `HOST` or `FIXED`."""
    HOST = auto()
    """Share of the host's time in the run."""
    FIXED = auto()
    """Share of the fixed time in the run."""

    __hash__ = object.__hash__  # members are unique; `Enum` hashes by name, which is slower


COMMON = -2
"""Number, among the kinds of a run, of the library that several runtimes launch; any other library
has the number of its runtime."""
# aspects that terms have in common: runs of a runtime, in a precision, or with the same kernels
_MACHINE, _ENGINE = (Aspect.RUNTIME, Aspect.MACHINE), (Aspect.PRECISION, Aspect.MACHINE)
_KERNELS = (Aspect.KERNELS, Aspect.MACHINE)
_SIZES = Aspect.WORK, Aspect.NETWORK
OF_PARTS: Mapping[Aspect, tuple[tuple[Aspect, ...], ...]] = {
    Aspect.DEVICE: (
        _MACHINE,
        (*_ENGINE, Aspect.VERSION),
        _KERNELS,
        (*_KERNELS, *_SIZES),
        (*_KERNELS, Aspect.SHARES),
        (Aspect.KERNELS, *_SIZES, Aspect.SHARES),
        (*_MACHINE, Aspect.GRAPH),
    ),
    Aspect.HOST: (
        _MACHINE,
        _ENGINE,
        (*_MACHINE, Aspect.NETWORK),
        (*_ENGINE, Aspect.NETWORK),
        (*_ENGINE, Aspect.NETWORK, Aspect.COUNTS),
    ),
    Aspect.FIXED: (_MACHINE, (*_MACHINE, Aspect.NETWORK)),
}
"""Terms of the correction of each part: the aspects whose similarities are multiplied."""
TERMS = tuple([(part, *term) for part, terms in OF_PARTS.items() for term in terms])
"""All terms, each with the aspect of its part first."""
ARCHITECTURE, KERNELS = 3, 4
"""Indices of the architecture and of the library of kernels among the kinds of a run."""
# columns are WORK, NETWORK, MACHINE, SHARES, COUNTS, PARTS in this order
_SIZED = len(WORK) + len(NETWORK)  # columns of sizes, before those of the machine
MACHINE_COLUMNS = slice(_SIZED, _SIZED + len(MACHINE))
COUNT_COLUMNS = slice(len(COLUMNS) - len(PARTS) - len(COUNTS), len(COLUMNS) - len(PARTS))
ROUNDING = float(np.finfo(np.float16).eps) * 10
"""Largest difference of equal columns, in length scales: rows are stored in f16, with values of up
to about 10."""
# the small tuples of numbers are indices of the kinds that `positions` returns: runs are equal in
# an aspect if all these kinds agree. `start` is the logarithm of a length scale before the fit
FORM = SimilarityAspects(
    TERMS,
    {
        Aspect.RUNTIME: (0,),
        Aspect.PRECISION: (0, 1),
        Aspect.VERSION: (0, 2),
        Aspect.KERNELS: (KERNELS, 1),
        Aspect.GRAPH: (0, 5),
    },
    {
        Aspect.WORK: Near(slice(0, len(WORK)), has_each=True, start=1.0),
        Aspect.NETWORK: Near(slice(len(WORK), MACHINE_COLUMNS.start), has_each=True, start=1.0),
        Aspect.MACHINE: Near(
            MACHINE_COLUMNS,
            start=1.0,
            is_one_unit=True,
            shared=constants_next_to(__file__)["same_architecture"].number,
            group=ARCHITECTURE,
        ),
        Aspect.SHARES: Near(
            slice(MACHINE_COLUMNS.stop, COUNT_COLUMNS.start), start=-0.5, is_one_unit=True
        ),
        Aspect.COUNTS: Near(COUNT_COLUMNS, start=0.0, is_one_unit=True),
        **{
            part: Near(slice(column, column + 1), is_one_unit=True, is_share=True)
            for column, part in enumerate(OF_PARTS, COUNT_COLUMNS.stop)
        },
    },
    len(COLUMNS),
    Aspect.GRAPH,
)


def with_parts(rows: RowPositions) -> RowPositions:
    """Return the positions of runs, followed by the positions of each part of each run.

    A part has the share 1 in itself and 0 in the other parts, so that its covariance consists of
    its terms alone.
    """
    runs, parts = len(rows.kinds), len(PARTS)
    kinds, places = (
        np.concatenate([table, np.repeat(table, parts, axis=0)])
        for table in (rows.kinds, rows.places)
    )
    places[runs:, COUNT_COLUMNS.stop :] = np.tile(np.eye(parts), (runs, 1))
    return RowPositions(kinds, places)


def positions(
    runs: Sequence[RunTable], runtimes: Sequence[str], networks: Mapping[int, int] = {}
) -> RowPositions:
    """Return the positions of runs in the process.

    Args:
        runs: tables of the runs.
        runtimes: measured runtimes; any other is similar to none of them.
        networks: numbers of measured models by `network_id`; any other is similar to none.
    """
    numbers = {name: i for i, name in enumerate(runtimes)}
    kinds = [
        (
            (runtime := numbers.get(run.runtime, NOBODY)),
            ORDER.index(run.stored),  # precision
            run.version,
            run.architecture,  # index ARCHITECTURE
            COMMON if run.library else runtime,  # index KERNELS
            networks.get(run.network_id, NOBODY),
        )
        for run in runs
    ]
    places = np.array([run.places for run in runs], np.float32).reshape(len(runs), len(COLUMNS))
    return RowPositions(np.array(kinds, np.float32).reshape(len(runs), FORM.numbers), places)
