"""JSON output, schema ``perfc-report/1``: every view, with sorted keys."""

from __future__ import annotations

import json
import math
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import TYPE_CHECKING

from perfc.common.version import __version__

from .document import Amount

if TYPE_CHECKING:
    from ..views import Views

SCHEMA = "perfc-report/1"
CONVENTIONS = {
    "flop": "1 mac = 2 flop; flop = 2 * mac + vector operations + special functions",
    "mac": "one multiply-accumulate",
    "traffic": "compulsory bytes: read once, written once, what stays inside a kernel not counted",
    "units": "SI base units; a share of 1 is the whole",
    "bound": "is_bound marks a lower bound: the truth may be larger",
    "formula": "over the symbols of assumptions.symbols; a // b is the floor of a / b",
}


def render(views: Views) -> str:
    """Return the JSON document as text."""
    return json.dumps(tree(views), indent=2, sort_keys=True, allow_nan=False) + "\n"


def tree(views: Views) -> dict[str, object]:
    """Return the JSON document as dicts and lists."""
    return {**enveloped(SCHEMA, views), "conventions": CONVENTIONS}


def enveloped(schema: str, views: object) -> dict[str, object]:
    """Return views as a document with its schema and the version of perfc."""
    body = plain(views)
    assert isinstance(body, dict)
    return {"schema": schema, "perfc": __version__, **body}


def document_text(schema: str, views: object, *, sort_keys: bool = False) -> str:
    """Return views as the indented text of a document with its schema."""
    body = enveloped(schema, views)
    return json.dumps(body, indent=2, sort_keys=sort_keys, allow_nan=False) + "\n"


def strict(tree: object, indent: int | None = None) -> str:
    """Serialize dicts, lists and views as strict JSON; numbers that are not finite become null."""
    separators = (",", ":") if indent is None else None
    return json.dumps(plain(tree), indent=indent, separators=separators, allow_nan=False)


def key_of(name: str) -> str:
    """Return the JSON name of a field: ``from_`` without the underscore that Python needs."""
    return name.rstrip("_")


def plain(value: object) -> object:
    """Convert a value of a view to JSON types; numbers that are not finite become null."""
    match value:
        case str() | int() | None:  # truth values are integers too
            return value
        case Amount():
            return {
                "value": plain(value.value),
                "unit": value.unit.value,
                "formula": None if value.formula is None else str(value.formula),
                "is_bound": value.is_bound,
            }
        case float():
            return value if math.isfinite(value) else None
        case Enum():
            return plain(value.value)
        case dict():
            return {str(k): plain(v) for k, v in value.items()}
        case tuple() | list():
            return [plain(v) for v in value]
        case _ if is_dataclass(value):
            return {key_of(f.name): plain(getattr(value, f.name)) for f in fields(value)}
        case _:
            raise TypeError(f"no JSON form of {type(value).__name__}")
