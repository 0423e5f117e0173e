"""``perfc eval``: the scoreboard of the predictors, every figure from held-out rows.

Group: predictors.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import ClassVar

import click

from perfc.errors import ParseError, PerfcError
from perfc.plain_text import say

from ._board_options import board_options
from ._examples import examples
from ._gnn_llm import eval_command
from ._options import graphs_option, tables_option
from ._output import OutputFile, emit, format_options, written_by


class Scoreboards(click.Group):
    """``graph`` has a scoreboard of its own; any other name is of an operator predictor."""

    otherwise: ClassVar[str] = "op"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Call ``op`` where no scoreboard is named."""
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = [self.otherwise, *args]
        return super().parse_args(ctx, args)


@click.group(
    "eval", cls=Scoreboards, epilog=examples("eval op --data data", "eval graph --graphs graphs")
)
def command() -> None:
    """Train predictors without the rows they are tested on, and test them."""


@command.command(
    "op", epilog=examples("eval op --data data", "eval op --data data -o scoreboard.md")
)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@tables_option
@click.option("--cards", is_flag=True, help="Write the figures into the cards of the weights.")
@format_options("text", "json", "markdown")
@click.option("--plot", type=OutputFile("svg"), help="Write a chart of the errors (SVG).")
@click.pass_context
def op(
    ctx: click.Context,
    names: tuple[str, ...],
    data: Path,
    form: str,
    output: Path | None,
    plot: Path | None,
    cards: bool,
) -> None:
    """Operator and step predictors NAME, all by default; `perfc eval NAME` is the same.

    Exits with 1 if a figure misses its goal.
    """
    from perfc.analyzers.training.experiments import chosen
    from perfc.analyzers.training.scoreboard import into_cards, write_plot, written
    from perfc.vegalite import converter

    if plot is not None:
        # said before the training, not after
        converter("SVG")
    found = {
        experiment: list(experiment.evaluate(data, lambda line: say(line, is_error=True)))
        for experiment in chosen(names)
    }
    if not any(found.values()):
        # a page without figures would replace one that has some
        raise PerfcError(
            "no figure was measured", where=", ".join(names), hint="what is missing is said above"
        )
    emit(written(found, form, written_by(ctx)), output)
    if plot is not None:
        write_plot(found, plot)
    if cards:
        into_cards(found)
    if not all(figure.met for figures in found.values() for figure in figures):
        ctx.exit(1)


@command.command(
    "serving", epilog=examples("eval serving --data data", "eval serving --data data -o serving.md")
)
@tables_option
@format_options("text", "json", "markdown")
@click.pass_context
def serving(ctx: click.Context, data: Path, form: str, output: Path | None) -> None:
    """Served language models: random folds and models left out, against published runs."""
    from perfc.serving.evidence.scoreboard import written
    from perfc.serving.evidence.scores import gathered

    evidence = gathered(data, lambda line: say(line, is_error=True))
    emit(written(evidence, data, form, written_by(ctx)), output)


@command.command(
    "trees", epilog=examples("eval trees --data data", "eval trees --data data -o trees.md")
)
@tables_option
@click.option("--grid", is_flag=True, help="Try all of the thesis's settings on its kind of folds.")
@click.option(
    "--gnn-s", default=20.0, show_default=True, type=click.FloatRange(0),
    help="Longest training of a random fold's graph network; others share it; 0 for none.",
)  # fmt: skip
@click.option(
    "--kept", type=click.Path(path_type=Path, file_okay=False),
    help="Keep results in a folder; what is there of the same rows is not computed again.",
)  # fmt: skip
@format_options("text", "json", "markdown")
@click.pass_context
def trees(
    ctx: click.Context,
    data: Path,
    grid: bool,
    gnn_s: float,
    kept: Path | None,
    form: str,
    output: Path | None,
) -> None:
    """Trees for language models: on features alone and on the kernel sum."""
    from perfc.serving.trees.board import written
    from perfc.serving.trees.experiment import compared
    from perfc.serving.trees.kept import Kept

    found = compared(
        data, lambda line: say(line, is_error=True), is_full=grid, gnn_s=gnn_s, kept=Kept(kept)
    )
    emit(written(found, form, written_by(ctx)), output)


@command.command(
    "training",
    epilog=examples("eval training --data data", "eval training --data data -o training_runs.md"),
)
@tables_option
@format_options("text", "json", "markdown")
@click.pass_context
def training(ctx: click.Context, data: Path, form: str, output: Path | None) -> None:
    """Training runs on many GPUs: models left out, scaling, exchanges between nodes."""
    from perfc.distributed.evidence.scoreboard import written
    from perfc.distributed.evidence.scores import gathered

    evidence = gathered(data, lambda line: say(line, is_error=True))
    emit(written(evidence, data, form, written_by(ctx)), output)


@command.command(
    "graph",
    epilog=examples(
        "eval graph --graphs graphs", "eval graph --graphs graphs --split family --families"
    ),
)
@click.option("--predictor", "names", multiple=True, help="NAME or NAME:VARIANT; all by default.")
@click.option("--dataset", default="timm", show_default=True)
@graphs_option
@click.option("--split", "splits", multiple=True, help="Protocol; repeated for several.")
@click.option("--seed", "seeds", multiple=True, type=int, help="Of the splits; three by default.")
@click.option("--quantity", default="time_s", show_default=True, help="What is predicted.")
@click.option("--mode", default="", help="Rows of one way of running: eager, compiled, training …")
@click.option("--limit-s", default=420.0, show_default=True, help="Longest training of one fold.")
@click.option(
    "--scale", type=click.FloatRange(0.01, 1.0), default=1.0, show_default=True,
    help="Of the papers' hidden size, for networks.",
)  # fmt: skip
@click.option(
    "--faithful", is_flag=True,
    help="Train networks as their papers do, which takes days at their width; ours takes an hour.",
)  # fmt: skip
@click.option(
    "--share", "shares", multiple=True, type=click.FloatRange(0.01, 1.0),
    help="Of the architectures trained on; several make a learning curve.",
)  # fmt: skip
@click.option(
    "--samples", type=click.IntRange(1, 10_000), default=32, show_default=True,
    help="Rows of a new machine that the split transfer sees.",
)  # fmt: skip
@click.option(
    "--as-shipped",
    "models",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Train as what ships, then predict from the files GRAPH.onnx.gz of this folder.",
)
@click.option("--families", is_flag=True, help="A line for every family.")
@format_options("text", "json", "markdown")
@click.option(
    "--plot",
    type=click.Path(path_type=Path, file_okay=False),
    help="Write charts into a folder (SVG).",
)
@click.option("--folder", type=click.Path(path_type=Path, file_okay=False), help="Checkpoints.")
@click.pass_context
def graph(
    ctx: click.Context,
    names: tuple[str, ...],
    dataset: str,
    graphs: Path,
    splits: tuple[str, ...],
    seeds: tuple[int, ...],
    quantity: str,
    mode: str,
    limit_s: float,
    scale: float,
    faithful: bool,
    shares: tuple[float, ...],
    samples: int,
    models: Path | None,
    families: bool,
    form: str,
    output: Path | None,
    plot: Path | None,
    folder: Path | None,
) -> None:
    """Predictors of whole models from their graphs, on one data set."""
    from perfc.analyzers.graph.datasets import load
    from perfc.analyzers.graph.datasets.unlabelled import unlabelled_graphs
    from perfc.analyzers.graph.predictor import Budget, usable
    from perfc.analyzers.tables.architectures import SEEDS
    from perfc.analyzers.training.graphs.bench import evaluated
    from perfc.analyzers.training.graphs.scoreboard import write_plots, written
    from perfc.analyzers.whole_runs import shipped
    from perfc.analyzers.whole_runs.as_shipped import figures_as_shipped
    from perfc.vegalite import converter

    from ._graph import chosen_protocols, chosen_quantity, of_mode
    from ._training import telling

    if plot is not None:
        # said before hours of training, not after
        converter("SVG")
    data = of_mode(load(graphs, dataset), mode)
    protocols, wanted = chosen_protocols(splits), chosen_quantity(quantity)
    with telling() as to:
        budget = Budget(
            limit_s=limit_s, folder=folder, scale=scale, progress=to.progress,
            is_faithful=faithful, unlabelled=unlabelled_graphs(graphs),
        )  # fmt: skip
        if models is not None:
            found = figures_as_shipped(
                names or shipped.names(), data, protocols, models,
                quantity=wanted, seeds=seeds or SEEDS, budget=budget, families=families, say=to.say,
            )  # fmt: skip
        else:
            found = evaluated(
                names or usable(to.say), data, protocols,
                quantity=wanted, seeds=seeds or SEEDS, budget=budget, shares=shares or (1.0,),
                families=families, samples=samples, say=to.say,
            )  # fmt: skip
    emit(written(found, form, written_by(ctx)), output)
    if plot is not None:
        write_plots(found, plot)


@command.command(
    "papers",
    epilog=examples(
        "eval papers --graphs graphs -o papers", "eval papers --graphs graphs --paper perfseer"
    ),
)
@click.option(
    "--graphs", type=click.Path(path_type=Path, file_okay=False, exists=True),
    help="Folder of the data sets, as `perfc data build` writes it.",
)  # fmt: skip
@click.option(
    "--checklist", is_flag=True, help="Only write which elements of the papers stand where."
)
@click.option("--cost", is_flag=True, help="Only time an epoch of each network at full width.")
@click.option("--paper", "papers", multiple=True, help="One paper; repeated for several.")
@click.option(
    "--preset", type=click.Choice(["cpu", "paper", "smoke"]), default="cpu", show_default=True,
    help="Width and time of the networks: cpu takes about two hours of one core.",
)  # fmt: skip
@click.option(
    "--limit-s", type=click.FloatRange(0.1), help="Longest training, in place of the preset's."
)
@click.option("--ours", is_flag=True, help="Train by our recipes in place of the papers'.")
@click.option("--no-plots", is_flag=True, help="Write no charts, which need vl-convert-python.")
@board_options("papers", processes=2, content="the page and its charts")
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
    """Tables and ablations of DIPPM, TraPPM and PerfSeer beside the papers' own numbers.

    An interrupted run goes on with what is not in the folder yet.
    """
    if checklist:
        write_checklist(output)
        return
    if graphs is None:
        raise ParseError(
            "no data sets",
            where="--graphs",
            hint="`perfc data build timm ecnas graphs` writes them",
        )
    if cost:
        write_cost(graphs, output, written_by(ctx))
        return
    from perfc.analyzers.papers.reproduction.command import every_job, reproduce, written
    from perfc.analyzers.papers.reproduction.published import built, tables
    from perfc.analyzers.papers.reproduction.runs import PRESETS
    from perfc.analyzers.tables.architectures import SEEDS
    from perfc.vegalite import converter

    if not no_plots:
        # said before hours of training, not after
        converter("SVG")
    chosen, draws = built(tables(papers), graphs), seeds or SEEDS
    size = PRESETS[preset] if limit_s is None else replace(PRESETS[preset], limit_s=limit_s)
    wanted = every_job(chosen, draws, graphs, size, is_faithful=not ours)
    place = results or output / "results"
    if not page_only:
        reproduce(chosen, wanted, place, processes, lambda line: say(line, is_error=True))
    path = written(
        chosen, draws, graphs, place, output, size, written_by(ctx),
        is_faithful=not ours, has_charts=not no_plots,
    )  # fmt: skip
    say(str(path))


def write_checklist(folder: Path) -> None:
    """Which elements of the papers stand, as a page of a folder."""
    from perfc.analyzers.papers.elements import page

    folder.mkdir(parents=True, exist_ok=True)
    emit(page(), folder / "elements.md")


def write_cost(graphs: Path, folder: Path, origin: str) -> None:
    """Time of an epoch of each network, as a page of a folder."""
    from perfc.analyzers.papers.reproduction.cost import costs, page

    folder.mkdir(parents=True, exist_ok=True)
    measured = list(costs(graphs, lambda line: say(line, is_error=True)))
    emit(page(measured, origin), folder / "cost.md")


command.add_command(eval_command)
