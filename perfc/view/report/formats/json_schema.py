"""JSON Schemas of command output, derived from types and docstrings of the views."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import cleandoc
from types import NoneType, UnionType
from typing import Union, get_args, get_origin, get_type_hints

from ..counts import Counts
from ..memory_sections.memory import Memory
from ..sections.critical import Critical
from ..sections.summary import Summary
from ..units import Unit
from ..views import Views
from .json_form import CONVENTIONS, SCHEMA, key_of

DIALECT = "https://json-schema.org/draft/2020-12/schema"
_ARGUMENT = re.compile(r"^    (\w+): (.*(?:\n        .*)*)", re.MULTILINE)
"""Fields with their words in a docstring of Google's style, as descriptions of the schema."""

OF_VIEWS = {cls.__name__: cls for cls in (Counts, Critical, Memory, Summary)}
"""Types that `views` imports for type checkers only, so that its hints do not resolve to them."""
AMOUNT: dict[str, object] = {
    "type": "object",
    "description": "A number with its unit and its symbolic formula.",
    "properties": {
        "value": {
            "type": ["number", "null"],
            "description": "Value at the sizes of the symbols; null if unknown.",
        },
        "unit": {"enum": [u.value for u in Unit], "description": "Unit of the value."},
        "formula": {
            "type": ["string", "null"],
            "description": "Formula over the symbols; null without a closed form.",
        },
        "is_bound": {"type": "boolean", "description": "True for a lower bound."},
    },
    "required": ["formula", "is_bound", "unit", "value"],
    "additionalProperties": False,
}


def schema() -> dict[str, object]:
    """Return the schema of ``perfc analyze --output-format json``, draft 2020-12."""
    conventions = {
        "type": "object",
        "description": "How to read the numbers.",
        "properties": {k: {"const": v} for k, v in CONVENTIONS.items()},
        "required": sorted(CONVENTIONS),
        "additionalProperties": False,
    }
    return schema_of(Views, SCHEMA, {"conventions": conventions})


def schema_of(
    cls: type, identifier: str, also: Mapping[str, dict[str, object]] | None = None
) -> dict[str, object]:
    """Return the schema of a document of ``json_form.enveloped``, draft 2020-12.

    Args:
        cls: type of the views.
        identifier: schema named in the document, ``perfc-report/1``.
        also: additional properties.
    """
    definitions: dict[str, object] = {"Amount": AMOUNT}
    views = shape(cls, definitions)
    del definitions[cls.__name__]  # the document is the root itself
    properties = views["properties"]
    assert isinstance(properties, dict)
    properties |= {
        "schema": {"const": identifier},
        "perfc": {"type": "string", "description": "Version of the program."},
        **(also or {}),
    }
    name, _, version = identifier.removeprefix("perfc-").partition("/")
    return {
        "$schema": DIALECT,
        "$id": f"urn:perfc:{name}:{version}",
        "title": identifier,
        "$defs": dict(sorted(definitions.items())),
        **views,
        "required": sorted(properties),
    }


def shape(cls: type, definitions: dict[str, object]) -> dict[str, object]:
    """Return the schema of a dataclass; nested ones are added to ``definitions``."""
    hints = get_type_hints(cls, localns=OF_VIEWS)
    words = described(cls)
    properties: dict[str, object] = {}
    schema: dict[str, object] = {
        "type": "object",
        "description": (cls.__doc__ or "").partition("\n")[0],
        "properties": properties,
        "required": sorted(key_of(f.name) for f in fields(cls)),
        "additionalProperties": False,
    }
    definitions[cls.__name__] = schema  # before its fields, which may refer to it
    for f in fields(cls):
        described_as = {"description": words[f.name]} if f.name in words else {}
        properties[key_of(f.name)] = {**of(hints[f.name], definitions), **described_as}
    return schema


def of(hint: object, definitions: dict[str, object]) -> dict[str, object]:
    """Return the schema of a type annotation."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in (Union, UnionType):
        kinds = [of(a, definitions) for a in arguments if a is not NoneType]
        return {"anyOf": [*kinds, {"type": "null"}]} if NoneType in arguments else {"anyOf": kinds}
    if origin is tuple:
        # tuples of views have any length and one type
        return {"type": "array", "items": of(arguments[0], definitions)}
    if origin in (dict, Mapping):
        return {"type": "object", "additionalProperties": of(arguments[1], definitions)}
    if isinstance(hint, type) and is_dataclass(hint):
        if hint.__name__ not in definitions:
            shape(hint, definitions)
        return {"$ref": f"#/$defs/{hint.__name__}"}
    if hint is object:
        return {}
    if isinstance(hint, type) and issubclass(hint, Enum):
        values = [m.value if isinstance(m.value, str) else m.name.lower() for m in hint]
        return {"enum": values}
    names = {str: "string", bool: "boolean", int: "integer", float: "number"}
    if isinstance(hint, type) and hint in names:
        return {"type": names[hint]}
    raise TypeError(f"no schema of {hint}")


def described(cls: type) -> dict[str, str]:
    """Return the description of each field from the docstring of a class."""
    _, _, text = cleandoc(cls.__doc__ or "").partition("Args:\n")
    return {m[1]: " ".join(m[2].split()) for m in _ARGUMENT.finditer(text)}
