"""A trace against the prediction of its model: time by kernel, and three causes of the gap.

A launch belongs to the operator around it, and the operator to a kernel of the model. Of the
launches of a matched operator the longest is the predicted one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import fields
from typing import TYPE_CHECKING

from perfc.errors import ParseError
from perfc.ir import mutable, record

from ...measure.matching.align import (
    COSTLY,
    AlignedPlace,
    ComparedStep,
    class_of_kind,
    inner_launches,
    placed,
    steps_of,
)
from ..classes import class_of
from ..facts import DeviceTrace, TensorArgument
from ..summary import TraceSummary
from ..work.operands import dtype_of

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.passes.fusion.kernel import Kernel


@record
class KernelGap:
    """Prediction and measurement of equal kernels, of launches without one, or of a class.

    ``predicted_s`` + ``launches_s`` + ``speed_s`` is ``measured_s``.

    Args:
        kernel: operators of the kernel; operator or name of launches without one; empty for all.
        node: name of the first node; empty without one.
        class_name: class.
        kernels: predicted launches; 0 without a kernel of the model.
        matched: predicted launches that the trace has.
        launches: launches of the trace that belong to it.
        predicted_s: predicted time on the device.
        measured_s: time of the launches.
        launches_s: time of launches that were not predicted, less that of kernels not launched.
        speed_s: measured less predicted time of the launches that were predicted.
    """

    kernel: str
    node: str
    class_name: str
    kernels: int
    matched: int
    launches: int
    predicted_s: float
    measured_s: float
    launches_s: float
    speed_s: float


@record
class PredictionGap:
    """Measured less predicted time of a run, and its causes.

    ``launches_s`` + ``speed_s`` + ``host_s`` is ``gap_s``.

    Args:
        model: path of the model.
        runtime: runtime of the prediction.
        target: target of the prediction.
        dtype: element type of most predicted products; empty without products.
        traced_dtype: element type of most products of the trace; empty if unknown.
        launches: launches of the trace.
        aligned: launches of the trace that belong to a kernel of the model.
        aligned_s: their time.
        predicted_s: predicted time of the run; of its kernels without a time line.
        measured_s: span on the device; time of the kernels without a time line.
        gap_s: measured less predicted.
        launches_s: by launches that were not predicted, and by kernels that were not launched.
        speed_s: by launches slower or faster than predicted.
        host_s: by idle time of the device; null without a time line.
        extra_s: time of launches that were not predicted.
        missing: kernels that were not launched.
        missing_s: their predicted time.
        kernel_s: time of all launches.
        predicted_kernel_s: predicted time of all kernels.
        classes: sums by class, the largest gap first.
        kernels: by kernel, the largest gap first.
    """

    model: str
    runtime: str
    target: str
    dtype: str
    traced_dtype: str
    launches: int
    aligned: int
    aligned_s: float
    predicted_s: float
    measured_s: float
    gap_s: float
    launches_s: float
    speed_s: float
    host_s: float | None
    extra_s: float
    missing: int
    missing_s: float
    kernel_s: float
    predicted_kernel_s: float
    classes: tuple[KernelGap, ...]
    kernels: tuple[KernelGap, ...]


@mutable
class _Row:
    """Launches and times in nanoseconds of a `KernelGap`.

    Args:
        node: name of the first node; empty without one.
        class_name: class of the kernel.
        matched: predicted launches that the trace has.
        predicted_ns: predicted time of all launches of the kernel.
        main_ns: time of launches that stand for a predicted kernel.
        extra_ns: time of other launches.
        missing_ns: predicted time of kernels without a launch.
    """

    kernel: str
    node: str
    class_name: str
    kernels: int = 0
    matched: int = 0
    launches: int = 0
    predicted_ns: int = 0
    main_ns: int = 0
    extra_ns: int = 0
    missing_ns: int = 0

    def add(self, other: _Row) -> None:
        """Add the launches and times of another row."""
        for name in COUNTED:
            setattr(self, name, getattr(self, name) + getattr(other, name))

    @property
    def launches_ns(self) -> int:
        """Return the time of launches that were not predicted, less that of kernels without one."""
        return self.extra_ns - self.missing_ns

    @property
    def speed_ns(self) -> int:
        """Return the measured less predicted time of the launches that were predicted."""
        return self.main_ns + self.missing_ns - self.predicted_ns

    @property
    def measured_ns(self) -> int:
        """Return the time of the launches."""
        return self.main_ns + self.extra_ns

    def gap(self) -> KernelGap:
        """Return the record, in seconds."""
        times = self.predicted_ns, self.measured_ns, self.launches_ns, self.speed_ns
        counts = self.kernels, self.matched, self.launches
        return KernelGap(self.kernel, self.node, self.class_name, *counts, *map(seconds, times))


COUNTED = tuple(f.name for f in fields(_Row) if f.type == "int")
"""Fields of a row that add up."""


def seconds(time_ns: int) -> float:
    """Return a time in seconds."""
    return time_ns * 1e-9


def prediction_gap(summary: TraceSummary, report: Report, where: str = "") -> PredictionGap:
    """Return the gap between a trace and the prediction of its model.

    Args:
        summary: the trace.
        report: analysis of the model as it was run.
        where: path of the trace, for messages.

    Raises:
        ParseError: a trace of another model, or of several devices.
    """
    trace, prediction = summary.trace, report.prediction
    if len(summary.devices) > 1:
        text = f"a trace of {len(summary.devices)} devices: a prediction is of one"
        raise ParseError(text, where=where)
    groups = operators_of(trace)
    ours = steps_of(report)
    steps = list(traced_steps(trace, groups))
    places = placed(ours, steps, where)
    times_ns = [round(k.device_s * 1e9) for k in prediction.kernels]
    rows = list(rows_of(trace, report, Counter(at for at, _ in ours), times_ns, groups, places))
    names = dict.fromkeys(r.class_name for r in rows)
    classes = (sum_of((r for r in rows if r.class_name == n), n) for n in names)
    total, aligned = sum_of(rows), sum_of(r for r in rows if r.kernels)
    predicted_ns, measured_ns = total.predicted_ns, total.measured_ns
    # a trace with a time line compares whole runs, another one sums of kernels
    if span_ns := sum(d.span_ns for d in summary.devices):
        predicted_ns, measured_ns = round(prediction.total.time_s * 1e9), span_ns
    # what launches do not explain is idle time, which only a time line shows
    gap_ns = measured_ns - predicted_ns
    host_s = seconds(gap_ns - total.launches_ns - total.speed_ns) if span_ns else None
    products = (k for k in report.kernels.kernels if class_of_kind(k.kind) in COSTLY)
    return PredictionGap(
        model=report.path,
        runtime=report.kernels.runtime.name,
        target=report.machine.name,
        dtype=most_common(k.mac_dtype.code for k in products),
        traced_dtype=most_common(traced_dtypes(trace, groups, steps)),
        launches=total.launches,
        aligned=aligned.launches,
        aligned_s=seconds(aligned.measured_ns),
        predicted_s=seconds(predicted_ns),
        measured_s=seconds(measured_ns),
        gap_s=seconds(gap_ns),
        launches_s=seconds(total.launches_ns),
        speed_s=seconds(total.speed_ns),
        host_s=host_s,
        extra_s=seconds(total.extra_ns),
        missing=total.kernels - total.matched,
        missing_s=seconds(total.missing_ns),
        kernel_s=seconds(total.measured_ns),
        predicted_kernel_s=seconds(total.predicted_ns),
        classes=largest(classes),
        kernels=largest(rows),
    )


def sum_of(rows: Iterable[_Row], class_name: str = "") -> _Row:
    """Return the sum of rows."""
    total = _Row("", "", class_name)
    for row in rows:
        total.add(row)
    return total


def largest(rows: Iterable[_Row]) -> tuple[KernelGap, ...]:
    """Return the records, those with the largest gap first."""
    ordered = sorted(rows, key=lambda r: -abs(r.measured_ns - r.predicted_ns))
    return tuple(row.gap() for row in ordered)


def most_common(names: Iterable[str]) -> str:
    """Return the most common name; empty without any."""
    return next((name for name, _ in Counter(names).most_common(1)), "")


def traced_dtypes(
    trace: DeviceTrace, groups: Iterable[Sequence[int]], steps: Iterable[ComparedStep]
) -> Iterator[str]:
    """Yield the element types of the products of a trace, as far as they are known."""
    calls = trace.calls
    for rows, step in zip(groups, steps, strict=True):
        call = trace.launches.call[rows[0]]
        if step.class_name in COSTLY and call >= 0:
            words = (a.dtype for a in calls[call].arguments if isinstance(a, TensorArgument))
            if dtype := dtype_of(next(words, "")):
                yield dtype.code


def operators_of(trace: DeviceTrace) -> list[list[int]]:
    """Return the launches of each execution of an operator, in the order of their begin."""
    launches = trace.launches
    groups: dict[int, list[int]] = {}
    for row in sorted(range(len(launches)), key=launches.start_ns.__getitem__):
        execution = launches.execution[row]
        # a launch without an operator is one by itself
        groups.setdefault(execution if execution >= 0 else -1 - row, []).append(row)
    return list(groups.values())


def traced_steps(trace: DeviceTrace, groups: Iterable[Sequence[int]]) -> Iterator[ComparedStep]:
    """Yield the operators of groups of launches as steps of the model."""
    launches, calls, names = trace.launches, trace.calls, trace.kernels
    for rows in groups:
        longest = max(rows, key=launches.duration_ns.__getitem__)
        call = calls[launches.call[longest]] if launches.call[longest] >= 0 else None
        operator, counts = (call.operator, call.counts) if call else ("", ())
        yield ComparedStep.of(operator, counts, names[launches.kernel[longest]])


def helpers_of(kernels: Sequence[Kernel]) -> dict[int, list[int]]:
    """Return the launches that are made inside of the operator of each kernel."""
    inside: dict[int, list[int]] = {}
    for at, owner in inner_launches(kernels).items():
        inside.setdefault(owner, []).append(at)
    return inside


def main_of(trace: DeviceTrace, group: Sequence[int], is_after: Sequence[bool]) -> int:
    """Return which launch of an operator is the predicted kernel.

    If there are exactly the launches that a library is expected to add, it is the one in between
    by their order; otherwise it is the longest.

    Args:
        trace: the launches.
        group: launches of the operator.
        is_after: of each launch that a library is expected to add, whether it follows the kernel.
    """
    launches = trace.launches
    if len(group) == len(is_after) + 1:
        return sorted(group, key=launches.start_ns.__getitem__)[is_after.count(False)]
    return max(group, key=launches.duration_ns.__getitem__)


def rows_of(
    trace: DeviceTrace,
    report: Report,
    counts: Mapping[int, int],
    times_ns: Sequence[int],
    groups: Iterable[Sequence[int]],
    places: Iterable[AlignedPlace | None],
) -> Iterator[_Row]:
    """Yield the rows of equal kernels, then those of launches without a kernel.

    ``counts`` and ``times_ns`` are operators and predicted time of each kernel of the model,
    ``groups`` the launches of each execution, and ``places`` its kernel in the model.
    """
    kernels, launches, bounds = report.kernels.kernels, trace.launches, report.roofline.kernels
    calls, names = trace.calls, trace.kernels
    by_kernel: dict[int, _Row] = {}
    # a kernel that a library adds is no operator: its launches count
    counts = {at: counts.get(at, 0) or round(b.launches) for at, b in enumerate(bounds)}
    for at, k in enumerate(kernels):
        name = class_of_kind(k.kind).value if k.helper is None else k.helper.value
        predicted = _Row("", "", "", kernels=counts[at], predicted_ns=times_ns[at])
        by_kernel.setdefault(k.identity, _Row(k.label, k.anchor.loc.name, name)).add(predicted)
    inside = helpers_of(kernels)
    others: dict[tuple[str, str], _Row] = {}
    used = Counter[int]()
    for group, place in zip(groups, places, strict=True):
        helpers = inside.get(place.kernel, []) if place is not None else []
        main = main_of(trace, group, [at > place.kernel for at in helpers] if place else [])
        remaining = set(group)  # launches that belong to the row of the operator itself
        if place is None:
            call, name = launches.call[main], names[launches.kernel[main]]
            operator = calls[call].operator if call >= 0 else ""
            label, class_name = operator or name, class_of(name, operator).value
            row = others.setdefault((label, class_name), _Row(label, "", class_name))
        else:
            row = by_kernel[kernels[place.kernel].identity]
            # move launches that a library adds from the operator to the rows of their kernels
            candidates = remaining - {main} if place.is_matched else remaining
            ordered = sorted(candidates, key=launches.start_ns.__getitem__)
            expected = [at for at in helpers if used[at] < counts[at]]
            # launches beyond the known helpers count as extra time of the kernel
            for at, helper in zip(ordered, expected, strict=False):
                remaining.remove(at)
                used[helper] += 1
                launch = _Row("", "", "", matched=1, launches=1, main_ns=launches.duration_ns[at])
                by_kernel[kernels[helper].identity].add(launch)
        # of the remaining launches one is the predicted kernel, the others are extra
        row.launches += len(remaining)
        row.extra_ns += sum(launches.duration_ns[at] for at in remaining)
        if place is not None and place.is_matched:
            used[place.kernel] += 1
            row.matched += 1
            row.main_ns += launches.duration_ns[main]
            row.extra_ns -= launches.duration_ns[main]
    for at, k in enumerate(kernels):
        # the predicted time is of all launches of the kernel: the part of those that did not happen
        missing = max(counts[at] - used[at], 0)
        by_kernel[k.identity].missing_ns += times_ns[at] * missing // counts[at]
    yield from by_kernel.values()
    yield from others.values()
