"""``perfc mig``: find the smallest MIG slice that meets a model's memory and latency.

Group: look.
"""

from __future__ import annotations

from pathlib import Path

import click

from perfc.errors import ParseError

from ._deployment import DeploymentOptions, deployment_options
from ._document import show_document
from ._examples import examples
from ._help import grouped_command
from ._output import deliver, emit, format_options
from ._report import color_option

FINDINGS = 1
DOCUMENT = ("mig", "perfc.comparison.slices:SlicingView")
"""Name of the JSON that the command writes, and the type that its schema is read off."""


@grouped_command(
    "mig",
    epilog=examples("mig model.onnx -t a100 --slo 10ms", "mig model.onnx -t h100 --batch 8"),
)
@click.argument("model", type=click.Path())
@deployment_options
@click.option("--slo", metavar="TIME", help="Latency objective, e.g. 10ms.")
@click.option("--no-predict", is_flag=True, help="Sustained times only, no predictions.")
@format_options("text", "json", "csv", "markdown", "html")
@color_option
def command(
    options: DeploymentOptions,
    model: str,
    slo: str | None,
    no_predict: bool,
    form: str,
    output: Path | None,
) -> int:
    """Find the MIG slice for MODEL: `perfc mig model.onnx --target a100 --slo 10ms`.

    One row each for a slice of the card (multi-instance GPU): its time, its memory, and how much a
    card full of such slices does. Beside it stand the slices that two published rules would take.
    The exit code is 1 if no slice is enough. `-t a100/3g.40gb` names a slice to other commands.
    """
    from perfc.comparison import to_csv
    from perfc.comparison.slice_views import document
    from perfc.comparison.slices import slicing, to_dict
    from perfc.expenses import Prices

    from .compare import settings_of, time_of

    how = options.deployment()
    settings = list(settings_of(options, [model]))
    if len(settings) > 1:
        raise ParseError("one way of running at a time", where="--runtime, --dtype")
    slo_s = None if slo is None else time_of(slo)
    found = slicing(
        settings[0], how.target, slo_s=slo_s, prices=Prices.read(options.file),
        predict=not no_predict,
    )  # fmt: skip
    match form:
        case "json":
            from perfc.report.json_form import strict

            emit(strict(to_dict(found), indent=2) + "\n", output)
        case "csv":
            emit(to_csv(found.comparison), output)
        case "html":
            from perfc.html.compare_page import compare_page

            deliver(compare_page(found.comparison, document(found)), output)
        case _:
            show_document(document(found), form, output)
    return 0 if found.smallest is not None else FINDINGS
