"""Contents that a caller gives to inputs, as the known contents of the IR."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from perfc.errors import ParseError
from perfc.ir import Known


def known_contents(values: Mapping[str, Any] | None) -> dict[str, Known]:
    """Return the contents of inputs by their names.

    Raises:
        ParseError: ``values`` is no table by names, or `contents` refuses one of its values.
    """
    if values is not None and not isinstance(values, Mapping):
        raise ParseError(
            f"{values!r} is not a table", where="values", hint="as in {'shape': [8, 3]}"
        )
    return {name: contents(value) for name, value in (values or {}).items()}


def contents(value: Any) -> Known:
    """Return nested lists, a number or an array as the content of an input.

    Raises:
        ParseError: ragged lists, or more elements than `Known` keeps.
    """
    shape: list[int] = []
    items: list[Any] = [value]
    if hasattr(value, "tolist"):
        shape, items = value.shape, value.reshape(-1).tolist()
    else:
        # the first element of each level gives the extents; all others must have the same ones
        level = value
        while isinstance(level, list | tuple):
            shape.append(len(level))
            level = level[0] if level else None
        for extent in shape:
            if any(not isinstance(i, list | tuple) or len(i) != extent for i in items):
                raise ParseError("the lists of a value differ in length")
            items = [x for i in items for x in i]
        if any(isinstance(i, list | tuple) for i in items):
            raise ParseError("the lists of a value differ in depth")
    content = Known.of(shape, items)
    if content is None:
        raise ParseError(f"a value of {len(items)} elements is too large to drive a shape")
    return content
