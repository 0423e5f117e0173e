"""``perfc analyze``: predicted time, lower bound and bottleneck of a model, kernel by kernel."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from perfc.common.durations import seconds_of
from perfc.common.plain_text import say
from perfc.errors import ModelError, PassError, PerfcError, VerifyError
from perfc.view.presentation import FORMATS

from ..shared.prelude import (
    UNSET,
    DeploymentOptions,
    color_option,
    deliver,
    emit,
    format_options,
    grouped_command,
    model_options,
    names_in,
    parse_top,
    parse_views,
    present,
    print_after_option,
    show,
)
from ..shared.progress import ProgressBar
from ..shared.table import table_options

if TYPE_CHECKING:
    from collections.abc import Sequence

    from perfc.api import Report
    from perfc.passes.manager import Instrument
    from perfc.view.report import Views

INCOMPLETE = 3
"""Exit code under ``--strict`` of an incomplete report."""
STANDARD_INPUT = "-"
"""Name of a model that is read from standard input, as other tools have it."""
LONGEST_INPUT_BYTES = 2 << 30
"""Maximum size of a protobuf message."""
HTML = "html"
"""Format that also shows the graph and therefore needs more than the views."""
ONNX = "onnx"
"""Format that is the model with its times, which needs the file itself."""
DOCUMENTS = {
    "report": "perfc.view.report.views:Views",
    "predict": "perfc.study.whole:WholeRun",
}
"""JSON documents of the command, and the types that define their schemas."""


@grouped_command("analyze")
@click.argument("model", type=click.Path())
@model_options
@format_options(
    *FORMATS,
    also=("onnx",),
    words="json holds every view, csv every kernel; trace is for Perfetto; onnx is the model with "
    "its times, for Netron.",
)
@table_options("analyze")
@color_option
@print_after_option
def command(
    options: DeploymentOptions,
    model: str,
    form: str,
    output: Path | None,
    full: bool,
    views: tuple[str, ...],
    all_views: bool,
    top: str | None,
    quiet: bool,
    predictor: str,
    no_predict: bool,
    annotated_file: str | None,
    no_what_if: bool,
    count_as: str,
    measured: str,
    strict: bool,
    time_passes: bool,
    print_ir_after: str,
) -> int:
    """Predict the time of MODEL on a target, and show what bounds it and why.

    MODEL is .onnx, .onnx.gz or ONNX text, .pt2, - for standard input, or a PyTorch module:
    package.module:Name, path.py:Name, timm:NAME. No weights are read. Several targets, as in
    -t a100,h100, give one row each; the HTML page shows the first, with the others next to it.
    """
    if quiet and form not in (("text",) if no_predict else ("text", "json")):
        raise click.UsageError("--quiet is one line of text, or a prediction as json")
    if options.has_several_targets:
        single = (views, full, all_views, print_ir_after, predictor, count_as, measured)
        if annotated_file or any(single):
            raise click.UsageError("views, predictors and the IR are of one target at a time")
        return side_by_side(options, model, form, output, predict=not no_predict)
    measured_s = seconds_of(measured, "--measured") if measured else 0.0
    shown = shown_views(views, count_as, full=full, everything=all_views)
    limit = UNSET if top is None else parse_top(top)
    with ProgressBar() as progress:
        from perfc.passes.manager import Timing
        from perfc.view.report import Format, collect

        instruments: list[Instrument] = [timing := Timing(), progress, *printing(print_ir_after)]
        report = analyzed(options, model, predictor, instruments)
    collected = collect(report, predict=not no_predict, count_as=count_as)
    if annotated_file:
        from perfc.view.report.sections.source import with_margin

        emit(with_margin(collected.kernels, annotated_file), output)
    elif quiet:
        emit(answer(report, collected, predictor, form), output)
    elif form == HTML:
        deliver_page(report, collected, output, has_what_if=not no_what_if)
    elif form == ONNX and output is not None:  # only a suffix of ``output`` selects it
        annotate(report, model, output)
    elif form != ONNX:
        show(collected, Format(form), shown, limit, output)
    if measured:
        say(collected.verdict.place_of(measured_s), is_error=form != "text")
    for line in str(timing).splitlines() if time_passes else ():
        say(line, is_error=True)
    return completeness(collected) if strict else 0


def completeness(views: Views) -> int:
    """Return the exit code of a report under ``--strict``, and say what is incomplete."""
    if views.coverage.is_complete:
        return 0
    say(f"incomplete: {views.coverage.line}", is_error=True)
    return INCOMPLETE


def analyzed(
    options: DeploymentOptions, model: str, predictor: str, instruments: Sequence[Instrument]
) -> Report:
    """Analyze a model; an error names the model's file."""
    try:
        source = standard_input() if model == STANDARD_INPUT else model
        return options.report(source, predictor=predictor, instruments=instruments)
    except PerfcError as error:
        raise located(error, model) from error


def annotate(report: Report, model: str, output: Path) -> None:
    """Write counts, times, bounds and inferred shapes into the model, as properties of its nodes.

    Netron shows them next to each node's attributes. External weights are not read or moved.
    """
    from perfc.frontend.reading.onnx_file import read_model, write_model
    from perfc.study import annotate as properties

    if not Path(model).is_file():
        hint = "-o report.html takes every model"
        raise PerfcError("only an ONNX file can be annotated", where=model, hint=hint)
    message = read_model(model)
    properties.annotate(message, report)
    write_model(message, output)


def answer(report: Report, views: Views, predictor: str, form: str) -> str:
    """Return the text of ``--quiet``: the verdict in one line, or a prediction as JSON."""
    from perfc.view.report.formats import screen
    from perfc.view.result import written

    # a named predictor may give another quantity than time; the verdict line is of time
    if predictor or form == "json":
        from perfc.analyzers.graph.rows import Quantity
        from perfc.study import whole

        run = whole.whole_run(report, predictor)
        if form == "json":
            return written(run, form)
        if run.quantity is not Quantity.TIME:
            return f"{run.answer}\n"
    return f"{screen.verdict_line(views.verdict)}\n"


def shown_views(
    views: tuple[str, ...], count_as: str, *, full: bool, everything: bool
) -> tuple[str, ...]:
    """Return the views to print, including operation counts if a counter is given.

    Raises:
        click.UsageError: view ``counts`` without a counter.
    """
    shown = parse_views(views, full=full, everything=everything)
    if "counts" in shown and not count_as and not everything:
        raise click.UsageError("--view counts needs --count-as NAME")
    return (*shown, "counts") if count_as and "counts" not in shown else shown


def standard_input() -> bytes:
    """Read a serialized model from standard input.

    Raises:
        ModelError: the input is empty or too long.
    """
    import sys

    # one byte beyond the limit shows that there is more
    data = sys.stdin.buffer.read(LONGEST_INPUT_BYTES + 1)
    if not data:
        raise ModelError("standard input is empty", hint="give a path, or write a model to it")
    if len(data) > LONGEST_INPUT_BYTES:
        raise ModelError("more than 2 GiB on standard input", hint="give the path of the file")
    return data


def side_by_side(
    options: DeploymentOptions,
    model: str,
    form: str,
    output: Path | None,
    *,
    predict: bool,
) -> int:
    """Write the summary of several targets, as `perfc compare` does.

    Raises:
        UsageError: a format that holds a single report.
    """
    from perfc.view.answers import RESULTS

    from . import compare

    if form not in RESULTS:
        raise click.UsageError(f"{form} is of one target; several give one table")
    # standard input can be read once: all targets analyze the same bytes
    source = standard_input() if model == STANDARD_INPUT else model
    if form == HTML and is_one_page(options):
        return beside_others(options, model, source, output, predict=predict)
    present(compare.compared(options, (source,), predict=predict), form, output)
    return 0


def is_one_page(options: DeploymentOptions) -> bool:
    """Return True if one page holds everything: few targets, one runtime, one precision."""
    from perfc.view.html.what_if import MOST_TARGETS

    # several runtimes or precisions make several rows a target, which the table has
    is_one_way = len([*options.ways()]) == 1
    target = options.deployment(is_several=True).target if is_one_way else ""
    return bool(target) and len(options.machines(target)) <= MOST_TARGETS


def beside_others(
    options: DeploymentOptions, model: str, source: Any, output: Path | None, *, predict: bool
) -> int:
    """Write the page of the first target, with the other targets next to it."""
    from dataclasses import replace

    from perfc.view.report import collect

    how = options.deployment(is_several=True)
    first, *others = options.machines(how.target)
    try:
        report = options.report(source, replace(how, target=str(first.path)))
    except PerfcError as error:
        raise located(error, model) from error
    views = collect(report, predict=predict)
    deliver_page(report, views, output, [str(m.path) for m in others])
    return 0


def deliver_page(
    report: Report,
    views: Views,
    output: Path | None,
    targets: Sequence[str] = (),
    *,
    has_what_if: bool = True,
) -> None:
    """Write the HTML page."""
    from perfc.view.html import page

    deliver(page(report, views, targets, has_what_if=has_what_if), output)


def located(error: PerfcError, model: str) -> PerfcError:
    """Add the model's file to an error that names only a node."""
    if isinstance(error, PassError | VerifyError) and model not in str(error):
        error.where = f"{model}: {error.where}" if error.where else model
    return error


def printing(names: str) -> list[Instrument]:
    """Return instruments that print the IR after the named passes."""
    from perfc.passes.manager import PrintAfter

    return [PrintAfter(frozenset(names_in(names)))] if names else []
