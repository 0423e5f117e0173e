"""List the jobs of a bulk run: models of a shard, and the settings to analyze each in."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from glob import glob
from pathlib import Path
from typing import TYPE_CHECKING
from zlib import crc32

from perfc.errors import ModelError, ParseError
from perfc.frontend.reading.folder import expanded
from perfc.ir import frozen

if TYPE_CHECKING:
    from perfc.deployment import Deployment

WILDCARDS = frozenset("*?[")
"""Characters of patterns; a file that exists may have them in its name."""


@frozen
class BulkSetting:
    """One way to run every model.

    Args:
        name: unique name within the run, e.g. ``h100-sxm5-80gb batch=8``.
        deployment: how the model is run, with its target.
        values: contents of inputs that determine shapes.
    """

    name: str
    deployment: Deployment
    values: Mapping[str, object] = field(default_factory=dict)


@frozen
class ModelJob:
    """One model, with the settings to analyze it in.

    Args:
        path: file of the model.
        file_bytes: size of the file; -1 if it cannot be read.
        modified_ns: modification time of the file in nanoseconds; -1 if it cannot be read.
        settings: names of the settings.
    """

    path: str
    file_bytes: int
    modified_ns: int
    settings: tuple[str, ...]

    @property
    def version(self) -> tuple[int, int]:
        """Return size and modification time, which identify the version of the file."""
        return self.file_bytes, self.modified_ns


@frozen
class Shard:
    """One of several equal parts of the models.

    Args:
        index: number of the part, from 1.
        count: number of parts.
    """

    index: int = 1
    count: int = 1

    @classmethod
    def parse(cls, text: str) -> Shard:
        """Parse ``3/16``.

        Raises:
            ParseError: not ``INDEX/COUNT`` with 1 ≤ INDEX ≤ COUNT.
        """
        index, slash, count = text.partition("/")
        # the length bounds the conversion of digits
        is_number = index.isdecimal() and count.isdecimal() and len(text) < 20
        if not slash or not is_number or not 1 <= int(index) <= int(count):
            what = f"{text!r} is no shard"
            raise ParseError(what, where="--shard", hint="INDEX/COUNT, as in 1/16 to 16/16")
        return cls(int(index), int(count))

    def has(self, path: str) -> bool:
        """Return True if a model is of this part; other models do not change the answer."""
        # a hash of the path: stable between runs and machines, unlike `hash` of Python
        return crc32(path.encode("utf-8", "surrogateescape")) % self.count == self.index - 1

    @property
    def file_name(self) -> str:
        """Return the name of its Parquet file."""
        # zeros in front sort names of files by number
        width = len(str(self.count))
        return f"shard-{self.index:0{width}}-of-{self.count}.parquet"


def model_paths(patterns: Sequence[str]) -> Iterator[str]:
    """Yield the files that match the patterns, each once, in alphabetical order.

    Args:
        patterns: paths of files and folders, or patterns with ``*``, ``?``, ``[…]`` and ``**``.

    Raises:
        ModelError: a pattern without any file, or a folder without models.
    """
    paths: set[str] = set()
    for pattern in patterns:
        # a path that exists is taken literally, a folder as its models; a missing one is reported
        # as the failure of its job
        is_pattern = not WILDCARDS.isdisjoint(pattern) and not Path(pattern).exists()
        matching = [p for p in glob(pattern, recursive=True) if os.path.isfile(p)]
        if is_pattern and not matching:
            raise ModelError("no such files", hint="check the pattern", where=pattern)
        paths.update(matching if is_pattern else expanded([pattern]))
    yield from sorted(paths)


def jobs(paths: Iterable[str], settings: Sequence[BulkSetting], done: Done) -> Iterator[ModelJob]:
    """Yield the models that have settings without an answer.

    Args:
        paths: files of models.
        settings: all settings.
        done: versions of files by model and setting that have an answer.
    """
    names = tuple(setting.name for setting in settings)
    for path in paths:
        # an answer for another version of the file is outdated
        version, answered = version_of(path), done.get(path, {})
        missing = tuple(name for name in names if answered.get(name) != version)
        if missing:
            yield ModelJob(path, *version, missing)


def version_of(path: str) -> tuple[int, int]:
    """Return size and modification time of a file; -1 if it cannot be read."""
    try:
        status = os.stat(path)
    except OSError:
        return -1, -1
    return status.st_size, status.st_mtime_ns


Done = dict[str, dict[str, tuple[int, int]]]
"""Versions of files that have an answer, by model and setting."""
