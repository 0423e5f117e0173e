"""``perfc dev reduce``: extract the smallest sub-model around a node or an error."""

from __future__ import annotations

from pathlib import Path

import click

from perfc.common.plain_text import say

from ..shared.prelude import (
    DeploymentOptions,
    Nodes,
    deployment_options,
    emit,
    grouped_command,
    output_option,
)


@grouped_command("reduce")
@click.argument("model", type=click.Path())
@click.option(
    "--node", type=Nodes(), metavar="NODE", help="Extract this node, by name, output or position."
)
@click.option(
    "--error",
    is_flag=True,
    help="Keep the nodes that reproduce the error at which the analysis stops.",
)
@output_option("onnx", words="Output model (default: print the sub-model as ONNX text).")
@deployment_options
def command(
    options: DeploymentOptions, model: str, node: str | None, error: bool, output: Path | None
) -> None:
    """Reduce MODEL to one node, or to the nodes that reproduce an analysis error.

    Inputs get the inferred types. Small constants stay; no weights are read.
    """
    import onnx

    from perfc.frontend.reading.onnx_file import read_model, write_model
    from perfc.study.reduce import reduce_error, reduce_to_node

    if (node is None) == (not error):
        raise click.UsageError("give one of --node NODE and --error")
    message = read_model(model)

    def probe(candidate: onnx.ModelProto) -> None:
        options.report(candidate)

    result = reduce_to_node(message, node) if node is not None else reduce_error(message, probe)
    if output is None:
        emit(onnx.printer.to_text(result.model) + "\n", None)
    else:
        write_model(result.model, output)
    say(f"{result.nodes} of {result.total} nodes", is_error=True)
    if result.error is not None:
        say(f"shows: {result.error}", is_error=True)
