"""What is known of a public source, and how its files become tables."""

from __future__ import annotations

import importlib
import pkgutil
from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from perfc.errors import MissingExtraError, PerfcError

if TYPE_CHECKING:
    import pandas as pd

MAX_FILE_BYTES = 1 << 30
_POINTER = b"version https://git-lfs.github.com/spec/v1"


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
    licence: ClassVar[str]
    folders: ClassVar[tuple[str, ...]]
    """Folders of the repository that hold the rows; nothing else is checked out."""
    tables: ClassVar[tuple[str, ...]]
    """Names of the tables it becomes."""

    @abstractmethod
    def convert(self, clone: Path) -> Mapping[str, pd.DataFrame]:
        """The tables in a checkout.

        Raises:
            FetchError: files are missing, or are not what was published.
        """


@cache
def sources() -> Mapping[str, PublicSource]:
    """Every source by its name: the files of ``perfc/data/sources``."""
    from . import sources as folder

    found: dict[str, PublicSource] = {}
    for info in pkgutil.iter_modules(folder.__path__):
        module = importlib.import_module(f"{folder.__name__}.{info.name}")
        for thing in vars(module).values():
            if (
                isinstance(thing, type)
                and issubclass(thing, PublicSource)
                and thing.__module__ == module.__name__
            ):
                found[thing.name] = thing()
    return found


def files_in(clone: Path, pattern: str) -> list[Path]:
    """Files of a checkout by name; links that leave it are not followed.

    Raises:
        FetchError: there is none.
    """
    root = clone.resolve()
    found = sorted(
        p for p in root.glob(pattern) if p.is_file() and p.resolve().is_relative_to(root)
    )
    if not found:
        raise FetchError(f"no file {pattern}", where=str(clone), hint="another commit?")
    return found


def read_table(path: Path, columns: Mapping[str, str]) -> pd.DataFrame:
    """A CSV or Parquet file with its ``columns`` renamed, those alone.

    Raises:
        FetchError: too large, a pointer to a file that was not fetched, or without those columns.
    """
    pd = pandas()
    content = checked(path)
    try:
        frame = pd.read_parquet(content) if content.suffix == ".parquet" else pd.read_csv(content)
    except (ValueError, OSError) as error:
        line = (str(error).splitlines() or [type(error).__name__])[0]
        raise FetchError(f"no table: {line}", where=str(path)) from None
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise FetchError(f"no column {missing[0]!r}", where=str(path), hint="another commit?")
    return frame[list(columns)].rename(columns=dict(columns))


def checked(path: Path) -> Path:
    """The path of a file of bounded size that is there itself.

    Raises:
        FetchError: it is not.
    """
    if path.stat().st_size > MAX_FILE_BYTES:
        raise FetchError(f"larger than {MAX_FILE_BYTES} bytes", where=str(path))
    with path.open("rb") as stream:
        if stream.read(len(_POINTER)) == _POINTER:
            raise FetchError(
                "a pointer to a large file that was not fetched", where=str(path),
                hint="install git-lfs, then fetch again",
            )  # fmt: skip
    return path


def pandas() -> Any:
    """The module, where the extra is installed.

    Raises:
        MissingExtraError: it is not.
    """
    try:
        import pandas as pd
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            f"tables need {error.name}", hint="pip install 'perfc[train]'"
        ) from None
    return pd
