"""``perfc trace``: kernels, gaps and lower bounds of a trace without its model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from ..shared import names as _names
from ..shared.document import show_view
from ..shared.examples import examples
from ..shared.names import Names
from ..shared.output import deliver, emit, format_options
from ..shared.progress import reading
from ..shared.report import color_option, parse_top

DOCUMENT = ("trace", "perfc.measuring.trace.output:TraceView")
"""JSON document of the command, and the type that defines its schema."""


@click.command("trace", epilog=examples("trace trace.json", "trace trace.json -o report.html"))
@click.argument("trace", metavar="TRACE", type=click.Path())
@click.option(
    "-t",
    "--target",
    type=Names(_names.targets),
    default="",
    help="Target of the lower bounds (default: the device that the trace names).",
)
@click.option(
    "--layers",
    type=click.Path(),
    default="",
    help="Layer information of TensorRT in addition to its profile: operators and shapes.",
)
@click.option(
    "--capture",
    type=click.Path(),
    default="",
    help="Trace of the capture of the graphs that TRACE launches: operators and shapes.",
)
@click.option("--step", type=int, help="Number of the step (default: the median by kernel time).")
@click.option("--all", "is_all", is_flag=True, help="All launches: every step, and from before.")
@click.option(
    "--by",
    type=click.Choice(["module", "line", "call", "idle", "path"]),
    help="Time by what the host did: modules, source lines, call tree, causes of idle time, "
    "critical path.",
)
@format_options("text", "json", "csv", "markdown", "html", "trace")
@color_option
@click.option("--top", default="20", show_default=True, help="Maximum kernels to print, or 'all'.")
def command(
    trace: str,
    target: str,
    layers: str,
    capture: str,
    step: int | None,
    is_all: bool,
    by: str | None,
    form: str,
    output: Path | None,
    top: str,
) -> None:
    """Print where the time of TRACE went, without its model.

    TRACE is a profile of PyTorch, JAX, rocprofv3, Nsight Systems, onnxruntime or TensorRT.
    Operators with shapes get their FLOPs, bytes and lower bound. Only kernels, operators, shapes
    and device facts of the file are read, with --by also names of functions, modules and ranges;
    `perfc diff` compares two traces.
    """
    from perfc.machine import load_machine
    from perfc.measuring.trace.analyses.breakdown import breakdown_of
    from perfc.measuring.trace.formats import read_trace
    from perfc.measuring.trace.output import TraceView, document, to_csv, to_json
    from perfc.measuring.trace.steps import selected
    from perfc.measuring.trace.summary import summarized

    limit = parse_top(top)
    machine = load_machine(target) if target else None
    with reading(trace):
        whole = read_trace(trace, layers, capture, has_frames=by is not None)
    summary = summarized(selected(whole, step, is_all=is_all), machine)
    view = TraceView.of(trace, summary)
    if by is not None:
        view = replace(view, breakdown=breakdown_of(summary, by, trace))
    if form in ("html", "trace"):
        from perfc.measuring.trace.analyses.lanes import lanes_of, to_perfetto
        from perfc.view.html.pages.trace_page import trace_page

        line = lanes_of(summary)
        if form == "html":
            deliver(trace_page(view, line), output)
        else:
            emit(to_perfetto(view, line), output)
        return
    show_view(
        form,
        output,
        lambda: to_json(view),
        lambda: to_csv(view),
        lambda: document(view, limit),
        view.notes,
    )
