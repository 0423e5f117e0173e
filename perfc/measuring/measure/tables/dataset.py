"""Data sets of measured rows: CSV, compressed CSV or Parquet, written atomically.

`append` is `--append` of `perfc measure`. Modules that learn from the rows read them by `read` and
`records`.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, TypeVar, cast

from perfc.common.extras import required
from perfc.common.whole_file import lines_of, write_whole
from perfc.errors import ParseError
from perfc.view.report.formats import comma

from .rows import SCHEMA, MeasuredRow, ModelRow

R = TypeVar("R", MeasuredRow, ModelRow)
LARGEST_ROWS = 20_000_000
"""Maximum rows of a data set, which is in memory as a whole."""
LARGEST = 1e30
"""Limit of a measured number: products and squares of several stay finite."""


def models_file(path: Path) -> Path:
    """Return the file for rows of whole runs: ``rows-models.csv.gz`` for ``rows.csv.gz``."""
    stem, dot, endings = path.name.partition(".")
    return path.with_name(f"{stem}-models{dot}{endings}")


def check_writable(path: Path) -> None:
    """Reject a data set that could not be written, before measuring.

    Raises:
        ParseError: no such format, or no such folder.
        MissingExtraError: Parquet without pyarrow.
    """
    if path.name.endswith(".parquet"):
        pyarrow(path)
    else:
        _require_csv(path)
    if not path.absolute().parent.is_dir():
        raise ParseError("no such folder", where=str(path.parent))


def _require_csv(path: Path) -> None:
    """Reject a file that is not named as CSV; callers have handled Parquet."""
    if not path.name.endswith((".csv", ".csv.gz")):
        raise ParseError(
            "rows are written as .csv, .csv.gz or .parquet", where=str(path), hint="name it so"
        )


def append(path: Path, rows: Sequence[R]) -> None:
    """Append rows atomically to a data set: ``.csv``, ``.csv.gz`` or ``.parquet``.

    Raises:
        ParseError: no such format, or a file of other columns.
        MissingExtraError: Parquet without pyarrow.
    """
    if not rows:
        return
    old: list[R] = read(path, type(rows[0])) if path.exists() else []
    write(path, [*old, *rows])


def write(path: Path, rows: Sequence[R]) -> None:
    """Write a data set atomically.

    Raises:
        ParseError: no such format.
        MissingExtraError: Parquet without pyarrow.
    """
    write_whole(path, encoded(path, rows))


def encoded(path: Path, rows: Sequence[R]) -> bytes:
    """Encode a data set in the format of its suffix."""
    columns = [f.name for f in fields(rows[0])] if rows else []
    if path.name.endswith(".parquet"):
        arrow, parquet = pyarrow(path)
        table = arrow.table({c: [getattr(r, c) for r in rows] for c in columns})
        sink = io.BytesIO()
        parquet.write_table(table, sink, compression="zstd")
        return sink.getvalue()
    _require_csv(path)
    sink_text = io.StringIO()
    writer = csv.writer(sink_text, lineterminator="\n")
    writer.writerow(columns)
    for r in rows:
        writer.writerow([cell(getattr(r, c)) for c in columns])
    data = sink_text.getvalue().encode("utf-8")
    # no time in the header: equal rows give equal bytes
    return gzip.compress(data, mtime=0) if path.name.endswith(".gz") else data


def cell(value: object) -> object:
    """Return a value as it is written: numbers with four digits, about the accuracy of a clock."""
    if isinstance(value, float):
        # counts have all digits: below 1e15 every whole number is exact in f64
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.4g}"
    return comma.harmless(value) if isinstance(value, str) else value


def read(path: Path, kind: type[R]) -> list[R]:
    """Read the rows of a data set.

    Raises:
        ParseError: not such rows.
        MissingExtraError: Parquet without pyarrow.
    """
    # n + 2: the line of the file, which counts from 1 and has a header
    return [_row(record, kind, path, n + 2) for n, record in enumerate(records(path))]


def _row(record: Mapping[str, object], kind: type[R], path: Path, line: int) -> R:
    """Return a row of the class from a record of texts or typed values.

    Raises:
        ParseError: a column is missing, a cell is no number, or the schema is another one.
    """
    columns = fields(kind)
    present = [f for f in columns if record.get(f.name) is not None]
    missing = [f.name for f in columns if f not in present and f.default is MISSING]
    if missing:
        hint = f"{kind.__name__} has {len(columns)}"
        raise ParseError(f"no column {missing[0]}", where=str(path), hint=hint)
    try:
        values = {f.name: _typed(record[f.name], str(f.type)) for f in present}
    except ValueError as error:
        raise ParseError(str(error), where=f"{path}:{line}") from None
    if values["schema"] != SCHEMA:
        message = f"rows of schema {values['schema']}, this perfc reads {SCHEMA}"
        raise ParseError(message, where=str(path))
    return kind(**values)  # type: ignore[arg-type]


def records(path: Path) -> Iterable[Mapping[str, object]]:
    """Yield the rows as mappings.

    Raises:
        ParseError: not such a file, or too many rows.
        MissingExtraError: Parquet without pyarrow.
    """
    try:
        for n, record in enumerate(_records(path)):
            if n >= LARGEST_ROWS:
                raise ParseError("more than 20 million rows", where=str(path))
            yield record
    except (OSError, EOFError, ValueError, csv.Error) as error:
        raise ParseError(f"cannot be read: {error}", where=str(path)) from None


def _records(path: Path) -> Iterator[dict[str, object]]:
    """Yield the rows of Parquet with their types, of CSV as texts."""
    if path.name.endswith(".parquet"):
        _, parquet = pyarrow(path)
        for batch in parquet.ParquetFile(path).iter_batches():
            yield from cast("list[dict[str, object]]", batch.to_pylist())
        return
    with gzip.open(path) if path.name.endswith(".gz") else path.open("rb") as raw:
        stream = io.TextIOWrapper(cast("BinaryIO", raw), encoding="utf-8", newline="")
        yield from cast("Iterator[dict[str, object]]", csv.DictReader(lines_of(stream, str(path))))


def _typed(value: object, type_: str) -> object:
    """Convert a cell to the type of its column, by the type's name."""
    if type_ == "str":
        return str(value)
    if type_ == "int":
        return int(float(str(value)))
    number = float(str(value))
    if not abs(number) < LARGEST:
        raise ValueError(f"{value} is no measurement")
    return number


def pyarrow(path: Path) -> tuple[_Arrow, _Parquet]:
    """Return the libraries that read and write Parquet.

    Raises:
        MissingExtraError: they are not installed.
    """
    arrow = required("pyarrow", "Parquet needs pyarrow", "data", ", or use .csv.gz", str(path))
    from pyarrow import parquet

    return arrow, cast("_Parquet", parquet)


if TYPE_CHECKING:

    class _Table(Protocol):
        def to_pylist(self) -> list[object]: ...

    class _File(Protocol):
        def iter_batches(self) -> Iterator[_Table]: ...

    class _Arrow(Protocol):
        def table(self, columns: Mapping[str, Sequence[object]]) -> _Table: ...

    class _Parquet(Protocol):
        def write_table(self, table: _Table, where: io.BytesIO, compression: str) -> None: ...

        def ParquetFile(self, where: Path) -> _File: ...  # noqa: N802
