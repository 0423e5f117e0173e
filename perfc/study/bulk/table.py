"""Read and write the result of a shard: one Parquet file, and parts of it while the run goes on.

Rows are written to parts, each replaced atomically; at the end the parts are merged into the file,
whose metadata names the generation of parts that come after it. So a run that is ended at any
moment leaves whole rows, and none of them twice.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfc.common.extras import required
from perfc.common.plain_text import say
from perfc.common.whole_file import replacing
from perfc.errors import ModelError, ParseError

from .answers import COLUMNS, Answer
from .jobs import Done, Shard

if TYPE_CHECKING:
    import pyarrow

METADATA = b"perfc-bulk"
"""Key of the metadata of files of ``perfc bulk``."""
MOST_HOLDER = 200
"""Maximum characters that are read of the name of the process that holds a lock."""
IDENTITY = {
    "path": "string",
    "setting": "string",
    "error": "string",
    "file_bytes": "int64",
    "modified_ns": "int64",
}
"""Columns before those of ``perfc compare``, which identify a row and its file or give the error
in place of an answer, with their types of Parquet."""
TYPES = {float: "float64", int: "int64", bool: "bool_"}
"""Types of Parquet by those of the columns of ``perfc compare``; any other is text."""
FAILURE = ["path", "setting", "error"]
"""Columns of a model, a setting, and the reason of a failure."""
VERSION = ["path", "setting", "file_bytes", "modified_ns"]
"""Columns of a model, a setting, and the version of the file that was answered."""


class ShardTable:
    """Rows of one shard in a folder.

    Args:
        folder: folder of the result; created if it does not exist.
        shard: the part of the models.
        options: what must be equal for all rows, as it is written into the file.

    Raises:
        MissingExtraError: without pyarrow.
        ParseError: the folder has rows of other options.
        ModelError: the folder or its file cannot be read or written.
    """

    def __init__(self, folder: Path, shard: Shard, options: Mapping[str, str]) -> None:
        required("pyarrow", "Parquet needs pyarrow", "data", where="bulk")
        self.options = dict(options)
        self.file = folder / shard.file_name
        self.parts = folder / f".{self.file.stem}.parts"
        try:
            folder.mkdir(parents=True, exist_ok=True)
            self.generation = self.read_generation()
            self.remove_merged_parts()
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ModelError(error.strerror or "cannot be written", where=str(folder)) from None
        self.part_count = len(self.part_files())

    @property
    def folder(self) -> Path:
        """Return the folder of the parts that the file does not contain."""
        return self.parts / str(self.generation)

    def read_generation(self) -> int:
        """Return the generation of parts that come after the file; 0 without a file."""
        if not self.file.exists():
            return 0
        meta = metadata_of(self.file)
        if meta["options"] != self.options:
            other = {**meta["options"], **self.options}
            names = [k for k in other if meta["options"].get(k) != self.options.get(k)]
            what = f"has rows of another {' and '.join(names)}"
            raise ParseError(what, where=str(self.file), hint="choose another folder with -o")
        return int(meta["generation"])

    def remove_merged_parts(self) -> None:
        """Remove parts that the file contains: the last run was ended after merging them."""
        for folder in self.parts.glob("*"):
            if folder.name != str(self.generation):
                shutil.rmtree(folder, ignore_errors=True)

    def part_files(self) -> list[Path]:
        """Return the files of the parts in order."""
        return sorted(self.folder.glob("part-*.parquet"))

    def done(self) -> Done:
        """Return the versions of files that have an answer, by model and setting."""
        versions: Done = {}
        for batch in self.batches(VERSION):
            for path, setting, nbytes, modified_ns in values_in(batch, VERSION):
                versions.setdefault(path, {})[setting] = nbytes, modified_ns
        return versions

    def errors(
        self, paths: AbstractSet[str], settings: AbstractSet[str]
    ) -> dict[tuple[str, str | None], None]:
        """Return path and error of rows of models and settings, once each; None for an answer."""
        return {
            (path, error): None
            for batch in self.batches(FAILURE)
            for path, setting, error in values_in(batch, FAILURE)
            if path in paths and setting in settings
        }

    def batches(self, columns: Sequence[str] | None = None) -> Iterator[pyarrow.RecordBatch]:
        """Yield the rows of the file and of its parts in batches."""
        from pyarrow import parquet

        present = [self.file] if self.file.exists() else []
        for path in (*present, *self.part_files()):
            yield from parquet.ParquetFile(path).iter_batches(columns=columns)

    def add(self, rows: Sequence[Answer]) -> None:
        """Write rows as the next part."""
        if rows:
            path = self.folder / f"part-{self.part_count:08}.parquet"
            self.write(path, iter([rows_table(rows)]))
            self.part_count += 1

    def merge(self) -> int:
        """Merge the parts into the file; rows of a changed model replace earlier ones.

        Returns:
            number of rows.
        """
        # `done` has the last version of each model and setting: rows of others are outdated
        newest, count = self.done(), 0

        def tables() -> Iterator[Any]:
            nonlocal count
            for batch in self.batches():
                keep = [
                    newest.get(path, {}).get(setting) == (nbytes, modified_ns)
                    for path, setting, nbytes, modified_ns in values_in(batch, VERSION)
                ]
                table = batch.filter(boolean(keep))
                count += table.num_rows
                yield table

        # a crash between these lines leaves parts of an old generation, which are not read again
        self.write(self.file, tables())
        shutil.rmtree(self.parts, ignore_errors=True)
        return count

    def write(self, path: Path, tables: Iterator[Any]) -> None:
        """Write a file of tables or batches atomically.

        Raises:
            ModelError: the file cannot be written.
        """
        import pyarrow
        from pyarrow import parquet

        # the merged file says that the parts of its generation are in it
        generation = self.generation + (path == self.file)
        meta = json.dumps({"generation": generation, "options": self.options})
        schema = row_schema().with_metadata({METADATA: meta.encode()})
        try:
            with (
                replacing(path) as part,
                parquet.ParquetWriter(part, schema, compression="zstd") as writer,
            ):
                for table in tables:
                    is_batch = isinstance(table, pyarrow.RecordBatch)
                    (writer.write_batch if is_batch else writer.write_table)(table)
        except OSError as error:
            raise ModelError(error.strerror or "cannot be written", where=str(path)) from None


@contextmanager
def locked(folder: Path, shard: Shard) -> Iterator[None]:
    """Hold the rows of a shard in a folder; wait while another run holds them, and say which.

    The system releases the lock when the process ends in whatever way, so no lock is stale.

    Raises:
        ModelError: the folder cannot be written.
    """
    try:
        import fcntl
    except ImportError:
        yield  # Windows
        return
    path = folder / f".{Path(shard.file_name).stem}.lock"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # O_NOFOLLOW: a link in a shared folder must not lead to another file
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o666)
    except OSError as error:
        raise ModelError(error.strerror or "cannot be written", where=str(folder)) from None
    with open(handle, "r+", encoding="utf-8", errors="replace") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder = file.read(MOST_HOLDER) or "another process"
            say(f"note: {folder} is written by {holder}: waiting for it", is_error=True)
            fcntl.flock(file, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks
        file.seek(0)
        file.truncate()
        file.write(f"process {os.getpid()} on {platform.node()} since {time.strftime('%F %T')}")
        file.flush()
        yield


def values_in(batch: pyarrow.RecordBatch, names: Sequence[str]) -> Iterator[tuple[Any, ...]]:
    """Yield the values of columns of each row."""
    return zip(*(batch.column(name).to_pylist() for name in names), strict=True)


def boolean(values: Sequence[bool]) -> pyarrow.BooleanArray:
    """Return values as a mask."""
    import pyarrow

    return pyarrow.array(values, type=pyarrow.bool_())


def row_schema() -> pyarrow.Schema:
    """Return the columns of the result: what identifies a row, then those of ``perfc compare``."""
    import pyarrow

    # every column of Parquet may be null
    kinds = {name: TYPES.get(kind, "string") for name, kind in COLUMNS.items()}
    kinds = {**IDENTITY, **kinds}
    return pyarrow.schema([(name, getattr(pyarrow, kind)()) for name, kind in kinds.items()])


def rows_table(rows: Sequence[Answer]) -> pyarrow.Table:
    """Return rows as a table."""
    import pyarrow

    return pyarrow.Table.from_pylist([dict(row) for row in rows], schema=row_schema())


def metadata_of(path: Path) -> Mapping[str, Any]:
    """Return the generation and the options of a file.

    Raises:
        ModelError: not a result of ``perfc bulk``.
    """
    from pyarrow import ArrowException, parquet

    try:
        texts = parquet.read_schema(path).metadata or {}
        meta = json.loads(texts[METADATA])
        return {"generation": int(meta["generation"]), "options": dict(meta["options"])}
    except (ArrowException, OSError, KeyError, ValueError, TypeError):
        what = "no result of perfc bulk"
        raise ModelError(what, where=str(path), hint="choose another folder with -o") from None
