"""``perfc roofline``: draw the hierarchical roofline of a target, with kernels as points."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.plain_text import say
from perfc.errors import MissingExtraError
from perfc.view.answers import RESULTS

from ..shared import names as _names
from ..shared.prelude import (
    PIPED_WIDTH,
    DeploymentOptions,
    Names,
    color_option,
    deliver,
    format_options,
    grouped_command,
    is_colorful,
    model_options,
    parse_top,
    present,
    show_document,
)
from ..shared.table import table_options

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.view.chart import Chart, Mark

FINDINGS = 1
"""Exit code if a measured kernel is above a ceiling, which no execution can be."""


MEASURED = "perfc.measuring.ncu.overlay:read"
"""Function of the room of traces that reads measured kernels."""
DOCUMENTS = {"roofline": "perfc.view.chart.chart:Chart"}
"""JSON document of the command, and the type that defines its schema."""


@grouped_command("roofline")
@click.argument("names", type=Names(_names.targets), metavar="[TARGET] [MODEL]", nargs=-1)
@table_options("roofline")
@model_options
@format_options(*RESULTS, "svg")
@color_option
def command(
    options: DeploymentOptions,
    names: tuple[str, ...],
    model: str | None,
    measured: tuple[Path, ...],
    form: str,
    output: Path | None,
    top: str,
) -> int:
    """Draw the ceilings of TARGET: L1, L2, device memory, compute units by element type.

    TARGET is a name or a file that `perfc calibrate` wrote, MODEL what --model takes. Peaks are
    dashed, measured ceilings solid. Each kernel has one point per memory level, at its intensity
    against the bytes there and at the rate of its time: as `perfc analyze` predicts it, or as it
    was measured.
    """
    from perfc.machine import load_machine
    from perfc.view.chart import chart, marks_of, roofs_of

    limit = parse_top(top)
    name, model = sorted_names(names, model)
    notes: list[str] = []
    marks: list[Mark] = []
    if name and options.fields["target"] not in (None, name):
        raise click.UsageError("give TARGET or --target, not both")
    how = options.deployment(also={"target": name} if name else None)
    machine = load_machine(how.target)
    title = machine.name
    table = None
    if model is not None:
        report = options.report(model, how)
        table = report.roofline
        kernels = marks_of(table, report.prediction.kernels)
        marks += kernels.marks
        title = _title(report)
        notes += _model_notes(kernels.moving)
    elif options.sizes or options.values:
        raise click.UsageError("sizes and --value need a --model")
    for path in measured:
        overlay = _names.imported(MEASURED)(path, machine, table)
        marks += overlay.marks
        notes += overlay.notes
    drawn = chart(title, roofs_of(machine), marks, notes)
    _show(drawn, form, output, limit)
    return FINDINGS if drawn.above else 0


def sorted_names(names: Sequence[str], model: str | None) -> tuple[str, str | None]:
    """Return the target and the model among the words of the command line.

    Raises:
        UsageError: several targets, or several models.
    """
    from perfc.frontend.reading.folder import is_typed

    models = [n for n in names if is_typed(n)] + ([] if model is None else [model])
    targets = [n for n in names if not is_typed(n)]
    for noun, given in (("targets", targets), ("models", models)):
        if len(given) > 1:
            raise click.UsageError(f"one TARGET and one MODEL at a time: {len(given)} {noun}")
    # at most one of each is left
    return "".join(targets), models[0] if models else None


def _title(report: Report) -> str:
    """Return the chart's title: model, machine, sizes, runtime and precision."""
    labels = report.source.labels
    symbols = "".join(f", {labels.get(name, name)} = {n}" for name, n in report.env.items())
    precision = f", {report.dtype}" if report.dtype else ""
    runtime = report.kernels.runtime.name
    return f"{Path(report.path).name} on {report.machine.name}{symbols}, {runtime}{precision}"


def _model_notes(moving: int) -> Iterator[str]:
    """Yield notes on predicted kernels, of which ``moving`` have no arithmetic."""
    from perfc.view.report.units import plural

    yield "L1 and L2 bytes: compulsory, equal by definition; device bytes: what L2 does not hold"
    if moving:
        kernels = plural(moving, "kernel")
        yield f"{kernels} without arithmetic: what only moves bytes has no intensity"


def _show(drawn: Chart, form: str, output: Path | None, top: int | None) -> None:
    """Write a chart in the given format."""
    # a plot only for eyes: pipes and files get the table alone
    if form == "text" and output is None and (sys.stdout.isatty() or is_colorful()):
        _to_terminal(drawn, top)
        return
    if form == "svg":
        from perfc.view.chart.drawing import svg

        deliver(svg(drawn), output)
    else:
        present(drawn, form, output, top)


def _to_terminal(drawn: Chart, top: int | None) -> None:
    """Print the plot if the terminal is wide enough and plotext is installed, then the table."""
    from perfc.view.chart.plot import LEAST_HEIGHT, LEAST_WIDTH, plotted
    from perfc.view.chart.table import document

    size = shutil.get_terminal_size((PIPED_WIDTH, 40))
    if size.columns >= LEAST_WIDTH and size.lines >= LEAST_HEIGHT:
        try:
            click.echo(plotted(drawn, size.columns, size.lines - 2, color=is_colorful()))
        except MissingExtraError as error:
            say(f"no plot: {error}", is_error=True)
    show_document(document(drawn, top), "text", None)
