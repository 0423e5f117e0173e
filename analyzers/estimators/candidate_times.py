"""Predict times of rows by every candidate kernel, before lower bounds apply.

A runtime has several library kernels for one kernel of the IR; each is a candidate with its time.
`predictor.predict_with` mixes the candidates of a row to one estimate.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import entity

from ..artefacts.artefact import Artefact, WeightsError
from ..artefacts.implementations import CandidateKernel, candidate_kernels
from ..features import reach
from ..features.distance import nearest
from ..features.table import KernelBatch, class_of, tabulate
from ..intervals.conformal import EXTRAPOLATED, LEAST_SPREAD, LONGEST, excess, sides

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from perfc.machine import Machine

    from ..artefacts.card import Card
    from ..features.classes import Array, Columns
    from ..features.rows import Protocol
    from ..features.sheet import Sheet

FAR = 1.0
"""Least distance to measured machines, in doublings of rates, that counts for an element type
without training rows: such a type is as far as a machine with other rates."""


@entity
class Unbounded:
    """Times of kernels without regard to their lower bounds: one number per candidate and row.

    Args:
        log_s: logarithm of the time in seconds, ``[candidates of all rows]``, as all other arrays.
        low: lower end of its interval, as the logarithm of its ratio to the time.
        high: upper end of its interval, as the same logarithm.
        outside: True if the time is extrapolated.
        floor_s: lower bound of the time by the class of kernels.
        part: index of the candidate kernel.
        row: index of the row.
        parts: number of candidate kernels.
        of: artefact and machine. The key of the cache has their addresses, which no other object
            can have as long as this reference keeps them alive.
    """

    log_s: Array
    low: Array
    high: Array
    outside: NDArray[np.bool_]
    floor_s: Array
    part: NDArray[np.intp]
    row: NDArray[np.intp]
    parts: int
    of: tuple[Artefact, Machine]


MOST_RECENT, MOST_BYTES = 64, 1 << 16
"""Number of results in the cache, and most bytes of rows in a key: together at most 4 MiB of
keys."""
_RECENT: OrderedDict[tuple[object, ...], Unbounded] = OrderedDict()
"""Results by artefact, machine and rows: runtimes share most kernels of a model."""


def unbounded(
    artefact: Artefact, rows: Columns, dtype: str, sheet: Sheet, protocol: Protocol, framework: str
) -> Unbounded:
    """Return times of rows by every candidate kernel, evaluated once for the same rows.

    Raises:
        WeightsError: weights that read other features than the class gives.
    """
    content = np.stack([*rows.values()]).tobytes()
    key = (id(artefact), id(sheet.machine), type(sheet), dtype, protocol, framework, *rows, content)
    if key in _RECENT:
        return _RECENT[key]
    card = artefact.card
    trained = timed_as(card, protocol)
    # features are of the protocol of the training rows; `transferred` converts to the other one
    choices = candidate_kernels(card, rows, dtype, sheet, trained, framework)
    table, protocol_s, powered_s = batch(choices, card, dtype, sheet, protocol)
    if table.names != card.features:
        raise WeightsError(
            f"weights of {card.name} read other features than the class gives",
            hint="retrain them with `perfc train op`",
        )
    measured = card.has_rows(sheet.name, dtype)
    centre = artefact.factor_of(measured=measured)(table.values)
    if protocol in card.protocols:
        time_s = table.scale_s * np.exp(centre)
    else:
        time_s = transferred(table.scale_s, centre, protocol_s)
    # times measured on the machine include its power limit; for any other machine it is a bound
    if not measured:
        time_s = np.maximum(time_s, powered_s)
    low, high = ends(artefact, table, dtype, sheet, measured=measured and trained is protocol)
    result = Unbounded(
        np.log(time_s),
        low,
        high,
        high - low > np.log(EXTRAPOLATED),
        table.floor_s,
        np.repeat(np.arange(len(choices)), [len(choice.rows) for choice in choices]),
        np.concatenate([choice.rows for choice in choices]),
        len(choices),
        (artefact, sheet.machine),
    )
    # large results would fill memory; the oldest of the small ones is dropped
    if len(content) <= MOST_BYTES:
        _RECENT[key] = result
        if len(_RECENT) > MOST_RECENT:
            _RECENT.popitem(last=False)
    return result


def batch(
    choices: Sequence[CandidateKernel], card: Card, dtype: str, sheet: Sheet, protocol: Protocol
) -> tuple[KernelBatch, Array, Array]:
    """Return the features of all candidates as rows, and two physical estimates of each row.

    The first estimate is the time under ``protocol``, which training rows may lack. The second is
    the least time within the board's power limit.
    """
    kernel_class, trained = class_of(card.class_name), timed_as(card, protocol)
    tables, protocol_s, powered_s = list[KernelBatch](), list["Array"](), list["Array"]()
    for choice in choices:
        columns = choice.columns
        names = card.frameworks, card.protocols
        table = tabulate(kernel_class, columns, dtype, sheet, trained, choice.framework, *names)
        is_same = trained is protocol
        tables.append(table)
        protocol_s.append(
            table.scale_s if is_same else kernel_class.scale_s(columns, dtype, sheet, protocol)
        )
        powered_s.append(kernel_class.powered_s(columns, dtype, sheet))
    return KernelBatch.joined(tables), np.concatenate(protocol_s), np.concatenate(powered_s)


def ends(
    artefact: Artefact, table: KernelBatch, dtype: str, sheet: Sheet, *, measured: bool
) -> tuple[Array, Array]:
    """Return the logarithms of the ends of intervals over their times.

    ``measured`` says that training rows have this machine and type under this protocol.
    """
    card = artefact.card
    # a spread of e³ = 20 is already no prediction; without the limits `exp` could overflow
    spread = np.exp(np.clip(artefact.spread(table.values), np.log(LEAST_SPREAD), 3.0))
    hull = artefact.hull_low, artefact.hull_high
    # trees are constant outside of the training rows: intervals widen with the distance from them
    beyond = excess(table.values, *hull, sides(*hull))
    machine_distance = distance_to(card, dtype, sheet)
    far = machine_distance if dtype in card.dtypes else max(machine_distance, FAR)
    names = class_of(card.class_name).categories
    low, high = card.calibration.ends(
        spread, far, measured=measured, category=table.category, names=names
    )
    return np.maximum(low * (1 + beyond), -LONGEST), np.minimum(high * (1 + beyond), LONGEST)


def timed_as(card: Card, protocol: Protocol) -> Protocol:
    """Return the protocol of the training rows by which to predict: the same if it has rows."""
    return protocol if protocol in card.protocols else card.protocols[0]


def transferred(known_s: Array, centre: Array, other_s: Array) -> Array:
    """Return the times under a protocol that has no training rows.

    Where a call takes longer than under the known protocol, the difference is added unscaled, as no
    row has it. Where it is shorter, the learned factor counts by the share of the estimate that
    remains: the factor of a call that was mostly launch overhead is not one of the kernel.

    Args:
        known_s: physical estimate in seconds under the protocol of the training rows.
        centre: ``log(time / known_s)`` by the forest.
        other_s: physical estimate in seconds under the protocol of the prediction.
    """
    longer = known_s * np.exp(centre) + (other_s - known_s)
    share = np.minimum(other_s / known_s, 1.0) ** reach.NORM
    time_s: Array = np.where(other_s > known_s, longer, other_s * np.exp(centre * share))
    return time_s


def distance_to(card: Card, dtype: str, sheet: Sheet) -> float:
    """Return the distance to the nearest measured machine, 0 if it was measured with that type."""
    # without rows of the type, machines are compared by another type's rates
    places = card.places.get(dtype) or next(iter(card.places.values()))
    return nearest(class_of(card.class_name).place(sheet, dtype), places)
