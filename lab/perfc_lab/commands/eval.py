"""``perfc eval``: score the predictors on held-out measurements.

Each subcommand trains without the rows that it tests, and prints a board. Options that
`lab_options` adds are declared in ``_table.toml``.
"""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

import click

from perfc.commands.shared.listing import examples
from perfc.commands.shared.output import OutputFile, emit, format_options
from perfc.errors import PerfcError
from perfc_lab.commands._table import lab_options

from ._board_options import complain, graphs_option, tables_option, written_by
from ._fusion import fusion_command
from ._gnn_llm import eval_command
from ._papers import papers_command


class Scoreboards(click.Group):
    """Scoreboards by name; a name that is no subcommand is an operator predictor."""

    otherwise: ClassVar[str] = "op"

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Call ``op`` if no scoreboard is named."""
        if not args or args[0] not in (*self.commands, "-h", "--help"):
            args = [self.otherwise, *args]
        return super().parse_args(ctx, args)


@click.group(
    "eval", cls=Scoreboards, epilog=examples("eval op --data data", "eval graph --graphs graphs")
)
def command() -> None:
    """Train predictors without their test rows, and score them."""


@command.command(
    "op", epilog=examples("eval op --data data", "eval op --data data -o scoreboard.md")
)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@tables_option
@click.option("--cards", is_flag=True, help="Write the scores to the cards of the weights.")
@format_options("text", "json", "markdown")
@click.option("--plot", type=OutputFile("svg"), help="Output file for a chart of errors (SVG).")
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
    """Score operator and step predictors NAME (default: all); `perfc eval NAME` is the same.

    Exits with 1 if a figure misses its goal.
    """
    from perfc.view.vegalite import converter
    from perfc_lab.training.experiments import chosen
    from perfc_lab.training.scoreboard import board, into_cards, write_plot

    if plot is not None:
        # a missing package is an error before the training, not after
        converter("SVG")
    scores = {experiment: list(experiment.evaluate(data, complain)) for experiment in chosen(names)}
    if not any(scores.values()):
        # a page without figures would replace one that has some
        raise PerfcError(
            "no figure was measured", where=", ".join(names), hint="what is missing is said above"
        )
    emit(board(scores).written(form, written_by(ctx)), output)
    if plot is not None:
        write_plot(scores, plot)
    if cards:
        into_cards(scores)
    if not all(figure.met for figures in scores.values() for figure in figures):
        ctx.exit(1)


@command.command(
    "serving", epilog=examples("eval serving --data data", "eval serving --data data -o serving.md")
)
@tables_option
@click.option(
    "--rows",
    type=click.IntRange(0),
    default=60,
    show_default=True,
    help="Runs of each table and slice, drawn at random; 0 for all.",
)
@format_options("text", "json", "markdown")
@click.pass_context
def serving(ctx: click.Context, data: Path, rows: int, form: str, output: Path | None) -> None:
    """Score answers of `perfc llm` against published runs of models that its fit has not seen."""
    from perfc_lab.serving import scores
    from perfc_lab.serving.scoreboard import board

    evidence = scores.gathered(data, complain)
    every = scores.answers(evidence, scores.sampled(evidence, rows), complain)
    emit(board(every, data).written(form, written_by(ctx)), output)


@command.command(
    "batches", epilog=examples("eval batches --data data", "eval batches --data data -o batches.md")
)
@tables_option
@format_options("text", "json", "markdown")
@click.pass_context
def batches(ctx: click.Context, data: Path, form: str, output: Path | None) -> None:
    """Score predictions of `perfc llm` for fixed batches, by GPU and runtime, model left out."""
    from perfc_lab.serving.batch_scores import answers_of, board

    answers = answers_of(data, complain)
    emit(board(answers).written(form, written_by(ctx)), output)


@command.command(
    "trees", epilog=examples("eval trees --data data", "eval trees --data data -o trees.md")
)
@tables_option
@lab_options("eval-trees")
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
    """Score tree models for language models: features only, and with the kernel sum."""
    from perfc_lab.trees.board import board
    from perfc_lab.trees.cache import NumberCache
    from perfc_lab.trees.experiment import compared

    scores = compared(
        data,
        complain,
        is_full=grid,
        gnn_s=gnn_s,
        cache=NumberCache(kept),
    )
    emit(board(scores).written(form, written_by(ctx)), output)


@command.command(
    "training",
    epilog=examples("eval training --data data", "eval training --data data -o training_runs.md"),
)
@tables_option
@format_options("text", "json", "markdown")
@click.pass_context
def training(ctx: click.Context, data: Path, form: str, output: Path | None) -> None:
    """Score multi-GPU training predictions: unseen models, scaling, inter-node communication."""
    from perfc_lab.distributed.scoreboard import board
    from perfc_lab.distributed.scores import gathered

    evidence = gathered(data, complain)
    emit(board(evidence, data).written(form, written_by(ctx)), output)


@command.command(
    "graph",
    epilog=examples(
        "eval graph --graphs graphs", "eval graph --graphs graphs --split family --families"
    ),
)
@lab_options("eval-graph")
@graphs_option
@format_options("text", "json", "markdown")
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
    """Score whole-model predictors on one data set."""
    from perfc.analyzers.graph.dataset import load
    from perfc.analyzers.graph.predictor import TrainingBudget
    from perfc.analyzers.whole_runs import shipped
    from perfc.view.vegalite import converter
    from perfc_lab.commands._protocols import chosen_protocols
    from perfc_lab.datasets.unlabelled import unlabelled_graphs
    from perfc_lab.tables.architectures import SEEDS
    from perfc_lab.training.graphs.bench import evaluated
    from perfc_lab.training.graphs.scoreboard import board, write_plots
    from perfc_lab.whole_runs.as_shipped import figures_as_shipped

    from ..training.graphs.cards import usable
    from ._names import chosen_quantity, of_mode
    from ._training import telling

    if plot is not None:
        # a missing package is an error before hours of training, not after
        converter("SVG")
    data = of_mode(load(graphs, dataset), mode)
    protocols, wanted = chosen_protocols(splits), chosen_quantity(quantity)
    with telling() as to:
        budget = TrainingBudget(
            limit_s=limit_s,
            folder=folder,
            scale=scale,
            progress=to.progress,
            is_faithful=faithful,
            unlabelled=unlabelled_graphs(graphs),
        )
        if models is not None:
            scores = figures_as_shipped(
                names or shipped.names(),
                data,
                protocols,
                models,
                quantity=wanted,
                seeds=seeds or SEEDS,
                budget=budget,
                families=families,
                say=to.say,
            )
        else:
            scores = evaluated(
                names or usable(to.say),
                data,
                protocols,
                quantity=wanted,
                seeds=seeds or SEEDS,
                budget=budget,
                shares=shares or (1.0,),
                families=families,
                samples=samples,
                say=to.say,
            )
    emit(board(scores).written(form, written_by(ctx)), output)
    if plot is not None:
        write_plots(scores, plot)


command.add_command(eval_command)
command.add_command(fusion_command)
command.add_command(papers_command)
