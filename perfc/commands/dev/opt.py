"""``perfc dev opt``: run a pass pipeline and print the result."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.common.plain_text import say

from ..shared.help import grouped_command
from ..shared.options import (
    dim_option,
    facts_option,
    jax_option,
    module_options,
    named_model,
    names_in,
    parse_dims,
    print_after_option,
    sized_model,
)
from ..shared.output import emit, output_option
from ..shared.table import table_options

if TYPE_CHECKING:
    from perfc.passes.manager import Instrument


@grouped_command("opt")
@click.argument("model", type=click.Path(allow_dash=True))
@table_options("opt")
@dim_option
@module_options
@jax_option
@facts_option
@print_after_option
@output_option("ir")
def command(
    model: str,
    passes: str,
    dims: tuple[str, ...],
    inputs: tuple[str, ...],
    kwargs: str,
    is_jax: bool,
    facts: str,
    print_ir_after: str,
    print_ir_after_all: bool,
    time_passes: bool,
    dump_ir: Path | None,
    verify_each: bool,
    output: Path | None,
) -> None:
    """Run passes on MODEL: .pir text ('-' is standard input) or a model file."""
    from perfc.ir.syntax.text import print_module
    from perfc.passes.manager import Analyses, DumpTo, PrintAfter, Timing, VerifyEach
    from perfc.passes.pipeline import facts_of, parse_pipeline
    from perfc.passes.training.train import Train

    pipeline = parse_pipeline(passes)
    timing = Timing()
    instruments: list[Instrument] = [timing]
    if verify_each:
        instruments.append(VerifyEach())
    if print_ir_after or print_ir_after_all:
        names = None if print_ir_after_all else frozenset(names_in(print_ir_after))
        instruments.append(PrintAfter(names))
    if dump_ir is not None:
        instruments.append(DumpTo(dump_ir))
    analyses = Analyses(tuple(instruments))
    # a configuration for a training step is lowered differently
    is_trained = any(isinstance(p, Train) for p in pipeline.passes)
    module = pipeline.run(
        sized_model(
            named_model(model, inputs, kwargs, is_jax=is_jax),
            parse_dims(dims),
            is_trained=is_trained,
        ),
        analyses,
    )
    emit(print_module(module, facts=facts_of(names_in(facts), pipeline, module, analyses)), output)
    if time_passes:
        for line in str(timing).splitlines():
            say(line, is_error=True)
