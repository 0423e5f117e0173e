"""``perfc dev ir``: print a model as IR text."""

from __future__ import annotations

from pathlib import Path

import click

from ..shared import names as _names
from ..shared.help import grouped_command
from ..shared.names import Names
from ..shared.options import (
    dim_option,
    facts_option,
    jax_option,
    module_options,
    named_model,
    names_in,
    parse_dims,
    sized_model,
)
from ..shared.output import emit, output_option


@grouped_command("ir")
@click.argument("model", type=click.Path())
@dim_option
@module_options
@jax_option
@click.option(
    "-p",
    "--passes",
    type=Names(_names.passes),
    default="shapes",
    show_default=True,
    help="Pipeline to run first; '' prints the lowered model.",
)
@facts_option
@output_option("ir")
def command(
    model: str,
    dims: tuple[str, ...],
    inputs: tuple[str, ...],
    kwargs: str,
    is_jax: bool,
    passes: str,
    facts: str,
    output: Path | None,
) -> None:
    """Print MODEL as IR text with the type of every value.

    It parses back: `perfc dev opt` runs passes on it.
    """
    from perfc.ir.syntax.text import print_module
    from perfc.passes.manager import Analyses
    from perfc.passes.pipeline import facts_of, parse_pipeline

    pipeline = parse_pipeline(passes)
    analyses = Analyses()
    module = pipeline.run(
        sized_model(named_model(model, inputs, kwargs, is_jax=is_jax), parse_dims(dims)),
        analyses,
    )
    emit(print_module(module, facts=facts_of(names_in(facts), pipeline, module, analyses)), output)
