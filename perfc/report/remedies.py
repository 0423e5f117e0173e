"""Changes that can be made, and what the run takes with each: analysed, never guessed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perfc.errors import PerfcError
from perfc.ir.record import record
from perfc.ir.types import DType, TensorType
from perfc.passes.roofline import GRAPH_GAP
from perfc.passes.runtimes import Framework, Launch, Steps, of_steps, recorded, runtime, tables

from .names import runtime_title
from .units import Unit, quantity

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfc.api import Report
    from perfc.deployment import DeploymentKeywords

MOST_KERNELS = 5_000
"""Of a run that is analysed once more for each change; larger ones would take seconds each."""
LARGER = 2
"""Times the batch that is tried."""
RECORDED = "launches captured in a CUDA graph"


@record
class Remedy:
    """A change that can be made, and the run with it.

    Args:
        name: the change.
        option: how it is asked for, as typed; empty where no option does it.
        time_s: the run's time with it.
        items: how many times as much one run works through then.
        saving_s: what it saves of the time of one run's work; negative where it costs time.
        basis: what the number rests on.
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
    """What each change makes of the run, those that save most first; without those that cost time.

    Args:
        report: the run.
        total_s: what it takes.
        recorded_s: what it takes if its launches are recorded; asked where no runtime does that.
        predict: whether that is predicted; else at measured rates.
    """
    found: list[Remedy] = []
    is_quick = len(report.roofline.kernels) <= MOST_KERNELS
    for name, option, changed, items in what_ifs(report) if is_quick else ():
        time_s = what_if_s(report, changed, predict=predict)
        if time_s is not None:
            saved_s = total_s - time_s / items
            found.append(Remedy(name, option, time_s, items, saved_s, "analyzed with this change"))
    if may_record(report):
        time_s, overhead = recorded_s(), report.machine.launch_overhead_s
        gap_s = overhead.value * GRAPH_GAP if overhead is not None else 0.0
        basis = f"assumed launch gaps of {quantity(gap_s, Unit.SECOND)}"
        found.append(Remedy(RECORDED, "", time_s, 1, total_s - time_s, basis))
    useful = (r for r in found if r.saving_s > 0)
    return tuple(sorted(useful, key=lambda r: (-r.saving_s, r.name)))


def what_ifs(report: Report) -> Iterator[tuple[str, str, DeploymentKeywords, int]]:
    """The changes worth a look: name, option, what differs, and times the work of a run."""
    f32 = [k for k in report.roofline.kernels if k.dtype is DType.F32]
    if report.machine.kind != "cpu":
        if f32 and not report.dtype:
            # a step that keeps its parameters in half of their bits trains few models
            amp = "amp-f16" if report.machine.emulates("bf16") else "amp-bf16"
            dtype = amp if report.deployment.train else "f16"
            if not report.machine.emulates(dtype.rpartition("-")[2]):
                yield "half precision", f"--dtype {dtype}", {"dtype": dtype}, 1
        if any(k.is_wide for k in f32):
            yield "TF32 for f32 products", "--tf32", {"tf32": True}, 1
        for name in runtimes(report):
            title = RECORDED if runtime(name).is_recorded else runtime_title(runtime(name))
            yield title, f"--runtime {name}", {"runtime": name}, 1
    symbol = batch_symbol(report)
    if symbol and report.env.get(symbol):
        batch = LARGER * report.env[symbol]
        yield "a larger batch", f"--dim {symbol}={batch}", {"dims": {symbol: batch}}, LARGER


def runtimes(report: Report) -> Iterator[str]:
    """Other runtimes to try: what compiles the same framework's models, and what fuses most."""
    now = report.kernels.runtime
    graph = None if now.launch is Launch.GRAPH else recorded(now)
    if graph is not None:
        yield graph.name
    if now.is_dispatched:
        yield of_steps(Steps.COMPILED).name
    elif now.launch is not Launch.GRAPH:
        # the compiler of the machine's maker
        makers = (table for table in tables() if table.framework is Framework.TENSORRT)
        kind, vendor = report.machine.kind, report.machine.vendor
        yield from (table.name for table in makers if table.runs_on(kind, vendor))


def batch_symbol(report: Report) -> str | None:
    """The symbol that leads the first input; None where a number or a formula does."""
    first = next(iter(report.source.graph.inputs), None)
    shape = first.type.shape if first is not None and isinstance(first.type, TensorType) else None
    leading = str(shape[0]) if shape else ""
    return leading if any(s.name == leading for s in report.source.symbols) else None


def may_record(report: Report) -> bool:
    """Whether the launches could be recorded, and no runtime with a name does that."""
    now = report.kernels.runtime
    has_gaps = report.machine.launch_overhead_s is not None and report.machine.kind != "cpu"
    if not has_gaps or now.launch is Launch.GRAPH:
        return False
    return now.steps is None or recorded(now) is None


def what_if_s(report: Report, changed: DeploymentKeywords, *, predict: bool) -> float | None:
    """The run's time with a change; None where it cannot be made."""
    try:
        other = report.under(**changed)
        return other.prediction.total.time_s if predict else other.roofline.time_s
    except PerfcError:
        return None
