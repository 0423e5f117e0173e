"""The operator predictor: what kernels take by forests learned from kernels of many machines."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir.record import record
from perfc.machine import Unit
from perfc.passes.runtimes import Launch

from ..artefacts import artefact
from ..artefacts.implementations import known_framework
from ..estimate.estimate import Estimate, Predictor
from ..estimate.interval import Interval
from ..features.lowering import Lowered, lower
from ..features.rows import Protocol
from ..features.sheet import Sheet
from ..intervals.adapt import of_class, of_machine
from ..intervals.conformal import EXTRAPOLATED
from . import predictor
from .estimator import Estimator, Execution
from .unfused import FUSED, bounded, parts

if TYPE_CHECKING:
    from perfc.machine import Machine
    from perfc.passes.roofline.roofline import RooflineTable

    from ..artefacts.card import Card
    from ..features.classes import Array
    from .forest_reason import ForestReason

TENSOR_CORES = frozenset({"matmul", "convolution"})
"""Classes whose f32 products run as TF32 where that is allowed."""
SINGLE = {"matmul": "matmul_f32"}
"""Classes of the same kernels in full single precision."""
STREAMED = {"movement": "elementwise", "embedding": "elementwise"}
"""Classes without rows of their own, and the one whose kernels stream tensors as theirs do."""
TOKENWISE = frozenset({"normalization", "elementwise", "embedding"})
"""Classes whose kernels frameworks for serving have of their own, in `STORED` types."""
STORED = frozenset({"bf16", "f16", "f8e4m3", "i8"})
SERVED, SERVED_TYPE = "tokenwise", "bf16"
"""The class of such, and the one type of its rows: what is computed in does not matter."""
HALVES = frozenset({"bf16", "f16"})
"""Types whose products run on the same units."""
INSIDE = Protocol.GRAPH
"""A kernel of a recorded graph: its launch on the device counts."""
HALVED = (0.92, 1.3)
"""Integer product over one in 16 bits of half the depth: nine in ten are above or below each.

Of the 4,095 pairs of `aic_gemm` on A100, 845 take 100 us or more: 1.03 times in the middle. Shorter
ones are longer by 4 to 8 us, which their quantisation takes.
"""
PROFILED = frozenset({"matmul"})
"""Classes with profiled rows of many machines; those of others are few, or of other libraries."""


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
    launch: Launch = Launch.GRAPH,
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
    groups: dict[tuple[str, str], list[tuple[int, Lowered]]] = {}
    rows_of: dict[tuple[int, int], Lowered | None] = {}
    halved: set[int] = set()
    for i in wanted if known and machine.kind != "cpu" else ():
        env = bounds.env_of(i)
        alike = bounds.kernels[i].kernel.alike, id(env)
        if alike not in rows_of:
            rows_of[alike] = lower(bounds.kernels[i], env)
        row = rows_of[alike]
        if row is None:
            continue
        if stores_integers and is_integer_product(row):
            row = of_half_depth(row, machine)
            halved.add(i)
        own = served(row, machine, framework, known, folder)
        own = own or weighted(row, machine, known, tf32=bounds.kernels[i].tf32)
        if own is not None:
            groups.setdefault(own, []).append((i, row))
    found: dict[int, Estimate] = {}
    for (class_name, dtype), rows in groups.items():
        found |= predicted(bounds, class_name, dtype, rows, launch, framework, folder)
        if class_name in FUSED and not is_known(class_name, dtype, machine, folder):
            found |= no_slower_than_parts(bounds, rows, found, launch, folder)
    return found | widened({i: found[i] for i in halved if i in found})


def is_integer_product(row: Lowered) -> bool:
    """Whether it multiplies matrices of integers, which are not widened first."""
    return row.class_name == "matmul" and row.dtype == "i8" and "weight_bits" not in row.parameters


def of_half_depth(row: Lowered, machine: Machine) -> Lowered:
    """A product of integers as one in 16 bits that is as deep as their rates differ: half as deep.

    Its operands are as many bytes and its multiplications take as long. Products of integers that
    were measured (`aic_gemm`, SmoothQuant) quantise their left operand first.
    """
    whole, half = (machine.entry(Unit.MATRIX, t).nominal.value for t in (row.dtype, "f16"))
    depth = max(row.parameters["k"] * min(half / whole, 1.0), 1.0)
    return Lowered(row.class_name, "f16", {**row.parameters, "k": depth})


def widened(found: Mapping[int, Estimate]) -> dict[int, Estimate]:
    """Integer products told so, with the range that measured pairs have; equal ones stay one."""
    low, high = HALVED
    each = {id(one): one for one in found.values()}
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
    return {i: wide[id(one)] for i, one in found.items()}


def is_known(class_name: str, dtype: str, machine: Machine, folder: Path) -> bool:
    """Whether kernels of a class were measured in an element type, by anyone or by the user."""
    card = predictor.select(class_name, dtype, INSIDE, machine.name, folder).card
    adapted = of_class(of_machine(machine), Predictor.LEARNED.value, class_name)
    return dtype in card.dtypes or adapted is not None


def no_slower_than_parts(
    bounds: RooflineTable,
    rows: Sequence[tuple[int, Lowered]],
    found: Mapping[int, Estimate],
    launch: Launch,
    folder: Path,
) -> dict[int, Estimate]:
    """Fused kernels in a type that none was measured in, bounded by their parts.

    Parts are in full precision, which nothing faster exceeds. Equal kernels keep one estimate.
    """
    machine = bounds.machine
    known = predictor.known_classes(folder)

    def apart(row: Lowered) -> Interval | None:
        own = weighted(row, machine, known, tf32=False)
        if own is None:
            return None
        weights = predictor.select(*own, INSIDE, machine.name, folder)
        times = predictor.predict_with(
            weights, columns_of([row.parameters]), own[1], Sheet.of_class(own[0], machine),
            inside(weights.card, launch, machine.name),
        )  # fmt: skip
        return Interval(*(float(t[0]) for t in (times.low_s, times.time_s, times.high_s)))

    firsts: dict[int, Estimate] = {}
    for i, row in rows:
        estimate, launches = found[i], bounds.kernels[i].launches
        again = bounds.kernels[i].kernel.times
        if id(estimate) in firsts:
            continue
        times = [apart(one) for one in parts(row)]
        summed = [one * (launches * again) for one in times if one is not None]
        time = estimate.time
        if launches and len(summed) == len(times):
            time = bounded(time, summed).at_least(estimate.floor_s)
        is_extrapolating = estimate.is_extrapolating and time.high > EXTRAPOLATED * time.low
        firsts[id(estimate)] = replace(estimate, time=time, is_extrapolating=is_extrapolating)
    return {i: firsts[id(found[i])] for i, _ in rows}


@record
class Basis:
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


def basis(execution: Execution, index: int) -> Basis | None:
    """The rows behind the estimate of a kernel; None where no class with weights knows it.

    Raises:
        WeightsError: weights that are damaged or of another schema.
    """
    machine, folder = execution.machine, execution.folder
    bound = execution.bounds.kernels[index]
    row = lower(bound, execution.bounds.env)
    known = predictor.known_classes(folder)
    own = None
    if row is not None:
        if execution.kernels.runtime.stores_integers and is_integer_product(row):
            row = of_half_depth(row, machine)
        own = served(row, machine, execution.framework, known, folder)
        own = own or weighted(row, machine, known, tf32=bound.tf32)
    if row is None or own is None:
        return None
    card = predictor.select(*own, INSIDE, machine.name, folder).card
    launch = execution.kernels.runtime.launch
    types = {own[1], row.dtype} if {own[1], row.dtype} == HALVES else {own[1]}
    machines = dict.fromkeys(target for target, dtype, _ in card.kin if dtype in types)
    return Basis(*own, tuple(machines), inside(card, launch, machine.name) in card.protocols)


def weighted(
    row: Lowered, machine: Machine, known: Collection[str], *, tf32: bool
) -> tuple[str, str] | None:
    """The class with weights that predicts a kernel, and the element type; None without one."""
    choices = (computed(row, machine, tf32=tf32), row[:2])
    return next((choice for choice in choices if choice[0] in known), None)


def served(
    row: Lowered, machine: Machine, framework: str, known: Collection[str], folder: Path
) -> tuple[str, str] | None:
    """The same for kernels that a framework for serving has of its own, where they were measured.

    None elsewhere: frameworks' kernels differ by three times, and other classes know more machines.
    """
    if SERVED not in known or row.class_name not in TOKENWISE or row.dtype not in STORED:
        return None
    if "tokens" not in row.parameters:
        # a reduction, whose operand is larger than its result
        return None
    is_known = predictor.has_rows_of(SERVED, SERVED_TYPE, machine.name, framework, folder)
    return (SERVED, SERVED_TYPE) if is_known else None


def computed(row: Lowered, machine: Machine, *, tf32: bool) -> tuple[str, str]:
    """The class and the element type that products are done in.

    Products of f16 run on the same units as those of bf16, of which there are more rows, unless the
    machine has no bf16 as fast. Products of f32 without TF32 are a class of their own.
    """
    name, dtype, parameters = row
    if name not in TENSOR_CORES:
        return STREAMED.get(name, name), dtype
    if dtype == "f16" and not parameters.get("weight_bits"):
        return name, "bf16" if Sheet(machine).has_equal_halves else "f16"
    if dtype == "f32" and tf32 and (Unit.MATRIX, "tf32") in machine.compute:
        return name, "tf32"
    return (SINGLE.get(name, name), dtype) if dtype == "f32" else (name, dtype)


def predicted(
    bounds: RooflineTable,
    class_name: str,
    dtype: str,
    rows: Sequence[tuple[int, Lowered]],
    launch: Launch,
    framework: str,
    folder: Path,
) -> dict[int, Estimate]:
    """Kernels of one class and element type."""
    machine = bounds.machine
    weights = predictor.select(class_name, dtype, INSIDE, machine.name, folder)
    sheet = Sheet.of_class(class_name, machine)
    firsts: dict[tuple[int, int], int] = {}
    each = [bounds.kernels[i] for i, _ in rows]
    of = [firsts.setdefault((k.kernel.alike, id(k.floor)), len(firsts)) for k in each]
    distinct = list(dict(zip(of, rows, strict=True)).values())
    columns = columns_of([r.parameters for _, r in distinct])
    card = weights.card
    apart = predictor.distance_to(card, dtype, sheet)
    is_measured = dtype in card.dtypes and apart <= predictor.FAR
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
    timed = predictor.timed_as(card, protocol)
    whose = known_framework(card, dtype, sheet, timed, framework)
    found = predictor.predict_with(weights, columns, dtype, sheet, protocol, whose, floor_s=floor_s)
    is_own = predictor.is_measured(card, dtype, sheet)
    estimates: list[Estimate] = []
    for at, bound in enumerate(each):
        ends = (float(t[at]) for t in (found.low_s, found.time_s, found.high_s))
        estimate = Estimate(
            bound.floor_s,
            (Interval(*ends) * (bound.launches * times[at])).at_least(bound.floor_s),
            Predictor.LEARNED,
            class_name,
            is_extrapolating=bool(found.extrapolating[at]),
            is_measured=is_measured or is_adapted,
            is_own=is_own,
        )
        estimates.append(estimate)
    return {i: estimates[at] for at, (i, _) in zip(of, rows, strict=True)}


def inside(card: Card, launch: Launch, target: str) -> Protocol:
    """How a kernel of a run is timed: as a profiler does where the host launches it.

    Of classes that were timed in no other way all kernels are, and of others those of machines that
    were not.
    """
    if card.protocols == (Protocol.KERNELS,):
        return Protocol.KERNELS
    if card.class_name in PROFILED and Protocol.KERNELS in card.protocols:
        return Protocol.KERNELS if launch is Launch.EAGER else INSIDE
    of_target = {one.protocol for one in card.implementations if one.target == target}
    return Protocol.KERNELS if of_target == {Protocol.KERNELS} else INSIDE


def columns_of(rows: Sequence[Mapping[str, float]]) -> dict[str, Array]:
    """Rows as columns; what a row lacks is not a number, and gets its default later."""
    names = dict.fromkeys(name for row in rows for name in row)
    nan = float("nan")
    return {name: np.array([row.get(name, nan) for row in rows]) for name in names}
