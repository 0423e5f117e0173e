"""Convert user input to enumeration members and texts, with errors that list the choices."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from perfc.errors import ParseError

E = TypeVar("E", bound=Enum)


def member(kind: type[E], name: str, option: str) -> E:
    """Return the member with this value.

    Args:
        kind: the enumeration.
        name: value of a member.
        option: option or key that has the value, for the message.

    Raises:
        ParseError: an unknown value.
    """
    # an empty value is the default
    members = {each.value: each for each in kind}
    if name in members:
        return members[name]
    hint = f"there are {', '.join(filter(None, members))}"
    raise ParseError(f"no {name!r}", where=option, hint=hint)


def text_of(value: object, where: str) -> str:
    """Return the value if it is a string.

    Raises:
        ParseError: not a string.
    """
    if not isinstance(value, str):
        raise ParseError(f"{value!r} is not a string", where=where)
    return value
