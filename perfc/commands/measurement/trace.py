"""``perfc trace``: kernels, gaps and lower bounds of a trace without its model."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.errors import ParseError

from ..shared.prelude import (
    DeploymentOptions,
    color_option,
    deliver,
    emit,
    format_options,
    grouped_command,
    model_options,
    parse_top,
    present,
)
from ..shared.progress import reading
from ..shared.table import table_options
from . import _ncu

if TYPE_CHECKING:
    from collections.abc import Callable

    from perfc.machine import Machine
    from perfc.measuring.trace.analyses.prediction import PredictionGap
    from perfc.measuring.trace.facts import DeviceTrace
    from perfc.measuring.trace.summary import TraceSummary
    from perfc.measuring.trace.views import TracedRun

PAGES = ("html", "trace")
"""Formats with a time line."""
DOCUMENTS = {
    "trace": "perfc.measuring.trace.views:TracedRun",
    "trace-ranks": "perfc.measuring.trace.analyses.ranks:TracedRanks",
    "ncu": "perfc.measuring.ncu.output:Shown",
}
"""JSON documents of the command, and the types that define their schemas."""


@grouped_command("trace")
@click.argument("traces", metavar="TRACE...", type=click.Path(), nargs=-1, required=True)
@model_options
@table_options("trace")
@format_options("text", "json", "csv", "markdown", "html", "xlsx", "trace")
@color_option
def command(
    options: DeploymentOptions,
    traces: tuple[str, ...],
    model: str,
    layers: str,
    capture: str,
    step: int | None,
    is_all: bool,
    by: str | None,
    prints: bool,
    marked: bool,
    arch: str,
    process: str,
    form: str,
    output: Path | None,
    top: str,
) -> int:
    """Print where the time of TRACE went, without its model or against its prediction.

    TRACE is a profile of PyTorch, JAX, rocprofv3, Nsight Systems, onnxruntime or TensorRT.
    Operators with shapes get their FLOPs, bytes and lower bound. A folder, or several files, are
    the ranks of one job: their collectives are matched, for waiting and stragglers. Only kernels,
    operators, shapes and device facts are read, with --by also names of functions, modules and
    ranges; `perfc diff` compares traces. --model aligns the launches with the kernels of a model
    and names the causes of the gap to its prediction. The CSV of Nsight Compute has time, FLOPs,
    bytes and ceiling utilization of each kernel; exits with 1 if one exceeds a ceiling.
    """
    from perfc.machine import load_machine
    from perfc.measuring.trace.summary import summarized

    limit = parse_top(top)
    target = options.fields["target"] or ""
    if prints:
        return _ncu.print_command(traces, target, arch, output, is_marked=marked)
    trace = traces[0]
    is_job = len(traces) > 1 or Path(trace).is_dir()
    has_counters = trace.lower().endswith(_ncu.SUFFIXES)
    check_together(
        options,
        model,
        is_one=not (is_job or has_counters),
        is_page=bool(by or form in PAGES),
        is_layered=bool(layers or capture),
    )
    if has_counters:
        return _ncu.show(traces, target, arch, process, form=form, output=output, top=limit)
    machine = load_machine(target) if target else None
    # by default the median step is read, which may be a different one on each rank of a job
    is_whole = is_all or (is_job and step is None)
    read = partial(read_step, layers=layers, capture=capture, step=step, by=by, is_all=is_whole)
    if is_job:
        show_ranks(traces, read, machine, form=form, output=output, top=limit)
        return 0
    # with a model, `gap_of` has the bounds of its kernels
    summary = summarized(read(trace), machine, is_bounded=not model)
    view = view_of(options, model, by, summary, trace)
    show_trace(view, summary, form=form, output=output, top=limit)
    return 0


def read_step(
    path: str, *, layers: str, capture: str, step: int | None, by: str | None, is_all: bool
) -> DeviceTrace:
    """Return the step of a trace file, or all of it."""
    from perfc.measuring.trace.formats import read_trace
    from perfc.measuring.trace.steps import selected

    with reading(path):
        whole = read_trace(path, layers, capture, has_frames=by is not None)
    return selected(whole, step, is_all=is_all)


def view_of(
    options: DeploymentOptions, model: str, by: str | None, summary: TraceSummary, trace: str
) -> TracedRun:
    """Return the view of a trace, its breakdown, and its gap to the prediction of a model."""
    from perfc.measuring.trace.analyses.breakdown import breakdown_of
    from perfc.measuring.trace.views import TracedRun

    view = TracedRun.of(trace, summary)
    if by is not None:
        view = replace(view, breakdown=breakdown_of(summary, by, trace))
    if model:
        view = replace(view, prediction=gap_of(options, model, summary, trace))
    return view


def check_together(
    options: DeploymentOptions, model: str, *, is_one: bool, is_page: bool, is_layered: bool
) -> None:
    """Reject options that do not go together.

    Args:
        options: options of a deployment.
        model: path of a model; empty without one.
        is_one: True for a single trace, without counters.
        is_page: True for --by and formats with a time line.
        is_layered: True for --layers and --capture.

    Raises:
        UsageError: a deployment without a model, or a model of several traces.
        ParseError: options of one trace for the ranks of a job, or for counters.
    """
    if not model and options.typed().keys() - {"target"}:
        raise click.UsageError("options of a deployment need --model")
    if model and (is_page or not is_one):
        raise click.UsageError("--model is for one trace, without --by and pages")
    if not is_one and (is_page or is_layered):
        which = "--layers, --capture, --by and pages"
        raise ParseError(f"{which} are of one trace, not of ranks or counters")


def show_trace(
    view: TracedRun, summary: TraceSummary, *, form: str, output: Path | None, top: int | None
) -> None:
    """Write a trace; pages and files for Perfetto have its time line."""
    if form not in PAGES:
        present(view, form, output, top)
        return
    from perfc.measuring.trace.analyses.lanes import lanes_of, to_perfetto
    from perfc.measuring.trace.page import trace_page

    lanes = lanes_of(summary)
    if form == "html":
        deliver(trace_page(view, lanes), output)
    else:
        emit(to_perfetto(view, lanes), output)


def show_ranks(
    traces: tuple[str, ...],
    read: Callable[[str], DeviceTrace],
    machine: Machine | None,
    *,
    form: str,
    output: Path | None,
    top: int | None,
) -> None:
    """Write the times of the ranks of one job."""
    from perfc.measuring.trace.analyses.ranks import ranks_of

    present(ranks_of(traces, read, machine), form, output, top)


def gap_of(
    options: DeploymentOptions, model: str, summary: TraceSummary, trace: str
) -> PredictionGap:
    """Return the gap to the prediction of a model on the device of a trace.

    The model runs in the runtime that wrote the trace unless the options name another one.

    Raises:
        PerfcError: the model cannot be read, the device is not known, or a trace of another model.
    """
    from perfc.measuring.trace.analyses.prediction import prediction_gap
    from perfc.measuring.trace.facts import TraceSource
    from perfc.passes.runtimes import Framework, standing_for

    if summary.target is None:
        raise ParseError("the trace names no known target", where="--target")
    also = {"target": str(summary.target.path)}
    # the other sources record any program, and thus name no runtime
    frameworks = {
        TraceSource.KINETO: Framework.TORCH,
        TraceSource.ORT: Framework.ORT,
        TraceSource.TENSORRT: Framework.TENSORRT,
    }
    framework = frameworks.get(summary.trace.source)
    if framework is not None and not options.is_stated("runtime"):
        device = "cpu" if summary.target.kind == "cpu" else "cuda"
        also["runtime"] = standing_for(framework, device).name
    report = options.report(model, options.deployment(also=also))
    return prediction_gap(summary, report, trace)
