"""JSON Schemas of command output, derived from types and docstrings of the views."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import is_dataclass
from enum import Enum
from inspect import cleandoc, get_annotations
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

from perfc.view.result import Fields, Result

from ..counts import Counts
from ..memory_sections.memory import Memory
from ..sections.critical import Critical
from ..sections.summary import Summary
from ..units import Unit
from ..views import Views
from .json_form import CONVENTIONS, SCHEMA

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
    """Return the schema of a result, or of a dataclass; nested ones go to ``definitions``."""
    if issubclass(cls, Result):
        return shape_of_fields(cls.laid_out().fields, definitions)
    return shape_of_fields(Fields.every(cls), definitions)


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


def shape_of_fields(declared: Fields, definitions: dict[str, object]) -> dict[str, object]:
    """Return the schema of declared fields; nested ones are added to ``definitions``."""
    properties: dict[str, object] = {}
    schema: dict[str, object] = {
        "type": "object",
        "description": (declared.kind.__doc__ or "").partition("\n")[0],
        "properties": properties,
        "required": sorted(f.name for f in declared.of_data),
        "additionalProperties": False,
    }
    definitions[declared.kind.__name__] = schema  # before its fields, which may refer to it
    for f in declared.of_data:
        hint, words = attribute(declared.kind, f.path)
        if f.of is None:
            kind = of(hint, definitions)
        else:
            shape_of_fields(f.of, definitions)
            kind = {"$ref": f"#/$defs/{f.of.kind.__name__}"}
            if get_origin(hint) is tuple:
                kind = {"type": "array", "items": kind}
            elif NoneType in get_args(hint):
                kind = {"anyOf": [kind, {"type": "null"}]}
        properties[f.name] = {**kind, **({"description": words} if words else {})}
    return schema


def attribute(kind: Any, path: str | Callable[[Any], Any]) -> tuple[Any, str]:
    """Return the type and the description of what a field has of an object.

    Args:
        kind: class of the object.
        path: attribute with dots, or function. The type includes None if a part of it may be None.
    """
    if callable(path):
        return get_type_hints(path)["return"], first_line(path)
    is_optional, words = False, ""
    for name in path.split("."):
        owner = next(c for c in kind.__mro__ if name in {**vars(c), **get_annotations(c)})
        member = vars(owner).get(name)
        if getter := getattr(member, "fget", getattr(member, "func", None)):
            kind, words = get_type_hints(getter)["return"], first_line(getter)
        else:
            # alone, as other attributes of the class may have types that only checkers import
            alone = {"__annotations__": {name: get_annotations(owner)[name]}}
            stand_in = type(name, (), {**alone, "__module__": owner.__module__})
            kind = get_type_hints(stand_in, localns=OF_VIEWS)[name]
            words = described(owner).get(name, "")
        if NoneType in get_args(kind):
            is_optional, kind = True, get_args(kind)[0]
    return kind | None if is_optional else kind, words


def first_line(function: Callable[..., Any]) -> str:
    """Return what a function returns, in the words of its docstring."""
    return (function.__doc__ or "").partition("\n")[0].removeprefix("Return ")


def described(cls: type) -> dict[str, str]:
    """Return the description of each field from the docstring of a class."""
    _, _, text = cleandoc(cls.__doc__ or "").partition("Args:\n")
    return {m[1]: " ".join(m[2].split()) for m in _ARGUMENT.finditer(text)}
