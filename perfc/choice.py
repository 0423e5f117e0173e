"""A name that a user gives, as the member of an enumeration."""

from __future__ import annotations

from enum import Enum
from typing import TypeVar

from perfc.errors import ParseError

E = TypeVar("E", bound=Enum)


def member(kind: type[E], name: str, option: str) -> E:
    """The member of that value.

    Args:
        kind: the enumeration.
        name: value of a member.
        option: that the name was given to, for the message.

    Raises:
        ParseError: there is none.
    """
    for one in kind:
        if one.value == name:
            return one
    known = ", ".join(str(one.value) for one in kind)
    raise ParseError(f"no {name!r}", where=option, hint=f"there are {known}")


def text_of(value: object, where: str) -> str:
    """A string.

    Raises:
        ParseError: something else.
    """
    if not isinstance(value, str):
        raise ParseError(f"{value!r} is not a string", where=where)
    return value
