"""Possible changes and the analyzed time of the run with each."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from perfc.deployment.extents import batch_symbol
from perfc.errors import PerfcError
from perfc.ir import DType, TensorType, record
from perfc.passes.roofline.roofline import launch_s
from perfc.passes.runtimes import Framework, LaunchMode, Steps, of_steps, recorded, runtime, tables

from ..names import runtime_title
from ..sections.plain_export import OPTIMIZER, optimizer_of, optimizer_title
from ..units import time_text

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.deployment import DeploymentKeywords

MOST_KERNELS = 5_000
"""Maximum number of kernels of a run that is analyzed again with each change.

Larger runs would take seconds per change.
"""
LARGER = 2
"""Factor of the larger batch that is tried."""
RECORDED = "CUDA graph"


@record
class Remedy:
    """A possible change and the run with it.

    Args:
        name: name of the change.
        option: command-line option of the change; empty if there is none.
        time_s: time of the run with the change.
        items: factor of the items that a run processes with the change.
        saving_s: time saved for the same work; negative if the change costs time.
        basis: basis of the number.
    """

    name: str
    option: str
    time_s: float
    items: int
    saving_s: float
    basis: str


def collect(
    report: Report, total_s: float, recorded_s: Callable[[], float], *, predict: bool
) -> tuple[Remedy, ...]:
    """Return changes that save time: an optimizer of plain exports, then the largest saving first.

    Args:
        report: the analyzed run.
        total_s: time of the run.
        recorded_s: function for the time with launches captured in a graph, used if no runtime
            does that.
        predict: use predicted times; otherwise times at measured rates.
    """
    remedies: list[Remedy] = []
    is_quick = len(report.roofline.kernels) <= MOST_KERNELS
    for name, option, changed, items in what_ifs(report) if is_quick else ():
        time_s = what_if_s(report, changed, predict=predict)
        if time_s is not None:
            saved_s = total_s - time_s / items
            basis = "analyzed with this change"
            remedies.append(Remedy(name, option, time_s, items, saved_s, basis))
    if may_record(report):
        time_s = recorded_s()
        gap_s = launch_s(report.machine, LaunchMode.GRAPH)
        basis = f"assumed launch gaps of {time_text(gap_s)}"
        remedies.append(Remedy(RECORDED, "", time_s, 1, total_s - time_s, basis))
    useful = (r for r in remedies if r.saving_s > 0)
    return tuple(sorted(useful, key=lambda r: (OPTIMIZER not in r.name, -r.saving_s, r.name)))


def what_ifs(report: Report) -> Iterator[tuple[str, str, DeploymentKeywords, int]]:
    """Yield changes to try: name, option, keywords, and factor of the work of a run."""
    f32 = [k for k in report.roofline.kernels if k.dtype is DType.F32]
    if report.machine.kind != "cpu":
        # a model with 16-bit weights computes in f32 only where its author wants that precision
        types = [w.type for w in report.module.graph.weights if isinstance(w.type, TensorType)]
        is_narrow = any(t.dtype.is_float and t.dtype.bits == 16 for t in types)
        if f32 and not report.dtype and not is_narrow:
            # training with 16-bit parameters fails for most models: mixed precision instead
            amp = "amp-f16" if report.machine.emulates("bf16") else "amp-bf16"
            dtype = amp if report.deployment.train else "f16"
            if not report.machine.emulates(dtype.rpartition("-")[2]):
                yield "half precision", f"--dtype {dtype}", {"dtype": dtype}, 1
        if any(k.is_wide for k in f32):
            yield "TF32 for f32 products", "--tf32", {"tf32": True}, 1
        if (optimized := optimizer_of(report)) is not None:
            name = optimized.name
            yield optimizer_title(report), f"--runtime {name}", {"runtime": name}, 1
        for name in runtimes(report):
            title = RECORDED if runtime(name).is_recorded else runtime_title(runtime(name))
            yield title, f"--runtime {name}", {"runtime": name}, 1
    symbol = batch_symbol(report.source)
    if symbol and report.env.get(symbol):
        batch = LARGER * report.env[symbol]
        option = f"--batch {batch}" if symbol == "batch" else f"--dim {symbol}={batch}"
        yield "a larger batch", option, {"dims": {symbol: batch}}, LARGER


def runtimes(report: Report) -> Iterator[str]:
    """Yield other runtimes to try: CUDA graphs, a compiler, or the vendor's engine."""
    now = report.kernels.runtime
    graph = None if now.launch is LaunchMode.GRAPH else recorded(now)
    if graph is not None:
        yield graph.name
    if now.is_dispatched:
        yield of_steps(Steps.COMPILED).name
    elif now.launch is not LaunchMode.GRAPH:
        # the inference engine of the machine's vendor, as one proposal: tables with `below` are its
        # variants for older boards, which perfc chooses by the machine
        engine = Framework.TENSORRT
        engines = (table for table in tables() if table.framework is engine and not table.below)
        kind, vendor = report.machine.kind, report.machine.vendor
        yield from (table.name for table in engines if table.runs_on(kind, vendor))


def may_record(report: Report) -> bool:
    """Return True if launches could be captured in a graph and no named runtime does that."""
    now = report.kernels.runtime
    has_gaps = report.machine.launch_overhead_s is not None and report.machine.kind != "cpu"
    if not has_gaps or now.launch is LaunchMode.GRAPH:
        return False
    return now.steps is None or recorded(now) is None


def what_if_s(report: Report, changed: DeploymentKeywords, *, predict: bool) -> float | None:
    """Return the time of the run with a change; None if it cannot be made."""
    try:
        other = report.with_(**changed)
        return other.prediction.total.time_s if predict else other.roofline.time_s
    except PerfcError:
        return None
