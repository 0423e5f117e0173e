"""Results of commands: fields that are declared once, from which every format follows.

    class Cities(Result):
        layout = "geography.cities:LAYOUT"

    CITY = Fields(City, {
        "name": Field(title="city"),
        "area_m2": Field("land.area_m2", title="area", show=Show.KNOWN),
        "country": "land.country.name",
    })
    CITIES = Fields(Cities, {"cities": Field(of=CITY)})
    LAYOUT = ResultLayout("cities/1", CITIES, document, rows="cities")

JSON, its schema, CSV, data frames and the columns of tables are read from ``LAYOUT``. Types and
descriptions of the schema are those of the attributes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass, replace
from enum import Enum
from functools import partial
from importlib import import_module
from pathlib import Path
from pkgutil import resolve_name
from types import MappingProxyType, NoneType
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from perfc.common.extras import required
from perfc.common.formats import fitting, misnamed
from perfc.common.plain_text import shielded
from perfc.common.whole_file import write_output
from perfc.errors import ParseError
from perfc.ir import frozen, record
from perfc.view.answers import RESULTS

from .report.formats.document import UNITS, Amount, Cell, Column, Document, Table, tabulate
from .report.units import Unit

if TYPE_CHECKING:
    import pandas

WIDTH = 120
"""Columns of text outside of a terminal."""
FORMATS = "perfc.view.answers"
"""Package of the formats, a module each."""
Records: TypeAlias = tuple[list[str], list[list[Any]]]
"""Names of columns, and the cells of each row."""
PLAIN = (str, int, float, NoneType)
"""Types of cells."""


class Show(Enum):
    """Rows for which a table has the column of a field."""

    KNOWN = "known"
    """If a row has a value."""
    DIFFERS = "differs"
    """If rows have several values."""


@record
class Field:
    """A field of a result or of its rows: its value, and its column in tables.

    Args:
        path: attribute with dots, or function of the item; by default the attribute of the field's
            name. None anywhere on the path is the value.
        of: fields of the value, or of its items.
        title: heading of the column, of which a function gets the whole result.
        show: when tables have the column, of which a function gets the whole result; by default
            always if it has a title.
        text: function from an item to its cell; by default the value in ``unit``.
        unit: unit of the cell; by default that of the name.
        is_key: True for a column that tells rows apart; it comes first.
        is_name: as of `Column`.
        is_spare: as of `Column`.
        is_data: False for a column that data do not have.
        name: key of JSON and column of CSV, with the unit: ``time_s``; set by `Fields`.
    """

    path: str | Callable[[Any], Any] = ""
    of: Fields | None = None
    title: str | Callable[[Any], str] = ""
    show: Show | Callable[[Any], bool] | None = None
    text: Callable[[Any], Cell] | None = None
    unit: Unit | None = None
    is_key: bool = False
    is_name: bool = False
    is_spare: bool = False
    is_data: bool = True
    name: str = ""

    def value(self, item: object) -> Any:
        """Return the value of an item, as Python has it."""
        if callable(self.path):
            return self.path(item)
        for name in self.path.split("."):
            if item is None:
                return None
            item = getattr(item, name)
        return item

    def data(self, item: object) -> Any:
        """Return the value of an item as JSON has it, its own fields included."""
        value = self.value(item)
        if self.of is None or value is None:
            return value.value if isinstance(value, Enum) else value
        is_several = isinstance(value, tuple | list)
        return [*map(self.of.data, value)] if is_several else self.of.data(value)

    def is_shown(self, items: Sequence[object], result: object) -> bool:
        """Return True if the table of some items has the column."""
        match self.show:
            case Show.DIFFERS:
                return len({*map(self.value, items)}) > 1
            case Show.KNOWN:
                return any(self.value(item) is not None for item in items)
            case None:
                return bool(self.title)
            case wanted:
                return wanted(result)

    def cell(self, item: object) -> Cell:
        """Return the cell of an item."""
        value = self.data(item)
        unit = self.unit or UNITS.get(self.name.rpartition("_")[2])
        return Amount(value, unit) if unit else value

    def column_of(self, result: object) -> Column:
        """Return the column in the table of a result."""
        title = self.title(result) if callable(self.title) else self.title
        return Column(
            self.name,
            title or self.name,
            is_name=self.is_name,
            is_spare=self.is_spare,
            cell=self.text or self.cell,
        )


def cells(name: str, value: object) -> Iterator[tuple[str, object]]:
    """Yield a value under its name, or the fields of a record under both: ``time_s.low``."""
    if isinstance(value, PLAIN):
        yield name, value
    elif isinstance(value, Enum):
        yield name, value.value
    elif is_dataclass(value):
        for field in fields(value):
            yield from cells(f"{name}.{field.name}", getattr(value, field.name))


NOTHING: Mapping[str, Field] = MappingProxyType({})


class Fields:
    """The fields of a class, in the order of JSON and CSV.

    Args:
        kind: class of the items.
        declared: the fields by name; one that no table shows is a path or function alone.
    """

    def __init__(
        self, kind: type, declared: Mapping[str, Field | str | Callable[[Any], Any]]
    ) -> None:
        self.kind = kind
        entries = {n: f if isinstance(f, Field) else Field(f) for n, f in declared.items()}
        self.all = tuple(replace(f, name=n, path=f.path or n) for n, f in entries.items())

    @classmethod
    def every(cls, kind: Any, declared: Mapping[str, Field] = NOTHING) -> Fields:
        """Return all fields of a dataclass, of which some are declared."""
        names = (f.name for f in fields(kind))
        # an underscore that Python needs, as of ``from_``, is none of the key
        return cls(kind, {n.rstrip("_"): declared.get(n, n) for n in names})

    @property
    def of_data(self) -> list[Field]:
        """Return the fields of data formats."""
        return [f for f in self.all if f.is_data]

    def data(self, item: object) -> dict[str, Any]:
        """Return the fields of an item, as JSON has them."""
        return {f.name: f.data(item) for f in self.of_data}

    def records(self, items: Sequence[object]) -> Records:
        """Return the names of the fields that hold one value, and these of each item; no lists."""
        flat = [f for f in self.of_data if f.of is None]
        rows = [dict(c for f in flat for c in cells(f.name, f.data(item))) for item in items]
        names = dict.fromkeys(name for row in rows for name in row)
        # an unknown record of one row has fields in another
        known = [n for n in names if not any(other.startswith(f"{n}.") for other in names)]
        return known, [[row.get(name) for name in known] for row in rows]

    def columns(self, items: Sequence[object], result: object, *names: str) -> Iterator[Column]:
        """Yield the columns of a table, first those that tell items apart.

        Args:
            items: items of the table.
            result: result that has them.
            names: fields of interest; all by default.
        """
        wanted = (f for f in self.all if not names or f.name in names)
        shown = [f for f in wanted if f.is_shown(items, result)]
        for field in sorted(shown, key=lambda f: not f.is_key):
            yield field.column_of(result)

    def table(self, items: Sequence[object], result: object) -> Table:
        """Return the table of some items of a result."""
        return tabulate(self.columns(items, result), items)


@frozen
class ResultLayout:
    """Layout of the results of a class.

    Args:
        schema: name and version of the JSON document.
        declared: its fields, or the class of the result, of which they are all.
        document: function from a result, and limits of its rows, to its document.
        page: function from a result to its page with charts, ``module:name``, as pages load slowly;
            the document by default.
        rows: field with the rows of CSV and of a data frame, or function from a result to the names
            of columns and the cells of each row; without it, the result is the row.
        is_sorted: True for JSON with sorted keys.
        summary: function from a result to a few lines, for an interpreter; the text by default.
    """

    schema: str
    declared: Fields | type
    document: Callable[..., Document]
    page: str = ""
    rows: str | Callable[[Any], Records] = ""
    is_sorted: bool = False
    summary: Callable[[Any], str] = str

    @property
    def fields(self) -> Fields:
        """Return the fields of the JSON document."""
        kind = self.declared
        return kind if isinstance(kind, Fields) else Fields.every(kind)

    def records(self, result: object) -> Records:
        """Return the names of the columns of CSV, and the cells of each row."""
        if callable(self.rows):
            return self.rows(result)
        for field in self.fields.all:
            if field.name == self.rows:
                items = field.value(result)
                of = field.of or (Fields.every(type(items[0])) if items else Fields(object, {}))
                return of.records(items)
        return self.fields.records([result])


class Result:
    """Answer of a command: it prints as the command does, and is written in every format.

    Args:
        layout: its `ResultLayout`, ``module:name``, which is imported when the result is shown.
    """

    __slots__ = ()
    layout: ClassVar[str]

    @classmethod
    def laid_out(cls) -> ResultLayout:
        """Return the layout of the class."""
        layout: ResultLayout = resolve_name(cls.layout)
        return layout

    @property
    def notes(self) -> tuple[str, ...]:
        """Return what formats of rows alone have no place for."""
        return ()

    def document(self, *limits: Any) -> Document:
        """Return the result as a document, with as many rows as a command prints."""
        return self.laid_out().document(self, *limits)

    def __repr__(self) -> str:
        return self.laid_out().summary(self)

    def __str__(self) -> str:
        return written(self, "text").rstrip()

    def _repr_html_(self) -> str:
        """Return facts and tables for a notebook."""
        from .report.formats import notebook, text

        return notebook.render(text.lines(self.document(), WIDTH))

    def to_dict(self) -> dict[str, object]:
        """Return the JSON document that the command prints."""
        from .report.formats.json_form import enveloped

        layout = self.laid_out()
        return enveloped(layout.schema, layout.fields.data(self))

    def to_pandas(self) -> pandas.DataFrame:
        """Return the rows, with the columns of CSV.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        return data_frame(*self.laid_out().records(self))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result in the format of the suffix, as with ``--output``.

        Raises:
            PerfcError: an unknown suffix, or a file that cannot be written.
        """
        save(path, RESULTS, partial(content, self))


def save(
    path: str | os.PathLike[str], forms: Sequence[str], content: Callable[[str], str | bytes]
) -> None:
    """Write the content of the format of a file's suffix.

    Raises:
        PerfcError: an unknown suffix, or a file that cannot be written.
    """
    file = Path(path)
    possible = fitting(file, forms)
    if not possible:
        raise ParseError(misnamed(file, forms), where="save")
    write_output(file, content(possible[0]))


def content(result: Result, form: str, width: int = WIDTH, *limits: Any) -> str | bytes:
    """Return a result in a format: a file, or text without what would command a terminal."""
    whole: str | bytes = import_module(f"{FORMATS}.{form}").render(result, width, *limits)
    return shielded(whole) if isinstance(whole, str) else whole


def written(result: Result, form: str) -> str:
    """Return a result in a format of text or as a page."""
    whole = content(result, form)
    return whole if isinstance(whole, str) else whole.decode()


def data_frame(header: Sequence[str], rows: Sequence[Sequence[object]]) -> pandas.DataFrame:
    """Build a data frame.

    Raises:
        MissingExtraError: pandas is not installed.
    """
    pandas = required("pandas", "a data frame needs pandas", "train")
    return pandas.DataFrame.from_records(rows, columns=list(header))
