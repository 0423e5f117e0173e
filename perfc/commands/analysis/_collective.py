"""``perfc op collective``: predicted time of a collective among devices of one kind."""

from __future__ import annotations

from pathlib import Path

from perfc.errors import ParseError

from ..shared.prelude import (
    DeploymentOptions,
    color_option,
    deployment_options,
    grouped_command,
    present,
    reads,
    result_options,
)
from ..shared.table import table_options

DOCUMENTS = {"collective": "perfc.study.collective:Collectives"}
"""JSON document of the command, and the type that defines its schema."""


@grouped_command("collective")
@table_options("collective")
@reads("a collective", "target", "runtime", "dtype")
@deployment_options
@result_options
@color_option
def command(
    options: DeploymentOptions,
    /,
    operation: str,
    size: str,
    ranks: int,
    nodes: int,
    form: str,
    output: Path | None,
) -> None:
    """Predict a collective among devices of one kind; several targets give one row each.

    SIZE is the whole message of one rank: what an all-reduce sums, what an all-gather ends with,
    what a reduce-scatter starts from. Numbers are bf16 unless --dtype says otherwise.
    """
    from perfc.passes.runtimes import LaunchMode
    from perfc.study.collective import collective

    # extents in the project file are those of models
    how = options.deployment(dims={}, is_several=True)
    result = collective(
        operation,
        bytes_of(size),
        ranks,
        options.machines(how.target),
        nodes=nodes,
        dtype=how.dtype,
        is_graph=how.table.launch is LaunchMode.GRAPH,
    )
    present(result, form, output)


def bytes_of(text: str) -> int:
    """Parse a size such as ``64MiB`` into bytes.

    Raises:
        ParseError: not a size.
    """
    from perfc.view.report.units import Unit, parse_limit

    try:
        # a limit of `perfc check` has the same units; relative ones are no sizes
        limit = parse_limit(text, Unit.BYTE)
    except ValueError as error:
        raise ParseError(str(error), where="--bytes") from None
    if limit.is_relative:
        raise ParseError(f"{text!r} is no size", where="--bytes", hint="as in 64MiB")
    return int(limit.value)
