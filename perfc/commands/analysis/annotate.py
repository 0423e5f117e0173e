"""``perfc annotate``: write costs and times into a model, for Netron or Model Explorer."""

from __future__ import annotations

from pathlib import Path

import click

from perfc.common.whole_file import write_output

from ..shared.prelude import (
    DeploymentOptions,
    OutputFile,
    deployment_options,
    examples,
    grouped_command,
    output_option,
)


@grouped_command(
    "annotate",
    epilog=examples(
        "annotate model.onnx -o annotated.onnx",
        "annotate model.onnx --model-explorer costs.json --metric floor_us",
    ),
)
@click.argument("model", type=click.Path(dir_okay=False))
@output_option("onnx", words="Output model.")
@click.option(
    "--model-explorer",
    type=OutputFile("json"),
    help="Output file for Model Explorer node data (JSON).",
)
@click.option(
    "--metric",
    type=click.Choice(["time_us", "sustained_us", "floor_us", "flop", "bytes"]),
    default="time_us",
    show_default=True,
    help="Metric in the Model Explorer node data.",
)
@deployment_options
def command(
    options: DeploymentOptions,
    model: str,
    output: Path | None,
    model_explorer: Path | None,
    metric: str,
) -> None:
    """Write counts, times, bounds and inferred shapes into MODEL as node properties.

    Netron shows them next to each node's attributes. External weights are not read or moved:
    write the result to the model's folder, or move it there.
    """
    import json

    from perfc.frontend.reading.onnx_file import read_model, write_model
    from perfc.view.annotate import annotate, node_data

    if output is None and model_explorer is None:
        raise click.UsageError("nothing to write: give -o OUT.onnx or --model-explorer OUT.json")
    report = options.report(model)
    message = read_model(model)
    if model_explorer is not None:
        data = node_data(message, report, metric)
        write_output(model_explorer, json.dumps(data, indent=2) + "\n")
    if output is not None:
        annotate(message, report)
        write_model(message, output)
