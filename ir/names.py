"""How names of values and symbols are written: as they are, or quoted where they are odd."""

from __future__ import annotations

import re

_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_.$]+")
_PLAIN_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*([.$][A-Za-z0-9_]+)*")
_WORDS = "_ min max true false none inf nan known type bytes dim extent graph"
_RESERVED = frozenset(_WORDS.split(" "))


def value_key(name: str) -> str:
    """A value's or graph's name as it stands behind ``%`` or ``@``."""
    if _PLAIN_VALUE.fullmatch(name):
        return name
    import json

    return json.dumps(name)


def symbol_key(name: str) -> str:
    """A symbol's name as expressions show it."""
    if _PLAIN_SYMBOL.fullmatch(name) and name not in _RESERVED:
        return name
    import json

    # two number signs may begin a command in a pipeline's log
    text = re.sub("#(?=#)", r"\\u0023", json.dumps(name)[1:-1].replace("`", "\\u0060"))
    return f"`{text}`"


def symbol_name(key: str) -> str:
    """The name of the symbol that expressions show as ``key``.

    Raises:
        ValueError: an escape in backquotes that JSON does not have.
    """
    if key[0] != "`":
        return key
    import json

    return str(json.loads(f'"{key[1:-1]}"'))
