"""``perfc train``: fit the shipped predictors to measurements.

Each subcommand reads measured tables or data sets and writes weights or laws. Options that
`lab_options` adds are declared in ``_table.toml``.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.commands.shared.listing import examples
from perfc.common.plain_text import say
from perfc.errors import ParseError
from perfc_lab.commands._table import lab_options

from ._board_options import complain, folder_option, graphs_option, tables_option
from ._checkpoint import command as checkpoint_command
from ._gnn_llm import train_command

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


@click.group(
    "train",
    epilog=examples("train op --data data", "train graph --predictor formula --graphs graphs"),
)
def command() -> None:
    """Train predictors; their weights and cards are written in one step each."""


@command.command(
    "op", epilog=examples("train op --data data", "train op step --data data --output weights")
)
@click.argument("names", metavar="[NAME]...", nargs=-1)
@tables_option
@lab_options("train-op")
def op(names: tuple[str, ...], data: Path, output: Path | None, force: bool) -> None:
    """Fit operator predictors NAME (default: all) to every row of their tables."""
    from perfc.analyzers.artefacts.artefact import SHIPPED
    from perfc_lab.training.experiments import chosen

    from ..data.weights import check_replaceable, save

    folder = output or SHIPPED
    for experiment in chosen(names):
        # without names only predictors whose weights ship are trained
        if not names and not experiment.has_weights:
            continue
        artefact = experiment.train(
            data,
            complain,
            lambda name, schema: check_replaceable(name, schema, folder, overwrite=force),
        )
        say(str(save(artefact, folder, overwrite=force)))


def write_laws(
    file: Path, folder: Path | None, laws: Mapping[str, DataclassInstance], comment: str
) -> None:
    """Write laws to a folder, by default to the file that perfc reads."""
    from perfc.common.whole_file import write_output
    from perfc_lab.data.fitted import as_toml

    path = (folder or file.parent) / file.name
    path.parent.mkdir(parents=True, exist_ok=True)
    write_output(path, as_toml(laws, comment))
    say(str(path))


@command.command(
    "serving",
    epilog=examples("train serving --data data", "train serving --data data --output laws"),
)
@tables_option
@folder_option(
    None, "Output folder for host.toml, power.toml and offline.npz (default: the one perfc reads)."
)
def serving(data: Path, output: Path | None) -> None:
    """Fit the host overhead of serving engines to published runs."""
    from perfc.analyzers.graph.store import write_file
    from perfc.serving import host, offline, power
    from perfc_lab.serving import batch_laws
    from perfc_lab.serving.batches import fixed_batches
    from perfc_lab.serving.scores import gathered, trained, trained_boards, trained_processes

    evidence = gathered(data, complain)
    laws = trained(evidence) | batch_laws.trained(list(fixed_batches(data)))
    write_laws(host.FILE, output, laws, host.COMMENT)
    # power and offline runs are fitted with the host's overhead as known
    write_laws(power.FILE, output, trained_boards(evidence, laws), power.COMMENT)
    path = (output or offline.FILE.parent) / offline.FILE.name
    write_file(path, offline.written(trained_processes(evidence, laws)))
    say(str(path))


@command.command(
    "training",
    epilog=examples("train training --data data", "train training --data data --output laws"),
)
@tables_option
@folder_option(None, "Output folder for law.toml (default: the one perfc reads).")
def training(data: Path, output: Path | None) -> None:
    """Fit the overhead of training runs beyond kernels and links to published runs."""
    from perfc.analyzers.runs.run_law import COMMENT, FILE
    from perfc_lab.distributed.scores import gathered

    evidence = gathered(data, complain)
    write_laws(FILE, output, evidence.laws, COMMENT)


@command.command(
    "trees", epilog=examples("train trees --data data", "train trees --data data -o weights")
)
@tables_option
@click.option(
    "--passes",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder with h200/nlp*.csv.gz: also fit passes of encoders.",
)
@folder_option("weights", "Output folder for the trees and their cards.")
def trees(data: Path, passes: Path | None, output: Path) -> None:
    """Fit throughput and energy of language models to features only, as in Table 6.3."""
    from perfc_lab.trees.experiment import LEARNED_FROM
    from perfc_lab.trees.shipped.passes import pass_rows, served_rows
    from perfc_lab.trees.shipped.weights import TreeFamily, train

    rows = [row for name in LEARNED_FROM for row in served_rows(name, data)]
    paths = train(rows, output, TreeFamily.SERVED, say=complain)
    if passes is not None:
        paths += train([*pass_rows(passes)], output, TreeFamily.PASSES, say=complain)
    for path in paths:
        say(str(path))


@command.command(
    "graph",
    epilog=examples(
        "train graph --predictor formula --graphs graphs",
        "train graph --predictor formula --graphs graphs --split family",
    ),
)
@lab_options("train-graph")
@graphs_option
@folder_option("weights", "Output folder for the weights and their card.")
def graph(
    name: str,
    dataset: str,
    graphs: Path,
    split: str,
    seed: int,
    quantity: str,
    mode: str,
    limit_s: float,
    scale: float,
    faithful: bool,
    folder: Path | None,
    every_row: bool,
    f16: bool,
    output: Path,
) -> None:
    """Train a whole-model predictor on the first fold of a split, and test it on the rest.

    An interrupted training goes on from the checkpoints in --folder.
    """
    from perfc.analyzers.graph.predictor import TrainingBudget
    from perfc.analyzers.graph.weights import save
    from perfc_lab.commands._protocols import chosen_protocols
    from perfc_lab.datasets.union import load_union
    from perfc_lab.datasets.unlabelled import unlabelled_graphs
    from perfc_lab.training.graphs.bench import adapted, learned, rounded, tested
    from perfc_lab.training.graphs.protocols import folds

    from ..training.graphs.cards import card_of
    from ._names import chosen_quantity, of_mode
    from ._training import telling

    wanted = chosen_quantity(quantity)
    data = of_mode(load_union(graphs, dataset.split(",")), mode).measured(wanted)
    protocol = chosen_protocols([split])[0]
    fold = next(folds(data, protocol, (seed,)), None)
    if fold is None or not len(fold.train) or not len(fold.test):
        raise ParseError(f"{split!r} leaves nothing to train on or to test", where="--split")
    with telling() as to:
        budget = TrainingBudget(
            seed=seed,
            limit_s=limit_s,
            folder=folder,
            scale=scale,
            progress=to.progress,
            is_faithful=faithful,
            unlabelled=unlabelled_graphs(graphs),
        )
        predictor = learned(name, fold, wanted, budget, to.say)
        # rounded before it is tested, so that the card has the scores of the written weights
        predictor = rounded(predictor) if f16 else predictor
        predictor = adapted(predictor, fold)
        metrics = tested(predictor, fold)
        seen, words = fold.train, f"{protocol.value}, {fold.name}"
        # after the test: the scores on the card are of rows that were held out
        if every_row:
            seen, words = data, f"{words}; then every row"
            predictor.finish(data, budget, to.say)
    card = card_of(predictor, seen, words, metrics)
    say(str(save(predictor, card, output, is_narrow=f16)))
    say(", ".join(f"{k} {v:.4g}" for k, v in metrics.items()))


command.add_command(checkpoint_command)
command.add_command(train_command)
