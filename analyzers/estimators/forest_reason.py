"""Explain an estimate of the operator predictor: candidates, nearest training rows and features.

`perfc explain` shows it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from perfc.ir import record
from perfc.machine import load_machine

from ..artefacts.artefact import Artefact
from ..artefacts.forest import Forest
from ..artefacts.implementations import CandidateKernel, candidate_kernels, known_framework
from ..features.classes import KernelClass
from ..features.distance import distance
from ..features.lowering import Lowered
from ..features.sheet import Sheet
from ..features.table import class_of, complete, tabulate
from ..intervals.mixture import Mixture
from . import candidate_times, predictor
from .estimator import Execution
from .selection import DescribedKernels, inside, weights_of

NEAREST = 3
"""Maximum number of groups of training rows that an explanation lists, so that it stays short."""
MOVES = 5
"""Maximum number of features that an explanation lists."""
LEAST_MOVE = 0.01
"""Minimum change of the logarithm of time that is listed: 1 % of the time."""


@record
class Neighbour:
    """Training rows whose extents agree to a factor of two, on one machine.

    Args:
        target: the machine.
        dtype: element type.
        framework: framework of the kernels; empty if only one library is known.
        parameters: extents, rounded to powers of two.
        rows: number of rows.
        efficiency: geometric mean of lower bound over measured time.
        distance: distance from the kernel in doublings of extents and of the machine's rates.
    """

    target: str
    dtype: str
    framework: str
    parameters: Mapping[str, float]
    rows: int
    efficiency: float
    distance: float


@record
class Move:
    """A feature, and how the estimate changes because the feature is not at its usual value.

    The usual value is the median of the training rows.

    Args:
        feature: its name.
        value: value of this kernel.
        usual: median of the training rows.
        ratio: estimate over the estimate with the median in its place.
    """

    feature: str
    value: float
    usual: float
    ratio: float


@record
class Candidate:
    """A framework's kernel that may execute the row.

    Args:
        framework: framework of the kernel.
        choices: parameters that the framework chose, such as the bits of its input, without
            parameters at their default.
        time_s: time of one call of this kernel.
    """

    framework: str
    choices: Mapping[str, float]
    time_s: float


@record
class ForestReason:
    """Evidence for a learned prediction.

    If several kernels are candidates, all fields but ``candidates`` describe the one whose time is
    nearest to the combined estimate.

    Args:
        weights: name of the card.
        candidates: candidate kernels, the fastest first.
        parameters: parameters of the kernel, as the class sees it.
        dtype: element type of the computation.
        scale_s: the physical estimate that the forest corrects.
        factor: prediction of the forest, by which ``scale_s`` is multiplied.
        machine_distance: machine distance of the nearest measured machine, in doublings of rates.
        neighbours: groups of training rows, the nearest first.
        moves: features that moved the estimate most, in descending order.
        times: factor on the time of such a kernel; a backward pass counts as several forward ones.
    """

    weights: str
    candidates: tuple[Candidate, ...]
    parameters: Mapping[str, float]
    dtype: str
    scale_s: float
    factor: float
    machine_distance: float
    neighbours: tuple[Neighbour, ...]
    moves: tuple[Move, ...]
    times: float = 1.0


def reasons(execution: Execution, index: int) -> ForestReason | None:
    """Return the evidence for a kernel's estimate; None if the operator predictor has none.

    Raises:
        WeightsError: weights that are damaged or of another schema.
    """
    kernel = DescribedKernels(execution)(index)
    if kernel is None:
        return None
    (name, dtype), row, machine = kernel.weights, kernel.row, execution.machine
    weights = weights_of(execution, name, dtype, cells=True)
    card, sheet = weights.card, Sheet.of_class(name, machine)
    kind = class_of(name)
    columns = complete(kind, {k: np.array([v]) for k, v in row.parameters.items()})
    # weights without rows under the protocol of this run are explained by their first protocol
    wanted = inside(card, execution.kernels.runtime.launch, machine.name)
    protocol = wanted if wanted in card.protocols else card.protocols[0]
    framework = known_framework(card, dtype, sheet, protocol, execution.framework)
    parts = candidate_kernels(card, columns, dtype, sheet, protocol, framework)
    mixture, _ = predictor.possible(weights, columns, dtype, sheet, wanted, framework)
    # the candidate whose time is nearest to the estimate, which combines all candidates
    nearest = parts[int(np.argmin(np.abs(mixture.middle[:, 0] - mixture.least_error())))]
    table = tabulate(
        kind,
        nearest.columns,
        dtype,
        sheet,
        protocol,
        nearest.framework,
        card.frameworks,
        card.protocols,
    )
    parameters = {k: float(v[0]) for k, v in nearest.columns.items()}
    factor = weights.factor_of(measured=card.has_rows(sheet.name, dtype))
    return ForestReason(
        card.name,
        candidates(kind, parts, mixture),
        parameters,
        dtype,
        float(table.scale_s[0]),
        math.exp(float(factor(table.values)[0])),
        round(candidate_times.distance_to(card, dtype, sheet), 6),
        neighbours(weights, Lowered(name, dtype, parameters), sheet),
        moves(weights, factor, table.values[0]),
        execution.bounds.kernels[index].kernel.times,
    )


def candidates(
    kind: KernelClass, parts: Sequence[CandidateKernel], each: Mixture
) -> tuple[Candidate, ...]:
    """Return the candidate kernels of one row with their times, the fastest first.

    Args:
        kind: class of the kernels.
        parts: candidate kernels.
        each: estimates of each candidate.
    """
    listed = [
        Candidate(
            candidate.framework,
            {
                n: v
                for n in kind.by_framework
                if (v := float(candidate.columns[n][0])) != kind.optional[n]
            },
            math.exp(float(log_s)),
        )
        for candidate, log_s in zip(parts, each.middle[:, 0], strict=True)
    ]
    return tuple(sorted(listed, key=lambda candidate: candidate.time_s))


def neighbours(artefact: Artefact, row: Lowered, sheet: Sheet) -> tuple[Neighbour, ...]:
    """Return the nearest cells of training rows, by the sum of three distances.

    They are those of extents, of machines and of element types, all in doublings.
    """
    cells, card = artefact.cells, artefact.card
    if cells is None or not len(cells.count):
        return ()
    names = cells.names
    position = np.array([_log2(row.parameters.get(n, 0.0)) for n in names])
    # doublings of extents, summed over the extents
    distances = np.abs(cells.log2.astype(float) - position).sum(axis=1)
    place = class_of(card.class_name).place
    here = place(sheet, row.dtype)
    separations = []
    for target, dtype, _ in card.configurations:
        between = distance(here, place(Sheet(load_machine(target)), dtype))
        # another element type counts as one doubling of an extent
        separations.append(between + (0.0 if dtype == row.dtype else 1.0))
    distances = distances + np.array(separations)[cells.configuration.astype(int)]
    return tuple(
        Neighbour(
            *card.configurations[int(cells.configuration[i])],
            {n: _extent(float(x)) for n, x in zip(names, cells.log2[i], strict=True)},
            int(cells.count[i]),
            float(cells.efficiency[i]),
            float(distances[i]),
        )
        for i in np.argsort(distances, kind="stable")[:NEAREST]
    )


def _log2(extent: float) -> float:
    """Return the rounded logarithm as `Cells` stores it: at least -2, and -8 for zero."""
    return round(math.log2(max(extent, 0.25))) if extent > 0 else -8.0


def _extent(log2: float) -> float:
    """Return the extent of a logarithm that `Cells` stores."""
    return 0.0 if log2 <= -8 else 2.0**log2


def moves(artefact: Artefact, factor: Forest, values: NDArray[np.float32]) -> tuple[Move, ...]:
    """Return the features that change the estimate most when set to the median of the rows.

    One feature at a time is replaced by its median; the last row of the table has none replaced.
    """
    count = len(values)
    # row i has the median in feature i, the last row in none
    changed = np.tile(values, (count + 1, 1))
    changed[np.arange(count), np.arange(count)] = artefact.middle
    logs = factor(changed)
    ratios = np.exp(logs[count] - logs[:count])
    order = np.argsort(-np.abs(np.log(ratios)), kind="stable")[:MOVES]
    return tuple(
        Move(
            artefact.card.features[i], float(values[i]), float(artefact.middle[i]), float(ratios[i])
        )
        for i in order
        if abs(math.log(ratios[i])) >= LEAST_MOVE
    )
