"""Fields declared once give JSON and its schema, CSV, data frames, tables and files."""

from __future__ import annotations

import csv
import importlib
import io
import json
from enum import Enum
from pathlib import Path
from typing import ClassVar

import pytest

import perfc
from perfc.ir import record
from perfc.view.answers import RESULTS
from perfc.view.report.formats.document import Document, Section
from perfc.view.report.formats.json_schema import schema_of
from perfc.view.result import Field, Fields, Result, ResultLayout, Show, written

jsonschema = pytest.importorskip("jsonschema")


class Kind(Enum):
    """Kind of a town."""

    PORT = "port"
    INLAND = "inland"


@record
class Mayor:
    """Mayor of a town.

    Args:
        name: full name.
    """

    name: str


@record
class Town:
    """A town.

    Args:
        name: its name.
        trip_s: time to get there.
        kind: kind of the town.
        mayor: its mayor; None between elections.
        tags: words for it.
    """

    name: str
    trip_s: float
    kind: Kind
    mayor: Mayor | None
    tags: tuple[str, ...] = ()

    @property
    def far(self) -> bool:
        """Return True if the trip takes more than an hour."""
        return self.trip_s > 3600


@record
class Towns(Result):
    """Towns of a country.

    Args:
        country: name of the country.
        towns: its towns.
    """

    layout: ClassVar[str] = f"{__name__}:LAYOUT"
    country: str
    towns: tuple[Town, ...]


def document(towns: Towns) -> Document:
    return Document(towns.country, (Section("towns", "towns", (TOWN.table(towns.towns, towns),)),))


def letters(town: Town) -> int:
    """Return the letters of the name."""
    return len(town.name)


TOWN = Fields(
    Town,
    {
        "trip_s": Field(title=lambda t: f"from {t.country}"),
        "name": Field(title="town", is_key=True),
        "kind": Field(show=Show.DIFFERS),
        "mayor": Field("mayor.name", show=Show.KNOWN),
        "far": "far",
        "letters": letters,
        "tags": "tags",
        "twice": Field(lambda t: 2 * t.trip_s, title="twice", is_data=False),
    },
)
LAYOUT = ResultLayout(
    "towns/1", Fields.every(Towns, {"towns": Field(of=TOWN)}), document, rows="towns"
)
BREST = Town("Brest", 0.5, Kind.PORT, Mayor("Ann"), ("sea",))
LYON = Town("Lyon", 7200.0, Kind.INLAND, None)


def table(*towns: Town) -> list[str]:
    """Return the heads of the columns of a table of towns."""
    return [c.heading for c in TOWN.columns(towns, Towns("France", towns))]


def test_json_has_every_field_and_is_valid_under_the_schema() -> None:
    towns = Towns("France", (BREST, LYON))
    (first, second) = json.loads(written(towns, "json"))["towns"]
    assert first == {
        "trip_s": 0.5,
        "name": "Brest",
        "kind": "port",
        "mayor": "Ann",
        "far": False,
        "letters": 5,
        "tags": ["sea"],
    }
    assert second["mayor"] is None
    assert json.loads(written(towns, "json")) == json.loads(json.dumps(towns.to_dict()))
    schema = schema_of(Towns, "towns/1")
    jsonschema.validate(json.loads(written(towns, "json")), schema)
    properties = schema["$defs"]["Town"]["properties"]  # type: ignore[index]
    assert properties["mayor"] == {
        "anyOf": [{"type": "string"}, {"type": "null"}],
        "description": "full name.",
    }
    assert properties["kind"]["enum"] == ["port", "inland"]
    assert properties["far"]["description"] == "True if the trip takes more than an hour."
    assert properties["letters"] == {"type": "integer", "description": "the letters of the name."}
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**towns.to_dict(), "more": 1}, schema)


def test_csv_and_frames_have_the_fields_of_one_value() -> None:
    towns = Towns("France", (BREST, LYON))
    rows = list(csv.DictReader(io.StringIO(written(towns, "csv"))))
    assert [*rows[0]] == ["trip_s", "name", "kind", "mayor", "far", "letters"]
    assert rows[0]["far"] == "false"
    assert rows[1]["mayor"] == ""
    frame = pytest.importorskip("pandas") and towns.to_pandas()
    assert [*frame.columns] == [*rows[0]]
    assert frame["trip_s"].tolist() == [0.5, 7200.0]


def test_a_table_has_the_columns_that_tell_something() -> None:
    assert table(BREST, LYON) == ["town", "from France", "kind", "mayor", "twice"]
    assert table(BREST, BREST) == ["town", "from France", "mayor", "twice"]
    assert table(LYON, LYON) == ["town", "from France", "twice"]
    assert "500 ms" in str(Towns("France", (BREST,)))


@pytest.mark.parametrize("form", sorted({*RESULTS} - {"xlsx"}))
def test_every_format_writes_every_result(form: str, tmp_path: Path) -> None:
    hostile = Town("<b>\x1b[31m", 0.5, Kind.PORT, None)
    text = written(Towns("France", (BREST, hostile)), form)
    assert "Brest" in text
    assert "\x1b" not in text
    assert form != "html" or "<b>\N{REPLACEMENT CHARACTER}" not in text
    assert importlib.import_module(f"perfc.view.answers.{form}").__doc__
    path = tmp_path / f"towns.{'txt' if form == 'text' else form}"
    path = path.with_suffix(".md") if form == "markdown" else path
    Towns("France", (BREST, hostile)).save(path)
    assert path.read_text(encoding="utf-8") == text


def test_a_file_of_no_format_is_refused(tmp_path: Path) -> None:
    with pytest.raises(perfc.PerfcError, match=r"\.txt text"):
        Towns("France", (BREST,)).save(tmp_path / "towns.pdf")
    assert [*tmp_path.iterdir()] == []
