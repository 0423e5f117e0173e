"""``perfc explain``: show how the numbers of one node are computed, and their origins."""

from __future__ import annotations

from pathlib import Path

import click

from ..shared.prelude import (
    DeploymentOptions,
    Nodes,
    emit,
    format_options,
    grouped_command,
    model_options,
)
from ..shared.report import width_of

DOCUMENTS = {"explain": "perfc.study.explain.text:Explanation"}
"""JSON document of the command, and the type that defines its schema."""


@grouped_command("explain")
@click.argument("model", type=click.Path())
@click.argument("node", type=Nodes())
@format_options("text", "json")
@model_options
def command(
    options: DeploymentOptions, model: str, node: str, form: str, output: Path | None
) -> None:
    """Explain NODE of MODEL: formulas with numbers filled in, and the origin of each number.

    NODE is a node's name or part of it, one of its outputs, its position, or kernel:N: the largest
    node of kernel N of the report.
    """
    from perfc.study.explain import explain
    from perfc.study.explain.text import render_json, render_text

    explanation = explain(options.report(model), node)
    width = width_of(output)
    is_json = form == "json"
    emit(render_json(explanation) if is_json else render_text(explanation, width), output)
