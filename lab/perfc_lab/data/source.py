"""Metadata of a public source, and the conversion of its files into tables.

A source is a file of `sources`; `perfc data fetch` checks it out and calls `convert`.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from perfc.common.declared import instances
from perfc.common.extras import install
from perfc.errors import MissingExtraError, PerfcError

if TYPE_CHECKING:
    import pandas as pd

MAX_FILE_BYTES = 1 << 30
"""Maximum bytes of a table of a source, which is read as a whole."""
_POINTER = b"version https://git-lfs.github.com/spec/v1"
"""Start of the text that Git LFS puts in the place of a large file."""


class FetchError(PerfcError):
    """A source that cannot be fetched, or files that are not what was published."""


class PublicSource(ABC):
    """One public repository at a pinned commit.

    Rows are kept as published: only units and names of columns change, and each table says what it
    leaves out.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    url: ClassVar[str]
    commit: ClassVar[str]
    earlier: ClassVar[tuple[str, ...]] = ()
    """Commits of earlier editions of its files, whose rows are added."""
    licence: ClassVar[str]
    folders: ClassVar[tuple[str, ...]]
    """Folders of the repository that hold the rows; nothing else is checked out."""
    tables: ClassVar[tuple[str, ...]]
    """Names of the tables that the source becomes."""

    @abstractmethod
    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """Return the tables in a checkout.

        Raises:
            FetchError: files are missing, or are not what was published.
        """


@cache
def sources() -> Mapping[str, PublicSource]:
    """Return sources by name: files of ``lab/perfc_lab/data/sources`` and its ``pages``."""
    from .pages import page_sources

    every = (*instances("perfc_lab.data.sources", PublicSource), *page_sources())
    return {source.name: source for source in sorted(every, key=lambda source: source.name)}


def files_in(clone: Path, *patterns: str) -> list[Path]:
    """Return the files of a checkout by name, of any of ``patterns``.

    Links that leave the checkout are not followed.

    Raises:
        FetchError: there is none.
    """
    root = clone.resolve()
    paths = sorted(
        p
        for p in {p for pattern in patterns for p in root.glob(pattern)}
        if p.is_file() and p.resolve().is_relative_to(root)
    )
    if not paths:
        raise FetchError(f"no file {patterns[0]}", where=str(clone), hint="another commit?")
    return paths


def read_table(
    path: Path, columns: Mapping[str, str], optional: Mapping[str, str] | None = None
) -> pd.DataFrame:
    """Return the ``columns`` of a CSV or Parquet file under their new names.

    Args:
        path: the file.
        columns: new names by published names.
        optional: new names of columns that the file may lack; these are then empty.

    Raises:
        FetchError: too large, a pointer to a file that was not fetched, or without those columns.
    """
    pd = pandas()
    file = checked(path)
    try:
        # with `low_memory` pandas would guess the type of a column for each piece of a file
        is_parquet = file.suffix == ".parquet"
        frame = pd.read_parquet(file) if is_parquet else pd.read_csv(file, low_memory=False)
    except (ValueError, OSError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise FetchError(f"no table: {line}", where=str(path)) from None
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise FetchError(f"no column {missing[0]!r}", where=str(path), hint="another commit?")
    # `reindex` fills optional columns that are absent with NaN
    names = {**columns, **(optional or {})}
    return frame.reindex(columns=list(names)).rename(columns=names)


def measured(frame: pd.DataFrame, path: Path, *columns: str) -> pd.DataFrame:
    """Return the rows in which every one of ``columns`` is a number.

    What was not measured is left out.

    Raises:
        FetchError: a value is no number, infinite or negative.
    """
    pd = pandas()
    for name in columns:
        try:
            values = pd.to_numeric(frame[name])
        except (ValueError, TypeError):
            raise FetchError(f"{name} has values that are no numbers", where=str(path)) from None
        wrong = values[(values < 0) | (values == float("inf"))]
        if len(wrong):
            raise FetchError(f"{name} of row {wrong.index[0]} is {wrong.iloc[0]}", where=str(path))
        frame = frame.assign(**{name: values})
    return frame.dropna(subset=list(columns)).reset_index(drop=True)


def whole_numbers(frame: pd.DataFrame, path: Path, *columns: str) -> pd.DataFrame:
    """Return a table whose ``columns`` are whole numbers; absent values stay absent.

    Raises:
        FetchError: a value is another number, or too large.
    """
    # "Int32" has absent values, "int32" has none
    whole, real = dict.fromkeys(columns, "Int32"), dict.fromkeys(columns, "float64")
    try:
        return frame.astype(real).astype(whole)
    except (TypeError, ValueError):
        raise FetchError("counts that are no whole numbers", where=str(path)) from None


def read_json(path: Path) -> object:
    """Return a JSON file.

    Raises:
        FetchError: the file is not JSON, or too large.
    """
    try:
        return json.loads(checked(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        raise FetchError("no JSON", where=str(path)) from None


def entry(value: object, path: Path, *keys: str | int) -> object:
    """Return the entry under ``keys`` in a value that :func:`read_json` read from ``path``.

    Raises:
        FetchError: there is none.
    """
    for key in keys:
        try:
            value = value[key]  # type: ignore[index]
        except (KeyError, IndexError, TypeError):
            raise FetchError(f"no entry {key!r}", where=str(path), hint="another commit?") from None
    return value


def number(value: object, path: Path, *keys: str | int) -> float:
    """Return the number under ``keys``.

    Raises:
        FetchError: there is none, or it is infinite or negative.
    """
    entry_value = entry(value, path, *keys)
    # `True` is an int in Python; NaN and infinity fail the comparison, and so does an integer of
    # hundreds of digits, which no float holds
    if (
        isinstance(entry_value, bool)
        or not isinstance(entry_value, int | float)
        or not 0 <= entry_value < 1e300
    ):
        raise FetchError(f"{keys[-1]!r} is {str(entry_value)[:40]}", where=str(path))
    return entry_value


def checked(path: Path) -> Path:
    """Return the path, after a check of the file.

    Raises:
        FetchError: the file is too large, or a pointer of Git LFS.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        raise FetchError(f"larger than {MAX_FILE_BYTES} bytes", where=str(path))
    with path.open("rb") as stream:
        if stream.read(len(_POINTER)) == _POINTER:
            raise FetchError(
                "a pointer to a large file that was not fetched",
                where=str(path),
                hint="install git-lfs, then fetch again",
            )
    return path


def pandas() -> Any:
    """Return the module of pandas, which an extra installs.

    Raises:
        MissingExtraError: it is not installed.
    """
    try:
        import pandas as pd
        import pyarrow  # noqa: F401  # reads Parquet for pandas
    except ImportError as error:
        raise MissingExtraError(f"tables need {error.name}", hint=install("train")) from None
    return pd
