"""``perfc data``: fetch published measurements from their repositories.

Also builds data sets of whole models from them, exports and imports graphs. Options that
`lab_options` adds are declared in ``_table.toml``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click

from perfc.commands.shared.listing import examples
from perfc.commands.shared.names import Names
from perfc.commands.shared.output import emit
from perfc.common.plain_text import say
from perfc.errors import ParseError
from perfc_lab.commands._table import lab_options

from . import _names
from ._board_options import complain, folder_option, tables_option

if TYPE_CHECKING:
    from perfc.analyzers.graph.rows import Measurements

SHOWN = 20
"""Number of files without a network that are listed."""


@click.group("data", epilog=examples("data list", "data fetch -o data"))
def command() -> None:
    """Fetch measured rows that predictors are trained on; perfc does not ship them."""


@command.command("list", epilog=examples("data list", "data list --help"))
def list_sources() -> None:
    """List the sources: repository, commit, license and tables."""
    from perfc_lab.data.source import sources

    for source in sources().values():
        say(f"{source.name:16} {source.title}")
        say(f"{'':16} {source.url} at {source.commit}, {source.licence}")
        say(f"{'':16} {', '.join(f'{t}.parquet' for t in source.tables)}")


@command.command("fetch", epilog=examples("data fetch -o data", "data fetch nnlqp -o data"))
@click.argument("names", type=Names(_names.sources), metavar="[NAME]...", nargs=-1)
@folder_option("data", "Output folder for tables.")
@lab_options("data-fetch_sources")
def fetch_sources(names: tuple[str, ...], output: Path, url: str, commit: str) -> None:
    """Clone sources NAME (default: all) and write their tables."""
    from perfc_lab.data.fetch import fetch
    from perfc_lab.data.source import sources

    known = sources()
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ParseError(f"no source {unknown[0]!r}", hint=f"there are {', '.join(known)}")
    if (url or commit) and len(names) != 1:
        raise ParseError("--url and --commit are of one source", hint="give its NAME")
    for name in names or tuple(known):
        for path in fetch(known[name], output, url, commit):
            say(str(path))


@command.command("sets", epilog=examples("data sets", "data sets --help"))
def list_sets() -> None:
    """List the data sets of whole models and their source tables."""
    from perfc_lab.datasets import datasets

    for dataset in datasets().values():
        say(f"{dataset.name:16} {dataset.title}")
        say(f"{'':16} {', '.join(dataset.files)}")


@command.command(
    "build", epilog=examples("data build timm --data data", "data build timm --data data -o graphs")
)
@click.argument("names", type=Names(_names.data_sets), metavar="NAME...", nargs=-1, required=True)
@tables_option
@folder_option("graphs", "Output folder for data sets.")
@click.option(
    "--unlabelled",
    type=click.IntRange(1, 1_000_000),
    default=None,
    metavar="N",
    help="Random graphs in data set `graphs`, in addition to model files (default: 20,000).",
)
def build(names: tuple[str, ...], data: Path, output: Path, unlabelled: int | None) -> None:
    """Encode the graphs of data sets NAME with their rows; resumes after an interruption.

    All machines, runtimes and precisions are included. Rows that cannot be built are listed with
    machine and reason, and the exit code is 1.
    """
    from perfc_lab.datasets import dataset

    chosen = [dataset(name) for name in names]
    # built one at a time, each reported before the next begins
    sized = (each if unlabelled is None else each.sized(unlabelled) for each in chosen)
    report(each.build(data, output, complain) for each in sized)


@command.command(
    "export",
    epilog=examples("data export timm --data data", "data export timm --data data --only resnet50"),
)
@click.argument("name", type=click.Choice(["timm"]))
@tables_option
@lab_options("data-export_graphs")
def export_graphs(name: str, data: Path, only: tuple[str, ...], output: Path | None) -> None:
    """Export the models of timm's benchmark without weights; resumes after an interruption.

    `perfc data build timm` reads them. Models that cannot be exported are
    listed, and the exit code is 1.
    """
    from perfc_lab.data.export import creator, export
    from perfc_lab.tables.timm import GRAPHS, models_of

    del name  # the only choice is timm
    creator()  # raises before the table is read if timm is not installed
    pairs = [(m, size) for m, size in models_of(data) if not only or m in only]
    if not pairs:
        raise ParseError("no such model in the table", where="--only")
    failed = export(pairs, output or data / GRAPHS, say)
    for file, why in failed:
        say(f"left out {file}: {why}", is_error=True)
    if failed:
        click.get_current_context().exit(1)


@command.command(
    "import", epilog=examples("data import dippm.tar", "data import dippm.tar -o graphs")
)
@click.argument("path", type=click.Path(path_type=Path))
@folder_option("graphs", "Output folder for data sets.")
def import_graphs(path: Path, output: Path) -> None:
    """Import a data set that the authors of DIPPM, TraPPM, PerfSeer or TpuGraphs published.

    PATH is their archive or its folder. Pickles in it are read as data and never run. Files that
    cannot be read are listed, and the exit code is 1.
    """
    from perfc_lab.data.releases.reading import import_release

    report(import_release(path, output, complain), SHOWN)


def report(datasets: Iterable[Measurements], shown: int | None = None) -> None:
    """Print what each data set has and what was left out; exit with 1 if something was."""
    is_whole = True
    for data in datasets:
        for line in data.left_out[:shown]:
            complain(f"{data.dataset}: left out {line}")
        machines = ", ".join(data.targets) or "no machine"
        say(f"{data.dataset}: {len(data):,} rows of {len(data.graphs):,} graphs on {machines}")
        is_whole &= not data.left_out
    if not is_whole:
        click.get_current_context().exit(1)


@command.command("stats", epilog=examples("data stats timm", "data stats timm --graphs graphs"))
@click.argument("names", type=Names(_names.data_sets), metavar="NAME...", nargs=-1, required=True)
@click.option(
    "--graphs",
    type=click.Path(path_type=Path, file_okay=False, exists=True),
    default=Path("graphs"),
    help="Folder of data sets, written by `perfc data build`.",
)
def stats(names: tuple[str, ...], graphs: Path) -> None:
    """Print the numbers of rows, graphs and machines of data sets NAME."""
    from perfc.analyzers.graph.dataset import load
    from perfc_lab.training.graphs.statistics import statistics

    for name in names:
        emit("\n".join(statistics(load(graphs, name))) + "\n", None)
