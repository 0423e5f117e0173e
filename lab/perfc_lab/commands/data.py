"""``perfc data``: fetch published measurements from their repositories."""

from __future__ import annotations

from pathlib import Path

import click

from perfc.commands.shared.listing import examples
from perfc.commands.shared.names import Names
from perfc.commands.shared.output import emit
from perfc.common.plain_text import say
from perfc.errors import ParseError
from perfc_lab.commands._table import lab_options

from . import _names
from ._board_options import tables_option

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
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("data"),
    show_default=True,
    help="Output folder for tables.",
)
@lab_options("data-fetch_sources")
def fetch_sources(names: tuple[str, ...], output: Path, url: str, commit: str) -> None:
    """Clone sources NAME (default: all) and write their tables."""
    from perfc_lab.data.fetch import fetch
    from perfc_lab.data.source import sources

    known = sources()
    strange = [name for name in names if name not in known]
    if strange:
        raise ParseError(f"no source {strange[0]!r}", hint=f"there are {', '.join(known)}")
    if (url or commit) and len(names) != 1:
        raise ParseError("--url and --commit are of one source", hint="give its NAME")
    for name in names or tuple(known):
        for path in fetch(known[name], output, url, commit):
            say(str(path))


@command.command("sets", epilog=examples("data sets", "data sets --help"))
def list_sets() -> None:
    """List the data sets of whole models and their source tables."""
    from perfc_lab.datasets import datasets

    for one in datasets().values():
        say(f"{one.name:16} {one.title}")
        say(f"{'':16} {', '.join(one.files)}")


@command.command(
    "build", epilog=examples("data build timm --data data", "data build timm --data data -o graphs")
)
@click.argument("names", type=Names(_names.data_sets), metavar="NAME...", nargs=-1, required=True)
@tables_option
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("graphs"),
    show_default=True,
    help="Output folder for data sets.",
)
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

    is_whole = True
    for one in [dataset(name) for name in names]:
        one = one if unlabelled is None else one.sized(unlabelled)
        built = one.build(data, output, lambda line: say(line, is_error=True))
        for line in built.left_out:
            say(f"{one.name}: left out {line}", is_error=True)
        machines = ", ".join(built.targets) or "no machine"
        say(f"{one.name}: {len(built):,} rows of {len(built.graphs):,} graphs on {machines}")
        is_whole &= not built.left_out
    if not is_whole:
        click.get_current_context().exit(1)


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

    del name
    creator()
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
@click.option(
    "-o",
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("graphs"),
    show_default=True,
    help="Output folder for data sets.",
)
def import_graphs(path: Path, output: Path) -> None:
    """Import a data set that the authors of DIPPM, TraPPM or PerfSeer published.

    PATH is their archive or its folder. Pickles in it are read as data and never run. Files that
    cannot be read are listed, and the exit code is 1.
    """
    from perfc_lab.data.releases.reading import import_release

    is_whole = True
    for imported in import_release(path, output, lambda line: say(line, is_error=True)):
        for line in imported.left_out[:SHOWN]:
            say(f"{imported.dataset}: left out {line}", is_error=True)
        rows, graphs = len(imported), len(imported.graphs)
        machines = ", ".join(imported.targets)
        say(f"{imported.dataset}: {rows:,} rows of {graphs:,} graphs on {machines}")
        is_whole &= not imported.left_out
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
