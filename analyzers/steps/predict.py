"""Time of a whole step: the sum over launches of scale times fitted factor."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import entity

from ..artefacts.artefact import Artefact, WeightsError
from ..artefacts.forest import Forest
from ..features.distance import coordinates, nearest
from ..features.sheet import Sheet
from ..intervals.conformal import AT_ONCE, LEAST_SPREAD, excess
from .features import SHARED, tabulate
from .launch_kind import LaunchKind
from .setting import RunMode, Setting
from .similarity import StepErrorProcess

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perfc.machine import Machine

    from ..artefacts.card import Card
    from ..features.classes import Array
    from .columns import Columns

CLASS = "step"
FAR = 1.0
"""Distance from the nearest measured machine above which a prediction extrapolates."""
CHUNK = 4096
"""Rows that a forest evaluates at once, to limit memory."""
MOST_SPREAD = 0.0
"""Logarithm of the largest expected error of a step, a factor of e."""
BEYOND = 0.05
"""Mean distance of launches from the training range, in widths of it, that is far."""
MOST_WIDTH = 3.0
"""Maximum natural logarithm of an interval's end over its middle."""


@entity
class StepEstimate:
    """Prediction of a whole step.

    Args:
        launch_s: time of each launch with its repetitions.
        time_s: time of the step.
        low_s: lower end of the 90 % interval.
        high_s: its upper end.
        floor_s: sum of the lower bounds of the launches.
        is_extrapolating: whether the machine, or most of the time, is outside the training range.
        predictor: name of the weights.
    """

    launch_s: Array
    time_s: float
    low_s: float
    high_s: float
    floor_s: float
    is_extrapolating: bool
    predictor: str


def weights_name(mode: RunMode) -> str:
    """Return the name of the weights of an execution mode."""
    return f"step-{mode.value.replace(' ', '-')}"


def estimate(
    artefact: Artefact, columns: Columns, setting: Setting, machine: Machine
) -> StepEstimate:
    """Predict the time of a whole step on a machine, with a 90 % prediction interval.

    Raises:
        WeightsError: the weights read other features.
    """
    sheet = Sheet(machine)
    table = tabulate(columns, setting, sheet)
    if table.names != artefact.card.features:
        raise WeightsError(
            f"weights of {artefact.card.name} read other features than these",
            hint="train them anew with `perfc train op`",
        )
    row = multipliers(artefact.more["multipliers"], artefact.card, setting, machine.name)
    factor = row[columns.kind.astype(int)] * np.exp(walked(artefact.factor, table.values))
    least_s = table.floor_s * columns.times
    launch_s = np.maximum(table.scale_s * factor * columns.times, least_s)
    time_s = float(launch_s.sum())
    share = launch_s / time_s if time_s else launch_s
    known = machine.name in artefact.card.targets
    likeness = StepErrorProcess.of_arrays(artefact.more)
    if likeness is not None and known:
        error = likeness.error((share @ table.values)[None])
        launch_s = np.maximum(launch_s * np.exp(error[0]), least_s)
        time_s = float(launch_s.sum())
    spread = float((share * walked(artefact.spread, table.values)).sum())
    beyond = float((share * outside(artefact, table.values)).sum())
    separation = distance_to(artefact.card, setting, sheet)
    low, high = (
        float(end[0]) * (1 + beyond)
        for end in ends(artefact.card, np.array([spread]), separation, known=known)
    )
    floor_s = float(least_s.sum())
    return StepEstimate(
        launch_s,
        time_s,
        max(time_s * math.exp(max(low, -MOST_WIDTH)), floor_s),
        time_s * math.exp(min(high, MOST_WIDTH)),
        floor_s,
        separation > FAR or beyond > BEYOND,
        artefact.card.name,
    )


def ends(card: Card, log_spread: Array, separation: float, *, known: bool) -> tuple[Array, Array]:
    """Return the ends of intervals of steps or launches, as logarithms relative to the middles."""
    spread = np.exp(np.clip(log_spread, np.log(LEAST_SPREAD), MOST_SPREAD))
    return card.calibration.bands.ends(spread, max(separation, AT_ONCE), measured=known)


def outside(artefact: Artefact, values: NDArray[np.float32]) -> Array:
    """Return the distance of launches from the training range, without features of machines."""
    count = len(artefact.card.features) - len(SHARED)
    return excess(values[:, :count], artefact.hull_low[:count], artefact.hull_high[:count])


def multipliers(table: Array, card: Card, setting: Setting, target: str) -> Array:
    """Return the multiplier of each kind of launch, ``[kinds]``: of this machine, else the mean.

    Rows of the machine with the same precision and mode come first, then with the same precision.
    """
    wanted = (setting.precision.value, setting.way)
    same = [i for i, k in enumerate(card.configurations) if k[0] == target]
    exact = [i for i in same if card.configurations[i][1:] == wanted]
    precise = [i for i in same if card.configurations[i][1] == wanted[0]]
    chosen = exact or precise or same or list(range(len(card.configurations)))
    factors: Array = np.exp(np.log(np.asarray(table)[chosen]).mean(axis=0))
    if factors.shape != (len(LaunchKind),):
        raise WeightsError(f"weights of {card.name} know other kinds of launches")
    return factors


def walked(forest: Forest, values: NDArray[np.float32]) -> Array:
    """Return a forest's predictions, computed in chunks to limit memory."""
    parts = [forest(values[i : i + CHUNK]) for i in range(0, len(values), CHUNK)]
    return np.concatenate(parts) if parts else np.zeros(0)


def distance_to(card: Card, setting: Setting, sheet: Sheet) -> float:
    """Return the distance of a machine to the nearest measured one."""
    dtype = setting.precision.dtype
    places = card.places.get(dtype) or next(iter(card.places.values()))
    return nearest(coordinates(sheet, dtype), places)
