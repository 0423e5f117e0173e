"""Print names of values and symbols: plain, or quoted if they have unusual characters."""

from __future__ import annotations

import re

# what `lexer.TOKEN` reads without quotes
_PLAIN_VALUE = re.compile(r"[A-Za-z0-9_.$]+")
_PLAIN_SYMBOL = re.compile(r"[A-Za-z_][A-Za-z0-9_]*([.$][A-Za-z0-9_]+)*")
# words of the grammar, with which a symbol would be confused
_WORDS = "_ min max true false none inf nan known type bytes dim extent graph"
_RESERVED = frozenset(_WORDS.split(" "))


def value_key(name: str) -> str:
    """Return a value's or graph's name as printed after ``%`` or ``@``."""
    if _PLAIN_VALUE.fullmatch(name):
        return name
    import json

    return json.dumps(name)


def symbol_key(name: str) -> str:
    """Return a symbol's name as printed in expressions."""
    if _PLAIN_SYMBOL.fullmatch(name) and name not in _RESERVED:
        return name
    import json

    # JSON's escapes between backquotes instead of its quotes, so a backquote is escaped as well;
    # two number signs are, since a line with them may be a command in the log of a CI pipeline
    text = re.sub("#(?=#)", r"\\u0023", json.dumps(name)[1:-1].replace("`", "\\u0060"))
    return f"`{text}`"


def symbol_name(key: str) -> str:
    """Return the name of the symbol that expressions print as ``key``.

    Raises:
        ValueError: the backquoted name contains an escape that JSON does not define.
    """
    if key[0] != "`":
        return key
    import json

    return str(json.loads(f'"{key[1:-1]}"'))
