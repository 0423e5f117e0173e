"""Read published tables as rows of kernel classes; a module of this package is a source of tables.

`perfc data fetch` writes the tables; the experiments of `training` and the fits read them here.
"""

from __future__ import annotations

import hashlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from perfc.analyzers.features.rows import DataError
from perfc.common.declared import instances
from perfc.common.extras import install
from perfc.errors import MissingExtraError
from perfc.machine import load_machine

from ..data.rows import Rows

if TYPE_CHECKING:
    import pandas as pd

    from perfc.analyzers.features.classes import Array


MODEL = "model"
"""Column of rows whose source names the model that a kernel is from, with a number for each model.
It is no parameter of a kernel class: whole models are held out by it."""


class TableSource(ABC):
    """Tables that others measured, read as rows of kernel classes.

    A source leaves out rows that its publisher or the table flags as wrong, and rows that its class
    documents, with the cause.
    """

    name: ClassVar[str]
    files: ClassVar[tuple[str, ...]]
    """Names of the Parquet files that it reads."""

    @abstractmethod
    def rows(self, folder: Path) -> Iterator[Rows]:
        """Return all usable rows, one block for each class, machine, element type and framework."""

    def digests(self, folder: Path) -> dict[str, str]:
        """Return SHA-256 of every file."""
        return digests(folder, self.files)


@cache
def sources() -> Mapping[str, TableSource]:
    """Return every source by its name."""
    return {source.name: source for source in instances(__name__, TableSource)}


def target_of(product: str) -> str:
    """Return the name of the target of a product, as drivers and tables name it.

    Raises:
        TargetError: perfc has none.
    """
    # targets are named without trademarks; of Intel's GPUs without "Intel " and " Graphics" as well
    plain = product.replace("(R)", "").replace("(TM)", "").removesuffix(" Graphics")
    return load_machine(plain.removeprefix("Intel ")).name


def number(value: Any, default: int = 0) -> int:
    """Return a cell of a table as a whole number, or ``default`` for an empty cell."""
    return default if str(value) in ("None", "nan", "<NA>") else int(value)


def text(value: Any) -> str:
    """Return a cell of a table as text, "" for an empty cell."""
    return "" if str(value) in ("None", "nan", "<NA>") else str(value)


def numbers(block: pd.DataFrame, name: str) -> Array:
    """Return a column as an array of numbers."""
    column: Array = block[name].to_numpy(np.float64)
    return column


def existing(path: Path) -> Path:
    """Return the path, if it is a file.

    Raises:
        DataError: it is not.
    """
    if not path.is_file():
        raise DataError("no such table", where=str(path), hint="perfc data fetch writes it")
    return path


def read_parquet(path: Path, columns: list[str] | None = None) -> pd.DataFrame:
    """Return a table as a data frame.

    Raises:
        DataError: no such file, or none with those columns.
        MissingExtraError: pandas or pyarrow is not installed.
    """
    existing(path)
    try:
        import pandas as pd
        import pyarrow
    except ImportError as error:
        raise MissingExtraError(
            f"reading tables needs {error.name}", hint=install("train")
        ) from None
    try:
        return pd.read_parquet(path, columns=columns)
    except (ValueError, OSError, KeyError, pyarrow.ArrowException) as error:
        line = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise DataError(f"not the table expected: {line}", where=str(path)) from None


def with_columns(path: Path, names: Sequence[str]) -> pd.DataFrame:
    """Return a table that has certain columns among others.

    Raises:
        DataError: no such file, or it lacks one of them.
        MissingExtraError: pandas or pyarrow is not installed.
    """
    frame = read_parquet(path)
    missing = [name for name in names if name not in frame.columns]
    if missing:
        raise DataError(f"no column {missing[0]!r}", where=str(path))
    return frame


def digests(folder: Path, names: Iterable[str]) -> dict[str, str]:
    """Return SHA-256 of tables by their names, for cards.

    Raises:
        DataError: one of them is not there.
    """
    result: dict[str, str] = {}
    for name in names:
        with existing(folder / name).open("rb") as stream:
            result[name] = hashlib.file_digest(stream, "sha256").hexdigest()
    return result


class RowBlock(NamedTuple):
    """Rows of one device, framework, version and type.

    ``label`` is the framework for its newest version, ``FRAMEWORK-VERSION`` for an older one.
    """

    device: str
    framework: str
    label: str
    dtype: str
    rows: pd.DataFrame


def versioned(frame: pd.DataFrame, dtype: str) -> Iterator[RowBlock]:
    """Yield blocks of a table; a framework has its plain name for its newest version on a device.

    Args:
        frame: with the columns ``device``, ``framework`` and ``version``.
        dtype: name of the column of types.
    """
    keys = ["device", "framework", "version", dtype]
    blocks = list(frame.groupby(keys, observed=True, sort=True))
    newest: dict[tuple[str, str], str] = {}
    for (device, framework, version, _), _ in blocks:
        # the largest version as text, which is the newest among those of the tables
        newest[device, framework] = max(newest.get((device, framework), ""), version)
    for (device, framework, version, kind), rows in blocks:
        superseded = version != newest[device, framework]
        label = f"{framework}-{version}" if superseded else framework
        yield RowBlock(device, framework, label, str(kind), rows)
