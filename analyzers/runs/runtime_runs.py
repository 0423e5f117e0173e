"""Time of whole runs under measured runtimes: the timeline with corrected parts.

A Gaussian process (`perfc.analyzers.runs.run_process`) predicts the factors of device, host and
fixed time of the timeline from similar measured runs, and the deviation of the run. Factors count
by the share of variance that those runs explain: without similar runs the timeline is the
prediction. A run with more work never takes less time, as in its timeline. Intervals are the
deviation times split-conformal bands: by runtime from held-out graphs, and for unmeasured machines
from held-out chips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.deployment.fields import RUNS
from perfc.ir import cached_entity

from ..artefacts import artefact
from ..artefacts.artefact import Artefact, WeightsError
from ..estimate.interval import Interval
from ..features.distance import SAME_CHIP, distance
from ..features.process import Process
from ..features.process import RowPositions as Runs
from .run_process import FORM, KERNELS, MACHINE_COLUMNS, ROUNDING, positions, with_parts
from .run_table import RATES_OF, RunTable, longer

if TYPE_CHECKING:
    from perfc.deployment import Deployment

    from ..estimators import Execution
    from ..features.classes import Array
    from .prediction import PredictionTable

NAME = RUNS
"""Name of the predictor and stem of its files."""
CLASS = "run"
"""Class in the card: no class of kernels, but whole runs."""
PROCESS = "process_"
"""Prefix of the names of the arrays of the process of runs."""
NETWORKS = "networks"
"""Name of the array with the `network_id` of each fitted graph."""
PUBLICATIONS, PUBLICATION = "publications", "publication"
"""Names of the arrays with the titles of publications of fitted runs, one per line in UTF-8, and
with the number of the title of each run."""
ANOTHER_RUN = constants_next_to(__file__)["another_run"].number
"""Standard deviation of the logarithm between runs that no column distinguishes."""
LEAST_EXPLAINED = 0.5
"""Least explained share of variance for which runs of similar networks count as measured: similar
runs then say more about the run than the prior."""


@cached_entity
class RuntimeRun:
    """Prediction of a whole run.

    Args:
        time: predicted time in seconds; its interval is clipped at the lower bound.
        floor_s: lower bound.
        is_own: True if runs under the runtime in this precision were measured on this chip.
        is_like: True if runs of similar networks were measured under the runtime.
        runs: number of fitted runs under the runtime.
        rows: number of fitted runs of all runtimes.
        publications: titles of publications with runs of the network in this deployment.
    """

    time: Interval
    floor_s: float
    is_own: bool
    is_like: bool
    runs: int
    rows: int
    publications: tuple[str, ...] = ()


def covering(execution: Execution, stored: str) -> Artefact | None:
    """Return the weights if the runtime of the kernels was measured in some configuration.

    Args:
        execution: kernels of the run and their module.
        stored: precision of the run (`run_table.precision`).

    Raises:
        WeightsError: weights that are damaged or of another schema.
    """
    path = execution.folder / f"{NAME}.json"
    if execution.module is None or not stored or not path.is_file():
        return None
    weights = _load(path)
    # a runtime with a few scattered runs has no configuration
    known = {runtime for *_, runtime in weights.card.configurations}
    return weights if execution.kernels.runtime.measured_name in known else None


def on_processor(
    execution: Execution, table: PredictionTable, deployment: Deployment, element: str
) -> RuntimeRun | None:
    """Return the run on a processor by the fit of its runtime; None without a fit."""
    from ..estimators.laws.processor_resources import is_rated
    from .processor_runs import is_plain, laws, run_time

    runtime, machine = execution.kernels.runtime, execution.machine
    dtype = deployment.dtype or runtime.narrowed_on(machine) or element
    # names of fits, the more specific first: one for machines with measured rates, and one for f32
    # inference at the rates of data sheets
    fits = [runtime.measured_name] * (dtype == "f32" and not deployment.train)
    if is_rated(machine):
        step = " training" * bool(deployment.train)
        fits.insert(0, f"rated {runtime.measured_name} {dtype}{step}")
    law = next((laws()[name] for name in fits if name in laws()), None)
    if law is None or not is_plain(table):
        return None
    time, is_own = run_time(law, execution, table, deployment.version)
    return RuntimeRun(time, execution.bounds.floor_s, is_own, True, law.runs, law.runs)


def estimated(weights: Artefact, run: RunTable) -> RuntimeRun:
    """Return the prediction of a whole run from its table.

    Raises:
        WeightsError: the arrays are damaged.
    """
    whole, card = process(weights), weights.card
    # the field ``frameworks`` of this card has the runtimes
    row = positions([run], card.frameworks, numbers_of(weights))
    of_library = under(weights, float(row.kinds[0, KERNELS]))
    row = with_version(row, of_library.known)
    factor, spread, explained = (float(values[0]) for values in residual(of_library, [run], row))
    is_own = is_measured(weights, run)
    bands = card.calibration.of(run.runtime)
    # a distance of 0, as the spread of the process already grows with the machine's distance
    low, high = (float(end[0]) for end in bands.ends(np.array([spread]), 0.0, measured=is_own))
    time_s = max(run.kernels_s * float(np.exp(factor)), run.floor_s)
    low_s, high_s = (time_s * np.exp([low, high])).tolist()
    return RuntimeRun(
        Interval(max(low_s, run.floor_s), time_s, high_s),
        run.floor_s,
        is_own,
        explained >= LEAST_EXPLAINED,
        int((of_library.known.kinds[:, 0] == row.kinds[0, 0]).sum()),  # runs under the runtime
        card.rows,
        publications_of(weights.more, whole, row) if is_own else (),
    )


def residual(process: Process, runs: Sequence[RunTable], rows: Runs) -> tuple[Array, Array, Array]:
    """Return expected residuals, their deviations and explained shares of variance, ``[runs]``.

    A residual is the logarithm of a run's time over its timeline.

    Args:
        process: process of the fitted runs.
        runs: tables of the runs.
        rows: positions of the runs.
    """
    count, covariance = len(runs), process.with_known(with_parts(rows))
    deviation = process.deviation(rows, covariance[:count])
    explained = np.clip(1 - deviation**2 / process.prior(rows), 0.0, 1.0)
    # logarithms of the factors of the parts, smaller where few similar runs explain them. Rows of
    # the covariance: the runs, then the parts of each run (`with_parts`)
    parts = (covariance[count:] @ process.weights).reshape(count, -1) * explained[:, None]
    residuals = [longer(r.ways_s, r.fixed_s, part) for r, part in zip(runs, parts, strict=True)]
    return np.array(residuals), np.hypot(deviation, ANOTHER_RUN), explained


def is_measured(weights: Artefact, run: RunTable) -> bool:
    """Return True if runs under the runtime in the precision were measured on the chip."""
    card, here = weights.card, tuple(run.places[MACHINE_COLUMNS].tolist())
    places = dict(zip(card.targets, card.places[RATES_OF], strict=True))
    return any(
        (stored, runtime) == (run.stored, run.runtime)
        and distance(here, places[target]) <= SAME_CHIP
        for target, stored, runtime in card.configurations
    )


def with_version(row: Runs, known: Runs) -> Runs:
    """Return the position of a run, with the newest version of the fitted runs if it has none.

    Only fitted runs under the same runtime in the same precision count.
    """
    runtime, precision, version = known.kinds[:, :3].T
    same = (runtime == row.kinds[0, 0]) & (precision == row.kinds[0, 1])
    if row.kinds[0, 2] or not same.any():
        return row
    kinds = row.kinds.copy()
    kinds[0, 2] = version[same].max()
    return Runs(kinds, row.places)


def publications_of(more: Mapping[str, Any], process: Process, row: Runs) -> tuple[str, ...]:
    """Return the titles of publications with runs of a network in a deployment.

    Runs are of the deployment if runtime, precision and machine are equal, at any batch.

    Args:
        more: arrays of the weights.
        process: process of the fitted runs.
        row: position of the run.
    """
    if PUBLICATION not in more:
        return ()
    kinds, known = [0, 1, -1], process.known  # runtime, precision and network
    same = (known.kinds[:, kinds] == row.kinds[0, kinds]).all(axis=1)
    machine = known.places[:, MACHINE_COLUMNS] - process.placed(row).places[0, MACHINE_COLUMNS]
    same &= np.abs(machine).max(axis=1) <= ROUNDING
    titles = bytes(more[PUBLICATIONS]).decode().splitlines()
    return tuple(titles[i] for i in sorted({*more[PUBLICATION][same].tolist()}))


def numbers_of(weights: Artefact) -> Mapping[int, int]:
    """Return the number of each fitted graph by its `network_id`."""
    return {graph: i for i, graph in enumerate(weights.more.get(NETWORKS, np.zeros(0)).tolist())}


@lru_cache(maxsize=8)
def process(weights: Artefact) -> Process:
    """Return the Gaussian process over whole runs, read once.

    Raises:
        WeightsError: its arrays are damaged.
    """
    length = len(PROCESS)
    arrays = {n[length:]: a for n, a in weights.more.items() if n.startswith(PROCESS)}
    try:
        read = Process.read(FORM, arrays)
    except (ValueError, KeyError) as error:
        raise WeightsError(f"damaged weights of {weights.card.name}: {error}") from None
    if not read.noise > 0:
        raise WeightsError(f"damaged weights of {weights.card.name}: no noise")
    return read


@lru_cache(maxsize=32)
def under(weights: Artefact, library: float) -> Process:
    """Return the process over the runs with kernels of one library.

    Runs of other libraries have no covariance with these in any term, so that they can be left out.

    Args:
        weights: weights of whole runs.
        library: number of the library.
    """
    whole = process(weights)
    same = whole.known.kinds[:, KERNELS] == library
    return replace(whole, known=whole.known.take(same), weights=whole.weights[same])


@cache
def _load(path: Path) -> Artefact:
    """Return the weights of a file, read once per process."""
    return artefact.load(path)
