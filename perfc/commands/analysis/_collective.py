"""``perfc op collective``: predicted time of a collective among devices of one kind."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from perfc.errors import ParseError

from ..shared.prelude import (
    DeploymentOptions,
    color_option,
    deployment_options,
    format_options,
    grouped_command,
    reads,
    show_view,
)
from ..shared.table import table_options

if TYPE_CHECKING:
    from perfc.study.collective import CollectiveView
    from perfc.view.report.formats.document import Document

DOCUMENTS = {"collective": "perfc.study.collective:CollectiveView"}
"""JSON document of the command, and the type that defines its schema."""


@grouped_command("collective")
@table_options("collective")
@reads("a collective", "target", "runtime", "dtype")
@deployment_options
@format_options("text", "json", "csv", "markdown")
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
    from perfc.study.collective import CollectiveRow, collective
    from perfc.view.report.formats import comma
    from perfc.view.report.formats.json_form import document_text

    # extents in the project file are those of models
    how = options.deployment(dims={}, is_several=True)
    view = collective(
        operation,
        bytes_of(size),
        ranks,
        options.machines(how.target),
        nodes=nodes,
        dtype=how.dtype,
        is_graph=how.table.launch is LaunchMode.GRAPH,
    )
    show_view(
        form,
        output,
        view,
        lambda v: document_text(v.document, v),
        lambda v: comma.of_records(CollectiveRow, v.rows),
        document,
    )


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


def document(view: CollectiveView) -> Document:
    """Build the document: one row per machine."""
    from perfc.view.report.formats.document import (
        Amount,
        Column,
        Document,
        Note,
        Section,
        Table,
        in_seconds,
    )
    from perfc.view.report.units import (
        INTERVAL,
        LOWER_BOUND,
        Unit,
        plural,
        size_text,
        time_range,
    )

    columns = (
        Column("target"),
        Column("time_s", "predicted", Unit.SECOND),
        Column("range", INTERVAL),
        Column("floor_s", LOWER_BOUND, Unit.SECOND),
        Column("bytes_per_s", "rate", Unit.BYTE_PER_S, "of the message"),
    )
    rows = tuple(
        (
            r.target,
            in_seconds(r.time_s),
            time_range(r.low_s, r.high_s),
            # 0: the target has no link, so there is no bound
            in_seconds(r.floor_s) if r.floor_s else None,
            Amount(r.bytes_per_s, Unit.BYTE_PER_S),
        )
        for r in view.rows
    )
    unmeasured = [r.target for r in view.rows if r.is_extrapolating]
    notes = [Note(f"nothing like it was measured on {', '.join(unmeasured)}")] if unmeasured else []
    nodes = f" over {plural(view.nodes, 'node')}" if view.nodes > 1 else ""
    title = (
        f"{view.operation} of {size_text(view.nbytes)}, {view.dtype}, "
        f"{plural(view.ranks, 'rank')}{nodes}"
    )
    return Document(title, (Section("collective", "machines", (Table(columns, rows), *notes)),))
