"""The operator predictor: what kernels take by forests learned from kernels of many machines."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.ir import record
from perfc.passes.runtimes import LaunchMode

from ..artefacts import artefact
from ..artefacts.implementations import known_framework
from ..estimate.estimate import Estimate, Predictor
from ..estimate.interval import Interval
from ..features.lowering import Lowered, lower
from ..features.sheet import Sheet
from ..intervals.adapt import of_class, of_machine
from ..intervals.conformal import EXTRAPOLATED
from . import candidate_times, predictor
from .estimator import Estimator, Execution
from .selection import INSIDE, inside, is_narrow_product, of_half_depth, serves_on, weighted
from .unfused import FUSED, bounded, parts

if TYPE_CHECKING:
    from perfc.machine import Machine
    from perfc.passes.roofline.roofline import RooflineTable

    from ..features.classes import Array
    from .forest_reason import ForestReason

HALVES = frozenset({"bf16", "f16"})
"""Types whose products run on the same units."""
HALVED = constants_next_to(__file__)["halved"].numbers
"""Interval of an integer product over one in 16 bits of half the depth."""


class Forests(Estimator):
    """Forests over physical estimates, a set of them for each class of kernels."""

    predictor = Predictor.LEARNED

    def estimate(self, execution: Execution, wanted: Sequence[int]) -> dict[int, Estimate]:
        """Times of the kernels of classes with weights, on machines that are no processors."""
        return learned(
            execution.bounds, wanted, launch=execution.kernels.runtime.launch,
            framework=execution.framework,
            stores_integers=execution.kernels.runtime.stores_integers, folder=execution.folder,
        )  # fmt: skip

    def why(self, execution: Execution, index: int) -> ForestReason | None:
        """The physical estimate, the factor, the nearest rows and what moved it."""
        from .forest_reason import reasons

        return reasons(
            execution.bounds, index, launch=execution.kernels.runtime.launch,
            framework=execution.framework,
            stores_integers=execution.kernels.runtime.stores_integers, folder=execution.folder,
        )  # fmt: skip


def learned(
    bounds: RooflineTable,
    wanted: Iterable[int],
    *,
    launch: LaunchMode = LaunchMode.GRAPH,
    framework: str = "",
    stores_integers: bool = False,
    folder: Path = artefact.SHIPPED,
) -> dict[int, Estimate]:
    """Estimates of the kernels ``wanted`` that a class with weights knows, by their index.

    Equal kernels are predicted once, and all of a class and element type together.

    Raises:
        WeightsError: weights that are damaged or of another schema.
    """
    machine = bounds.machine
    known = predictor.known_classes(folder)
    serves = serves_on(machine, framework, folder)
    groups: dict[tuple[str, str], list[tuple[int, Lowered]]] = {}
    rows_of: dict[int, Lowered | None] = {}
    halved: set[int] = set()
    for i in wanted if known and machine.kind != "cpu" else ():
        first = bounds.firsts[i]
        if first not in rows_of:
            rows_of[first] = lower(bounds.kernels[i], bounds.at(i))
        row = rows_of[first]
        if row is None:
            continue
        if stores_integers and is_narrow_product(row):
            row = of_half_depth(row, machine)
            halved.add(i)
        tf32 = bounds.kernels[i].tf32
        weights_key = weighted(row, machine, known, tf32=tf32, serves=serves)
        if weights_key is not None:
            groups.setdefault(weights_key, []).append((i, row))
    result: dict[int, Estimate] = {}
    for (class_name, dtype), rows in groups.items():
        result |= predicted(bounds, class_name, dtype, rows, launch, framework, folder)
        if class_name in FUSED and not is_known(class_name, dtype, machine, folder):
            result |= no_slower_than_parts(bounds, rows, result, launch, folder)
    return result | widened({i: result[i] for i in halved if i in result})


def widened(estimates: Mapping[int, Estimate]) -> dict[int, Estimate]:
    """Integer products told so, with the range that measured pairs have; equal ones stay one."""
    low, high = HALVED
    each = {id(one): one for one in estimates.values()}
    wide = {
        key: replace(
            one,
            is_own=False,
            time=Interval(one.time.low * low, one.time.mid, one.time.high * high).at_least(
                one.floor_s
            ),
        )
        for key, one in each.items()
    }
    return {i: wide[id(one)] for i, one in estimates.items()}


def is_known(class_name: str, dtype: str, machine: Machine, folder: Path) -> bool:
    """Return True if shipped rows or the user's own cover a class in an element type."""
    card = predictor.select(class_name, dtype, INSIDE, machine.name, folder).card
    adapted = of_class(of_machine(machine), Predictor.LEARNED.value, class_name)
    return dtype in card.dtypes or adapted is not None


def no_slower_than_parts(
    bounds: RooflineTable,
    rows: Sequence[tuple[int, Lowered]],
    estimates: Mapping[int, Estimate],
    launch: LaunchMode,
    folder: Path,
) -> dict[int, Estimate]:
    """Fused kernels in a type that none was measured in, bounded by their parts.

    Parts are in full precision, which nothing faster exceeds. Equal kernels keep one estimate.
    """
    machine = bounds.machine
    known = predictor.known_classes(folder)

    def separate_time(row: Lowered) -> Interval | None:
        weights_key = weighted(row, machine, known, tf32=False)
        if weights_key is None:
            return None
        class_name, dtype = weights_key
        weights = predictor.select(class_name, dtype, INSIDE, machine.name, folder)
        times = predictor.predict_with(
            weights, columns_of([row.parameters]), dtype, Sheet.of_class(class_name, machine),
            inside(weights.card, launch, machine.name),
        )  # fmt: skip
        return Interval(*(float(t[0]) for t in (times.low_s, times.time_s, times.high_s)))

    firsts: dict[int, Estimate] = {}
    for i, row in rows:
        estimate, launches = estimates[i], bounds.kernels[i].launches
        again = bounds.kernels[i].kernel.times
        if id(estimate) in firsts:
            continue
        times = [separate_time(one) for one in parts(row)]
        summed = [one * (launches * again) for one in times if one is not None]
        time = estimate.time
        if launches and len(summed) == len(times):
            time = bounded(time, summed).at_least(estimate.floor_s)
        is_extrapolating = estimate.is_extrapolating and time.high > EXTRAPOLATED * time.low
        firsts[id(estimate)] = replace(estimate, time=time, is_extrapolating=is_extrapolating)
    return {i: firsts[id(estimates[i])] for i, _ in rows}


@record
class MeasuredBasis:
    """The measured rows that a learned estimate may rest on.

    Args:
        class_name: class of kernels.
        dtype: element type that is computed in.
        machines: that ran kernels of the class in that type, or in the model's where the two run
            on the same units, as f16 and bf16 do.
        is_timed_so: whether some kernels were timed as those of this runtime run.
    """

    class_name: str
    dtype: str
    machines: tuple[str, ...]
    is_timed_so: bool


def basis(execution: Execution, index: int) -> MeasuredBasis | None:
    """The rows behind the estimate of a kernel; None where no class with weights knows it.

    Raises:
        WeightsError: weights that are damaged or of another schema.
    """
    machine, folder = execution.machine, execution.folder
    bound = execution.bounds.kernels[index]
    row = lower(bound, execution.bounds.env)
    known = predictor.known_classes(folder)
    weights_key = None
    if row is not None:
        if execution.kernels.runtime.stores_integers and is_narrow_product(row):
            row = of_half_depth(row, machine)
        serves = serves_on(machine, execution.framework, folder)
        weights_key = weighted(row, machine, known, tf32=bound.tf32, serves=serves)
    if row is None or weights_key is None:
        return None
    card = predictor.select(*weights_key, INSIDE, machine.name, folder).card
    launch = execution.kernels.runtime.launch
    types = (
        {weights_key[1], row.dtype} if {weights_key[1], row.dtype} == HALVES else {weights_key[1]}
    )
    machines = dict.fromkeys(target for target, dtype, _ in card.configurations if dtype in types)
    return MeasuredBasis(
        *weights_key, tuple(machines), inside(card, launch, machine.name) in card.protocols
    )


def predicted(
    bounds: RooflineTable,
    class_name: str,
    dtype: str,
    rows: Sequence[tuple[int, Lowered]],
    launch: LaunchMode,
    framework: str,
    folder: Path,
) -> dict[int, Estimate]:
    """Kernels of one class and element type."""
    machine = bounds.machine
    weights = predictor.select(class_name, dtype, INSIDE, machine.name, folder)
    sheet = Sheet.of_class(class_name, machine)
    firsts: dict[int, int] = {}
    of = [firsts.setdefault(bounds.firsts[i], len(firsts)) for i, _ in rows]
    distinct = list(dict(zip(of, rows, strict=True)).values())
    columns = columns_of([r.parameters for _, r in distinct])
    card = weights.card
    machine_distance = candidate_times.distance_to(card, dtype, sheet)
    is_measured = dtype in card.dtypes and machine_distance <= candidate_times.FAR
    # corrections are of what a recorded graph takes
    is_adapted = of_class(of_machine(machine), Predictor.LEARNED.value, class_name) is not None
    protocol = INSIDE if is_adapted else inside(card, launch, machine.name)
    each = [bounds.kernels[i] for i, _ in distinct]
    times = [k.kernel.times for k in each]
    floor_s = np.array(
        [
            k.floor_s / (k.launches * n) if k.launches else 0.0
            for k, n in zip(each, times, strict=True)
        ]
    )
    timed = candidate_times.timed_as(card, protocol)
    whose = known_framework(card, dtype, sheet, timed, framework)
    prediction = predictor.predict_with(
        weights, columns, dtype, sheet, protocol, whose, floor_s=floor_s
    )
    is_own = candidate_times.is_measured(card, dtype, sheet)
    estimates: list[Estimate] = []
    for at, bound in enumerate(each):
        ends = (float(t[at]) for t in (prediction.low_s, prediction.time_s, prediction.high_s))
        estimate = Estimate(
            bound.floor_s,
            (Interval(*ends) * (bound.launches * times[at])).at_least(bound.floor_s),
            Predictor.LEARNED,
            class_name,
            is_extrapolating=bool(prediction.extrapolating[at]),
            is_measured=is_measured or is_adapted,
            is_own=is_own,
        )
        estimates.append(estimate)
    return {i: estimates[at] for at, (i, _) in zip(of, rows, strict=True)}


def columns_of(rows: Sequence[Mapping[str, float]]) -> dict[str, Array]:
    """Rows as columns; what a row lacks is not a number, and gets its default later."""
    names = dict.fromkeys(name for row in rows for name in row)
    nan = float("nan")
    return {name: np.array([row.get(name, nan) for row in rows]) for name in names}
