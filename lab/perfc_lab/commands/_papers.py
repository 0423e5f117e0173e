"""``perfc eval papers``: reproduce the tables of published predictors.

The work is that of `perfc_lab.papers.reproduction`. `lab_options` adds options
that ``_table.toml`` declares.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from perfc.commands.shared.listing import examples
from perfc.commands.shared.output import emit
from perfc.common.plain_text import say
from perfc.errors import ParseError
from perfc_lab.commands._table import lab_options

from ._board_options import board_options, complain, written_by


@click.command(
    "papers",
    epilog=examples(
        "eval papers --graphs graphs -o papers", "eval papers --graphs graphs --paper perfseer"
    ),
)
@lab_options("papers-papers_command")
@board_options("papers", processes=2)
@click.pass_context
def papers_command(
    ctx: click.Context,
    graphs: Path | None,
    checklist: bool,
    cost: bool,
    papers: tuple[str, ...],
    preset: str,
    limit_s: float | None,
    ours: bool,
    seeds: tuple[int, ...],
    processes: int,
    page_only: bool,
    no_plots: bool,
    output: Path,
    results: Path | None,
) -> None:
    """Reproduce tables and ablations of DIPPM, TraPPM and PerfSeer.

    An interrupted run resumes with what is missing from the folder.
    """
    if checklist:
        write_checklist(output)
        return
    if graphs is None:
        hint = "`perfc data build timm ecnas graphs` writes them"
        raise ParseError("no data sets", where="--graphs", hint=hint)
    if cost:
        write_cost(graphs, output, written_by(ctx))
        return
    from perfc.view.vegalite import converter
    from perfc_lab.papers.reproduction.command import every_job, reproduce, written
    from perfc_lab.papers.reproduction.published import built, tables
    from perfc_lab.papers.reproduction.runs import PRESETS
    from perfc_lab.tables.architectures import SEEDS

    if not no_plots:
        # a missing package is an error before hours of training, not after them
        converter("SVG")
    # tables without those whose optional data set is missing; one training per table row and seed
    chosen, draws = built(tables(papers), graphs), seeds or SEEDS
    size = PRESETS[preset] if limit_s is None else replace(PRESETS[preset], limit_s=limit_s)
    jobs = every_job(chosen, draws, graphs, size, is_faithful=not ours)
    place = results or output / "results"
    if not page_only:
        reproduce(chosen, jobs, place, processes, complain)
    path = written(
        chosen,
        draws,
        graphs,
        place,
        output,
        size,
        written_by(ctx),
        is_faithful=not ours,
        has_charts=not no_plots,
    )
    say(str(path))


def write_checklist(folder: Path) -> None:
    """Write the checklist of the papers' elements to a folder."""
    from perfc_lab.papers.elements import board

    folder.mkdir(parents=True, exist_ok=True)
    emit(board().written("markdown"), folder / "elements.md")


def write_cost(graphs: Path, folder: Path, origin: str) -> None:
    """Write the time of one epoch of each network to a folder."""
    from perfc_lab.papers.reproduction.cost import board, costs

    folder.mkdir(parents=True, exist_ok=True)
    measured = list(costs(graphs, complain))
    emit(board(measured).written("markdown", origin), folder / "cost.md")
