"""Declaration of a deployment field, from which its parser, its option and its help follow."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, fields
from functools import cache, partial
from typing import Any

from perfc.common.choice import E, member, text_of
from perfc.ir import record

Parser = Callable[[object, str], Any]
"""Function from a value, typed or as text, and its place in the input to the value of a field."""


@record
class Option:
    """Field of a deployment as command lines, files and keywords give it.

    Args:
        parse: parser of its values.
        help: help of the option, with the placeholders ``{names}`` and ``{default}``; "" if only
            files and keywords have the field.
        names: function that lists the valid names; None if any value is valid.
        metavar: placeholder of the value in help.
        short: short flag.
        is_switch: True for two flags without a value.
        is_repeatable: True if the option may be given several times.
        is_hidden: True if help leaves it out.
        is_of_step: True for fields of training steps.
    """

    parse: Parser
    help: str = ""
    names: Callable[[], Iterable[str]] | None = None
    metavar: str = ""
    short: str = ""
    is_switch: bool = False
    is_repeatable: bool = False
    is_hidden: bool = False
    is_of_step: bool = False


def option(default: Any, help: str = "", parse: Parser | None = None, **more: Any) -> Any:
    """Return a dataclass field that is an option; see `Option`.

    The parser and the names of an enumeration follow from a default that is one of its members.
    """
    kind: Any = type(default)
    if parse is None:
        parse = partial(one_of, kind)
        more["names"] = lambda: filter(None, (each.value for each in kind))
    return field(default=default, metadata={"option": Option(parse, help, **more)})


of_step = partial(option, is_of_step=True)
"""Return the field of a training step."""


def one_of(kind: type[E], value: object, where: str) -> E:
    """Return a member of an enumeration, given as itself or by its value."""
    return value if isinstance(value, kind) else member(kind, text_of(value, where), where)


@cache
def options_of(kind: Any) -> Mapping[str, Option]:
    """Return the options among the fields of a dataclass, in their order."""
    return {f.name: f.metadata["option"] for f in fields(kind) if f.metadata}
