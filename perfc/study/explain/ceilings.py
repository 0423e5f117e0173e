"""Return the times of one kernel under each ceiling of the roofline, with rates and sources.

A ceiling is a unit or a memory level; its time is an amount over a rate. `explain` shows both lines
of the roofline: the lower bound (``floor``) and measured rates (``sustained``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from perfc.api import Report
from perfc.ir import DType, Node, Origin, record, weakest
from perfc.ir.record import project
from perfc.machine import Machine, Rate, Unit
from perfc.passes.roofline.roofline import GRAPH_GAP, Ceiling, KernelBound
from perfc.passes.runtimes import LaunchMode
from perfc.view.report.sections.uncertainty import ENGINES, LEVELS

# notes on amounts that are not the plain work or traffic of the kernel, by line and ceiling
_NOTES = {
    ("floor", Ceiling.MATRIX): "only unavoidable work (minimal filtering, masks)",
    ("floor", Ceiling.DEVICE): "only data beyond L2 at the start and at the end",
    ("sustained", Ceiling.DEVICE): "L2 misses",
    ("sustained", Ceiling.WAVES): "matrix rate with a partial last wave of tiles",
    ("floor", Ceiling.INTEGER): "a quarter of the operations, four packed per lane",
}


@record
class RateCite:
    """A rate with its target entry and source."""

    value: float
    unit: str
    key: str
    source: str
    origin: Origin
    note: str = ""


@record
class ExplainedCeiling:
    """Time of a kernel under one ceiling: an amount over a rate.

    ``amount`` is in the unit of ``rate`` times seconds; ``line`` is ``floor``, ``sustained`` or
    ``launch``.
    """

    line: str
    ceiling: str
    amount: float
    rate: RateCite
    time_s: float
    origin: Origin
    binds: bool
    note: str = ""


@record
class KernelPart:
    """Kernel that executes a node.

    ``index`` is its position among the ``total`` kernels of the run, ``share`` its share of the
    run's time at measured rates, and ``origin`` that of the least reliable rate that limits it.
    """

    index: int
    total: int
    label: str
    nodes: tuple[str, ...]
    counts: Mapping[str, float]
    launches: float
    device_bytes: float
    dtype: str
    floor_s: float
    sustained_s: float
    launch_gap_s: float
    time_s: float
    binding: str
    share: float
    ceilings: tuple[ExplainedCeiling, ...]
    origin: Origin


def kernel_of(report: Report, node: Node) -> int | None:
    """Return the number of the kernel that executes ``node``; None if it launches none."""
    kernels = enumerate(report.roofline.kernels)
    return next((i for i, b in kernels if node in b.kernel.nodes), None)


def kernel_part(report: Report, index: int) -> KernelPart:
    """Return a kernel by its number."""
    table = report.roofline
    bound = table.kernels[index]
    ceilings = tuple(_ceilings(report, bound))
    total = table.time_s
    return project(
        KernelPart,
        bound,
        index=index,
        total=len(table.kernels),
        label=bound.kernel.label,
        nodes=tuple(n.name for n in bound.kernel.nodes),
        counts={
            name: getattr(bound.counts, name)
            for name in ("mac", "alu", "sfu", "integer", "read_bytes", "write_bytes")
        },
        dtype=bound.dtype.code,
        share=bound.time_s / total if total else 0.0,
        ceilings=ceilings,
        origin=weakest(t.origin for t in ceilings if t.binds and t.line != "floor"),
    )


def _ceilings(report: Report, bound: KernelBound) -> Iterator[ExplainedCeiling]:
    """Yield the times of both lines, then that of launches."""
    for line, times in (("floor", bound.floor), ("sustained", bound.sustained)):
        # no sustained time binds if launching takes longer
        longest = max(times.values(), default=0.0)
        binding = None if line == "sustained" and bound.binding is Ceiling.LAUNCH else longest
        for ceiling, time_s in times.items():
            rate = _rate(report.machine, bound, ceiling, is_floor=line == "floor")
            if rate is None:
                continue
            origin = rate.origin
            if ceiling is Ceiling.WAVES:
                # the size of tiles is assumed, which determines how full the last wave is
                origin = Origin.ASSUMED
                rate = replace(rate, value=rate.value * times[Ceiling.MATRIX] / time_s)
            # the amount is derived from the time, so that the two can never disagree
            amount = time_s * rate.value
            full = 2 * bound.counts.mac if ceiling is Ceiling.MATRIX else None
            note = _NOTES.get((line, ceiling), "")
            # no note if the amount is the plain work or traffic after all
            if full is not None and abs(amount - full * bound.launches) <= 1e-6 * amount:
                note = ""
            if ceiling is Ceiling.DEVICE and amount == bound.counts.nbytes * bound.launches:
                note = ""
            binds = time_s == binding
            yield ExplainedCeiling(line, ceiling.value, amount, rate, time_s, origin, binds, note)
    if bound.launch_gap_s > 0:
        yield _launch(report, bound)


def _launch(report: Report, bound: KernelBound) -> ExplainedCeiling:
    """Return the time that launches add beyond the kernel."""
    rate = report.machine.launch_overhead_s
    assert rate is not None  # without one there is no gap
    graph = report.kernels.runtime.launch is LaunchMode.GRAPH
    note = f"CUDA graph: {GRAPH_GAP:g} of it, " if graph else ""
    cited = _cited(report.machine, rate, "s")
    return ExplainedCeiling(
        line="launch",
        ceiling=Ceiling.LAUNCH.value,
        amount=bound.launches,
        rate=cited,
        time_s=bound.launch_gap_s,
        origin=Origin.ASSUMED if graph else rate.origin,
        binds=bound.binding is Ceiling.LAUNCH,
        note=f"{note}minus the time of the kernel itself; not in the lower bound",
    )


def _rate(
    machine: Machine, bound: KernelBound, ceiling: Ceiling, *, is_floor: bool
) -> RateCite | None:
    """Return the rate of a ceiling; None for a cache level that the target does not list."""
    if ceiling in LEVELS:
        level = machine.level(LEVELS[ceiling])
        if level is None:
            return None
        best, measured, nominal = level.bandwidth, level.sustained, level.nominal
        name = "bytes_per_s"
    else:
        unit = ENGINES[ceiling]
        # index arithmetic has 32 bits, whatever the tensors have
        dtypes = {Unit.MATRIX: bound.dtype, Unit.INTEGER: DType.I32}
        dtype = dtypes.get(unit, bound.vector_dtype)
        peak = machine.entry(unit, dtype.code, allow_tf32=bound.tf32)
        best, measured, nominal = peak.peak, peak.sustained, peak.nominal
        name = "flop_per_s" if dtype.is_float else "op_per_s"
    return _cited(machine, best if is_floor else measured or nominal, name)


def _cited(machine: Machine, rate: Rate, unit: str) -> RateCite:
    """Return a rate with the source that the target gives for it."""
    return project(RateCite, rate, unit=unit, source=machine.cite(rate))
