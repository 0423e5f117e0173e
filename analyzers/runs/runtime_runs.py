"""Time of whole runs under measured runtimes, from the estimates of their kernels.

``T = Σ scale · exp(f)·exp(g)``. ``f`` is a forest over the features and the estimate of each
kernel, fitted to the sums of whole runs (`perfc_lab.training.runs.sums`). So a runtime's short
kernels, grouped convolutions and others have their factors. ``g`` is a forest over the run as a
whole. A Gaussian process predicts the residual from similar runs
(`perfc.analyzers.runs.run_process`). The fewer similar runs there are, the larger the weight of the
forests; held-out graphs determined how much. If such networks were not measured under the runtime
on the machine, ``g`` and the process are left out because they distinguish machines. The geometric
mean of ``Σ scale · exp(f)`` and of the kernels' own sum is the prediction then. Intervals are split
conformal by runtime, from held-out graphs or held-out machines.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.deployment.fields import RUNS
from perfc.ir import cached_entity
from perfc.passes.runtimes import LaunchMode
from perfc.passes.runtimes import runtime as runtime_named

from ..artefacts import artefact
from ..artefacts.artefact import Artefact, WeightsError
from ..artefacts.forest import ARRAYS, Forest
from ..estimate.interval import Interval
from ..features.distance import SAME_CHIP, coordinates, distance, nearest
from ..features.process import NOBODY, Process
from ..features.sheet import Sheet
from ..intervals.conformal import AT_ONCE, LEAST_SPREAD, Band, grown
from .network import Network
from .processor_runs import is_plain, laws, run_time
from .run_process import FORM, publications_of, with_version
from .run_process import tabulated as places_of
from .run_table import LEAST_S, RunTable, precision, tabulated

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.deployment import Deployment
    from perfc.machine import Machine

    from ..estimators import Execution
    from ..features.classes import Array
    from .prediction import PredictionTable

NAME = RUNS
CLASS = "run"
RESIDUAL = "residual_"
"""Start of the names of the arrays of the forest of runs."""
PROCESS = "process_"
"""Start of the names of the arrays of the process of runs."""
OF_FORESTS = "deviation_of_forests"
"""Name of the deviations of runs from the forests' predictions, by runtime."""
NETWORKS = "networks"
"""Name of the `network_id` of each fitted graph."""
RATIO = "log_factors"
"""Feature of a run: its sum with the factors of its kernels over the sum of their estimates."""
ROUNDED = "int8"
"""Precision with separate intervals on machines without measurements."""
SPREAD_OF = "f16"
"""Element type whose rates define the distance of machines."""
_FITTED = constants_next_to(__file__)
UNLIKE_SHARE, UNLIKE = _FITTED["unlike_share"].number, Band(*_FITTED["unlike"].numbers)
"""Weight of the kernels' own sum, in the logarithm, and interval of the logarithm for networks of
a kind that was not measured under the runtime."""
UNLIKE_LONG, LONGER = Band(*_FITTED["unlike_long"].numbers), _FITTED["longer"].number
"""The interval under a runtime whose host launches each kernel, and the correction of its middle.

Short kernels of an unknown network wait for a host that was not measured so; long ones do not.
"""
LONG_S = _FITTED["long_s"].numbers
"""Mean launch times between which that correction grows from none of it to all of it."""
UNTIMED, UNKNOWN = "tf32", Band(*_FITTED["unknown"].numbers)
"""Precision whose products were not timed alone, and interval of the logarithm of such runs under
a runtime that was not measured. The sums of their kernels are half too fast."""
PATIENT_S = _FITTED["patient_s"].number
"""Mean launch time from which these runs are predicted by the factors of their kernels."""
MOST_SPREAD = 0.0
"""Logarithm of the largest error expected of a run, a factor of e."""
ANOTHER_RUN = _FITTED["another_run"].number
"""Standard deviation of the logarithm between runs that no column distinguishes."""


@cached_entity
class RuntimeRun:
    """Prediction of a whole run.

    Args:
        time: predicted time in seconds; its interval is clipped at the lower bound.
        floor_s: lower bound.
        is_own: whether the runtime was measured on this chip in this precision.
        is_like: whether runs of similar networks were measured under the runtime.
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


def estimate(
    execution: Execution,
    table: PredictionTable,
    deployment: Deployment,
    element: str,
    batch: int,
    *,
    folder: Path = artefact.SHIPPED,
) -> RuntimeRun | None:
    """Return the whole run; None if no run under such a runtime or precision was measured.

    Args:
        execution: its kernels and their module.
        table: their estimates.
        deployment: how it is run.
        element: type that the model is stored in.
        batch: leading extent of its first input.
        folder: where weights lie.

    Raises:
        WeightsError: weights that are damaged or of another schema.
    """
    if not execution.bounds.kernels:
        return None
    path = folder / f"{NAME}.json"
    if execution.machine.kind == "cpu":
        return on_processor(execution, table, deployment, element)
    if execution.module is None or not path.is_file():
        return None
    weights = _load(path)
    stored = precision(deployment, element, execution.bounds)
    name = execution.kernels.runtime.measured_name
    if stored == UNTIMED and name not in weights.card.frameworks:
        run = tabulated(execution, table, deployment, stored, batch)
        return of_any(weights, run, execution.machine, stored)
    if not stored or name not in weights.card.frameworks:
        return None
    run = tabulated(execution, table, deployment, stored, batch)
    return estimated(weights, run, execution.machine, name, stored)


def on_processor(
    execution: Execution, table: PredictionTable, deployment: Deployment, element: str
) -> RuntimeRun | None:
    """Return the run by the fit of its runtime; None without one in that precision."""
    law = laws().get(execution.kernels.runtime.measured_name)
    if law is None or (deployment.dtype or element) != "f32" or not is_plain(table):
        return None
    time, is_own = run_time(law, execution, table)
    return RuntimeRun(time, execution.bounds.floor_s, is_own, True, law.runs, law.runs)


@lru_cache(maxsize=1024)
def configurations_at(weights: Artefact, here: tuple[float, ...]) -> frozenset[tuple[str, str]]:
    """Return precision and `run_key` of the runs that were measured on chips at coordinates."""
    places = dict(zip(weights.card.targets, weights.card.places[SPREAD_OF], strict=True))
    return frozenset(
        (stored, like)
        for target, stored, like in weights.card.configurations
        if distance(here, places[target]) <= SAME_CHIP
    )


def estimated(
    weights: Artefact, run: RunTable, machine: Machine, runtime: str, stored: str
) -> RuntimeRun:
    """Return the whole run, as `estimate` does, with given weights and features."""
    names, category = weights.card.features, weights.card.frameworks.index(runtime)
    kernels_s = np.maximum(run.kernels_s, [LEAST_S])
    run = with_version(run, names, process(weights))
    summed_s = run_sum(weights.factor, run, names)
    values = run.run_values(names)
    values[:, names.index(RATIO)] = np.log(summed_s / kernels_s)
    spread = np.exp(np.clip(weights.spread(values), np.log(LEAST_SPREAD), MOST_SPREAD))
    here = coordinates(Sheet(machine), SPREAD_OF)
    like = run_key(runtime, run.network)
    is_own = (stored, like) in configurations_at(weights, here)
    is_like = any(how[-1] == like for how in weights.card.configurations)
    publications: tuple[str, ...] = ()
    if is_own:
        near = places_of(values, names, kernels_s, graph_of(weights, run))
        beyond, deviation = process(weights).expected_and_deviation(near)
        spread = expected_error(of_runtime(weights, "by_deviation", category), deviation)
        publications = publications_of(weights.more, process(weights), near)
    calibration = weights.card.calibration
    named = banded(runtime, stored)
    bands = calibration.of(named if named in calibration.categories else runtime)
    separation = max(nearest(here, weights.card.places[SPREAD_OF]), AT_ONCE)
    low, high = bands.ends(spread, separation, measured=is_own)
    if not is_own:
        near_low, near_high = bands.ends(expected_error(1.0, spread), 0.0, measured=True)
        low = np.minimum(np.minimum(low, near_low), -ANOTHER_RUN)
        high = np.maximum(np.maximum(high, near_high), ANOTHER_RUN)
    if is_own:
        share = float(share_of_forests(deviation, of_runtime(weights, OF_FORESTS, category))[0])
        forests_s = summed_s * np.exp(float(residual(weights)(values)[0]))
        like_s = run.kernels_s * float(np.exp(beyond[0]))
        middle_s = forests_s**share * like_s ** (1 - share)
    elif not is_like:
        longer, band = unlike(run, runtime)
        low, high = np.minimum(low, band.low), np.maximum(high, band.high)
        middle_s = summed_s ** (1 - UNLIKE_SHARE) * run.kernels_s**UNLIKE_SHARE * np.exp(longer)
    else:
        middle_s = np.sqrt(summed_s * run.kernels_s)
    time_s = max(float(middle_s), run.floor_s)
    low_s, high_s = (time_s * float(np.exp(end[0])) for end in (low, high))
    if is_own:
        # runs of this machine were measured with another host
        low_s, high_s = min(low_s, time_s * run.host.low), max(high_s, time_s * run.host.high)
    time = Interval(max(low_s, run.floor_s), time_s, high_s)
    return RuntimeRun(
        time, run.floor_s, is_own, is_like,
        int(of_runtime(weights, "counts", category)), weights.card.rows, publications,
    )  # fmt: skip


def share_of_forests(deviation: Array, of_forests: Array | float) -> Array:
    """Return the weight of the forests in the logarithm of runs, by inverse variance, ``[runs]``.

    Args:
        deviation: standard deviation of the process, ``[runs]``.
        of_forests: standard deviation of the forests, by runtime.
    """
    return np.asarray(deviation**2 / (deviation**2 + np.square(of_forests)))


def expected_error(by_deviation: Array | float, deviation: Array) -> Array:
    """Return the expected error of the logarithm of runs, ``[runs]``.

    The error of the process and the scatter between indistinguishable runs add in quadrature.

    Args:
        by_deviation: typical error of a runtime's runs over their standard deviation.
        deviation: standard deviation of the process, ``[runs]``.
    """
    return np.minimum(np.hypot(by_deviation * deviation, ANOTHER_RUN), np.exp(MOST_SPREAD))


def of_any(weights: Artefact, run: RunTable, machine: Machine, stored: str) -> RuntimeRun | None:
    """Return a run under an unmeasured runtime, by the factors of kernels that runtimes share.

    None if convolutions take most of it, or short kernels, which wait for a host.

    Args:
        weights: the weights.
        run: its columns.
        machine: the target.
        stored: its `precision`.
    """
    if run.network is not Network.PRODUCTS or mean_launch_s(run) < PATIENT_S:
        return None
    names, card = weights.card.features, weights.card
    here = coordinates(Sheet(machine), SPREAD_OF)
    known = configurations_at(weights, here)
    is_near = any((stored, run_key(name, run.network)) in known for name in card.frameworks)
    separation = max(nearest(here, card.places[SPREAD_OF]), AT_ONCE)
    band = UNKNOWN if is_near else UNKNOWN.widened(grown(separation))
    time_s = max(run_sum(weights.factor, run, names), run.floor_s)
    low_s, high_s = (time_s * float(np.exp(end)) for end in (band.low, band.high))
    return RuntimeRun(
        Interval(max(low_s, run.floor_s), time_s, high_s), run.floor_s,
        is_own=False, is_like=False, runs=0, rows=card.rows,
    )  # fmt: skip


def mean_launch_s(run: RunTable) -> float:
    """Return the mean estimated time of a launch of a run, in seconds."""
    return run.kernels_s / float(np.exp(run.run["log_launches"]))


def unlike(run: RunTable, name: str) -> tuple[float, Band]:
    """Return the shift and the interval of the logarithm for an unmeasured kind of network.

    Args:
        run: its columns.
        name: of the runtime.
    """
    if runtime_named(name).launch is not LaunchMode.EAGER:
        return 0.0, UNLIKE
    short_s, long_s = LONG_S
    share = np.log(mean_launch_s(run) / short_s) / np.log(long_s / short_s)
    share = float(np.clip(share, 0, 1))
    low, high = (
        (1 - share) * one + share * other
        for one, other in ((UNLIKE.low, UNLIKE_LONG.low), (UNLIKE.high, UNLIKE_LONG.high))
    )
    return share * LONGER, Band(low, high)


def banded(runtime: str, stored: str) -> str:
    """Return the key of a runtime's runs in a precision among a card's intervals."""
    return f"{runtime}, {stored}" if stored == ROUNDED else runtime


def run_key(runtime: str, network: Network) -> str:
    """Return the key that a card lists for measured runs: runtime and kind of network."""
    return f"{runtime}, {network.value}"


def graph_of(weights: Artefact, run: RunTable) -> NDArray[np.int64]:
    """Return the number of a run's graph among the fitted ones, ``[1]``; NOBODY for another."""
    at = np.flatnonzero(weights.more.get(NETWORKS, np.zeros(0)) == run.network_id)
    return np.array([at[0] if len(at) else NOBODY], np.int64)


def of_runtime(weights: Artefact, name: str, category: int) -> float:
    """Return a number that the weights have per runtime.

    Raises:
        WeightsError: they have none.
    """
    try:
        return float(weights.more[name][category])
    except (KeyError, IndexError):
        raise WeightsError(f"damaged weights of {weights.card.name}: no {name}") from None


def run_sum(factor: Forest, run: RunTable, names: tuple[str, ...]) -> float:
    """Return the sum of all kernels with their factors, in seconds."""
    return float((run.scale_s * np.exp(factor(run.launch_values(names)))).sum())


@lru_cache(maxsize=8)
def residual(weights: Artefact) -> Forest:
    """Return the forest over whole runs, read once.

    Raises:
        WeightsError: its arrays are damaged.
    """
    arrays = {name: weights.more[f"{RESIDUAL}{name}"] for name in ARRAYS}
    try:
        return Forest.from_arrays(weights.card.features, arrays, weights.card.bases["residual"])
    except (ValueError, KeyError) as error:
        raise WeightsError(f"damaged weights of {weights.card.name}: {error}") from None


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


@cache
def _load(path: Path) -> Artefact:
    return artefact.load(path)
