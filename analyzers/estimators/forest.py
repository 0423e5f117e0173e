"""The operator predictor: kernel times by boosted trees trained on kernels of many machines.

For each class of kernels a forest predicts ``log(time / physical estimate)`` of the lowered kernel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import constants_next_to
from perfc.ir import record

from ..artefacts.implementations import known_framework
from ..estimate.estimate import ROUNDING, Estimate, Predictor
from ..estimate.interval import Interval
from ..features.distance import VENDORS
from ..features.lowering import Lowered
from ..features.sheet import Sheet
from ..intervals.adapt import of_class, of_machine
from ..intervals.conformal import EXTRAPOLATED
from . import candidate_times, predictor
from .estimator import Estimator, Execution
from .selection import INSIDE, DescribedKernel, DescribedKernels, inside, weighted, weights_of
from .unfused import FUSED, bounded, parts

if TYPE_CHECKING:
    from ..features.classes import Array
    from .forest_reason import ForestReason

HALVES = frozenset({"bf16", "f16"})
"""Types whose products run on the same units at equal rates."""
HALVED = constants_next_to(__file__)["halved"].numbers
"""Interval of the time of an integer product over that of a 16-bit product of half the depth."""


class Forests(Estimator):
    """Forests over physical estimates, a set of them for each class of kernels."""

    predictor = Predictor.LEARNED

    def estimate(self, execution: Execution, wanted: Sequence[int]) -> dict[int, Estimate]:
        """Return times of the kernels of classes with weights, on machines that are no processors.

        Equal kernels are predicted once, and all of a class and element type together. There are no
        estimates for machines of vendors without any measured machine, such as Apple, unless the
        user measured kernels on that machine.
        """
        machine = execution.machine
        if machine.vendor not in VENDORS and not of_machine(machine):
            return {}
        bounds, described = execution.bounds, DescribedKernels(execution)
        groups: dict[tuple[str, str], list[tuple[int, Lowered]]] = {}
        of_first: dict[int, DescribedKernel | None] = {}
        halved: set[int] = set()
        for i in wanted:
            first = bounds.firsts[i]
            if first not in of_first:
                of_first[first] = described(i)
            if kernel := of_first[first]:
                groups.setdefault(kernel.weights, []).append((i, kernel.row))
                halved |= {i} if kernel.is_halved else set()
        result: dict[int, Estimate] = {}
        for weights_key, rows in groups.items():
            result |= predicted(execution, *weights_key, rows)
            if weights_key[0] in FUSED and not is_known(execution, *weights_key):
                result |= no_slower_than_parts(execution, rows, result)
        # integer products were predicted by rows of products in 16 bits, which adds an error
        return result | widened({i: result[i] for i in halved if i in result})

    def why(self, execution: Execution, index: int) -> ForestReason | None:
        """Return the physical estimate, the factor, the nearest rows and what moved it."""
        from .forest_reason import reasons

        return reasons(execution, index)


def widened(estimates: Mapping[int, Estimate]) -> dict[int, Estimate]:
    """Return estimates of integer products with wider intervals.

    A product of 8-bit integers is predicted as one in 16 bits of half the depth; `HALVED` has the
    measured range of its time over that one. Kernels that shared an estimate share the result.
    """
    low, high = HALVED
    distinct = {id(estimate): estimate for estimate in estimates.values()}
    widened_by_id = {
        key: replace(
            estimate,
            is_own=False,
            time=Interval(
                estimate.time.low * low, estimate.time.mid, estimate.time.high * high
            ).at_least(estimate.floor_s),
        )
        for key, estimate in distinct.items()
    }
    return {i: widened_by_id[id(estimate)] for i, estimate in estimates.items()}


def is_known(execution: Execution, class_name: str, dtype: str) -> bool:
    """Return True if shipped rows or rows of the user cover a class in an element type."""
    card = weights_of(execution, class_name, dtype).card
    adapted = of_class(of_machine(execution.machine), Predictor.LEARNED.value, class_name)
    return dtype in card.dtypes or adapted is not None


def no_slower_than_parts(
    execution: Execution, rows: Sequence[tuple[int, Lowered]], estimates: Mapping[int, Estimate]
) -> dict[int, Estimate]:
    """Return estimates of fused kernels, no slower than their operators one by one.

    They are for element types in which no fused kernel was measured. The operators are predicted in
    full precision (no TF32), which is slower than any precision of the fused kernel. Equal kernels
    share one estimate.
    """
    bounds, machine = execution.bounds, execution.machine
    known = predictor.known_classes(execution.folder)

    def separate_time(row: Lowered) -> Interval | None:
        """Return the time of an operator by itself; None if no class with weights knows it."""
        weights_key = weighted(row, machine, known, tf32=False)
        if weights_key is None:
            return None
        class_name, dtype = weights_key
        weights = weights_of(execution, class_name, dtype)
        times = predictor.predict_with(
            weights,
            columns_of([row.parameters]),
            dtype,
            Sheet.of_class(class_name, machine),
            inside(weights.card, execution.kernels.runtime.launch, machine.name),
        )
        return Interval(*(float(t[0]) for t in (times.low_s, times.time_s, times.high_s)))

    bounded_by_id: dict[int, Estimate] = {}  # by identity of the estimate before
    for i, row in rows:
        estimate, launches = estimates[i], bounds.kernels[i].launches
        backward_factor = bounds.kernels[i].kernel.times  # 1 for a forward kernel
        if id(estimate) in bounded_by_id:
            continue
        times = [separate_time(part) for part in parts(row)]
        summed = [part * (launches * backward_factor) for part in times if part is not None]
        time = estimate.time
        # a sum without one of the parts is no limit
        if launches and len(summed) == len(times):
            time = bounded(time, summed).at_least(estimate.floor_s)
        # the bound may make the interval narrow enough to be no extrapolation
        is_extrapolating = estimate.is_extrapolating and time.high > EXTRAPOLATED * time.low
        bounded_by_id[id(estimate)] = replace(
            estimate, time=time, is_extrapolating=is_extrapolating
        )
    return {i: bounded_by_id[id(estimates[i])] for i, _ in rows}


@record
class MeasuredBasis:
    """The measured rows behind a learned estimate.

    Args:
        class_name: class of kernels.
        dtype: element type of the computation.
        machines: machines with measured kernels of the class in that type, or in the model's type
            if both run on the same units, as f16 and bf16 do.
        is_timed_so: True if some kernels were timed by the protocol that predicts this runtime.
    """

    class_name: str
    dtype: str
    machines: tuple[str, ...]
    is_timed_so: bool


def basis(execution: Execution, index: int) -> MeasuredBasis | None:
    """Return the rows behind the estimate of a kernel; None if no class with weights describes it.

    Raises:
        WeightsError: weights that are damaged or of another schema.
    """
    kernel = DescribedKernels(execution)(index)
    if kernel is None:
        return None
    card = weights_of(execution, *kernel.weights).card
    launch = execution.kernels.runtime.launch
    types = {kernel.weights[1], kernel.row.dtype}
    types = types if types == HALVES else {kernel.weights[1]}
    machines = dict.fromkeys(target for target, dtype, _ in card.configurations if dtype in types)
    is_timed_so = inside(card, launch, execution.machine.name) in card.protocols
    return MeasuredBasis(*kernel.weights, tuple(machines), is_timed_so)


def predicted(
    execution: Execution, class_name: str, dtype: str, rows: Sequence[tuple[int, Lowered]]
) -> dict[int, Estimate]:
    """Return estimates of the kernels of one class and element type, by index of the kernel."""
    bounds, machine = execution.bounds, execution.machine
    weights = weights_of(execution, class_name, dtype)
    sheet = Sheet.of_class(class_name, machine)
    # equal kernels once: for each row the index of its kernel among the distinct ones
    firsts: dict[int, int] = {}
    distinct_of = [firsts.setdefault(bounds.firsts[i], len(firsts)) for i, _ in rows]
    distinct = list(dict(zip(distinct_of, rows, strict=True)).values())
    columns = columns_of([r.parameters for _, r in distinct])
    card = weights.card
    machine_distance = candidate_times.distance_to(card, dtype, sheet)
    is_measured = dtype in card.dtypes and machine_distance <= candidate_times.FAR
    # corrections by `perfc adapt` are fitted to kernels inside of recorded CUDA graphs
    is_adapted = of_class(of_machine(machine), Predictor.LEARNED.value, class_name) is not None
    launch = execution.kernels.runtime.launch
    protocol = INSIDE if is_adapted else inside(card, launch, machine.name)
    distinct_bounds = [bounds.kernels[i] for i, _ in distinct]
    # a kernel may count as several of its class: a backward pass as some forward passes
    times = [k.kernel.times for k in distinct_bounds]
    # weights predict one launch of one such pass; a bound is of all launches and passes
    floor_s = np.array(
        [
            k.floor_s / (k.launches * n) if k.launches else 0.0
            for k, n in zip(distinct_bounds, times, strict=True)
        ]
    )
    timed = candidate_times.timed_as(card, protocol)
    framework = known_framework(card, dtype, sheet, timed, execution.framework)
    prediction = predictor.predict_with(
        weights, columns, dtype, sheet, protocol, framework, floor_s=floor_s
    )
    is_own = card.has_rows(sheet.name, dtype)
    estimates: list[Estimate] = []
    for index, bound in enumerate(distinct_bounds):
        ends = (float(t[index]) for t in (prediction.low_s, prediction.time_s, prediction.high_s))
        once = Interval(*ends)
        estimate = Estimate(
            bound.floor_s,
            (once * (bound.launches * times[index])).at_least(bound.floor_s),
            Predictor.LEARNED,
            class_name,
            is_extrapolating=bool(prediction.extrapolating[index]),
            is_measured=is_measured or is_adapted,
            is_own=is_own,
            # raised by `predict_with`: weights give exactly the bound by no other way
            is_clipped=bool(0 < once.mid <= floor_s[index] * (1 + ROUNDING)),
        )
        estimates.append(estimate)
    return {i: estimates[index] for index, (i, _) in zip(distinct_of, rows, strict=True)}


def columns_of(rows: Sequence[Mapping[str, float]]) -> dict[str, Array]:
    """Return rows as columns; a missing value is NaN, which `complete` replaces by its default."""
    names = dict.fromkeys(name for row in rows for name in row)
    nan = float("nan")
    return {name: np.array([row.get(name, nan) for row in rows]) for name in names}
