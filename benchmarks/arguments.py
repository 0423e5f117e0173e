"""Command lines of the benchmarks, and the models of a folder that they name."""

from __future__ import annotations

import argparse
import csv
import sys
from pathlib import Path


def parser_of(doc: str, **defaults: object) -> argparse.ArgumentParser:
    """Return a parser with the first line of a docstring and an option for each default.

    ``cli_files=40`` adds ``--cli-files``. An option with the default False is a flag, with None a
    path, and else of the default's type.
    """
    parser = argparse.ArgumentParser(description=doc.partition("\n")[0])
    for name, default in defaults.items():
        flag = f"--{name.replace('_', '-')}"
        if default is False:
            parser.add_argument(flag, action="store_true")
        else:
            kind = Path if default is None else type(default)
            parser.add_argument(flag, type=kind, default=default)
    return parser


def index_rows(models: Path) -> list[dict[str, str]]:
    """Return the rows of the index of a folder of models, one for each file.

    Raises:
        SystemExit: there is no index.
    """
    index = models / "INDEX.csv"
    if not index.exists():
        print(f"no {index}; give the folder with --models", file=sys.stderr)
        raise SystemExit(2)
    with index.open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def sampled(rows: list[dict[str, str]], limit: int) -> list[dict[str, str]]:
    """Return an evenly spaced sample of at most ``limit`` rows; all of them for 0."""
    return rows[:: max(1, len(rows) // limit)][:limit] if limit else rows
