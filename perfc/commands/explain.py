"""``perfc explain``: how the numbers of one node are made, and where each is from."""

from __future__ import annotations

from pathlib import Path

import click

from ._options import dim_option, output_option, parse_dims, write


@click.command("explain")
@click.argument("model", type=click.Path(dir_okay=False))
@click.argument("node")
@click.option("--target", default="a100", show_default=True, help="A target's name or file.")
@dim_option
@click.option("--runtime", default="ort", show_default=True, help="Whose fusion table applies.")
@click.option("--dtype", default="", metavar="TYPE", help="What-if precision: fp16, int8, fp8 …")
@click.option(
    "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True
)
@output_option
def command(
    model: str,
    node: str,
    target: str,
    dims: tuple[str, ...],
    runtime: str,
    dtype: str,
    output_format: str,
    output: Path | None,
) -> None:
    """Explain NODE of MODEL: its formulas with its numbers filled in, and every number's origin.

    NODE is a node's name or part of it, one of its outputs, or its position.
    """
    from perfc.api import analyze
    from perfc.explain import explain
    from perfc.explain_text import render_json, render_text

    report = analyze(model, target, dims=parse_dims(dims), runtime=runtime, dtype=dtype)
    explanation = explain(report, node)
    write(render_json(explanation) if output_format == "json" else render_text(explanation), output)
