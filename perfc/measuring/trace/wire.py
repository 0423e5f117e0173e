"""Messages of protobuf by a table of their fields, given one by one while a file is read."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from perfc.errors import ModelError, ParseError

from .facts import FEWER

Fields = dict[str, Any]
"""Fields of one message by name."""
MOST_MESSAGES = 12_000_000
"""Maximum messages of a trace, counted while it is read: a small file may unpack to many."""


def decoded(path: str, schema: str, top: str, each: str, take: Callable[[Fields], object]) -> None:
    """Decode a file, and give each message of one kind to a function when it is complete.

    Args:
        path: path of the file.
        schema: a line for each message: its name, then number, name and type of each field. The
            type is ``int``, ``text`` or a message; ``*`` follows it for a list.
        top: message that the file is.
        each: kind of message that ``take`` gets, and that the message around it does not store.
        take: called with the fields of each such message.

    Raises:
        ParseError: damaged, or cut.
    """
    from perfc.frontend.reading.wire import (
        FieldKind,
        MessageTable,
        WireDecoder,
        WireField,
        walk_file,
    )

    kinds = {"int": FieldKind.INT, "text": FieldKind.TEXT}
    messages: dict[str, MessageTable] = {}
    count = 0

    # messages are complete from the inside out; those of kind ``each`` go to the caller
    def build(name: str, _: WireDecoder, fields: Fields) -> object:
        nonlocal count
        count += 1
        if count > MOST_MESSAGES:
            raise ParseError(f"more than {MOST_MESSAGES:,} events in a trace", hint=FEWER)
        return take(fields) if name == each else fields

    for line in schema.strip().splitlines():
        name, *words = line.split()
        table: dict[int, WireField] = {}
        for number, label, type_ in zip(words[::3], words[1::3], words[2::3], strict=True):
            plain = type_.rstrip("*")
            table[int(number)] = WireField(
                label, kinds.get(plain, FieldKind.MESSAGE), plain, many=type_.endswith("*")
            )
        messages[name] = MessageTable(name, table, partial(build, name))
    try:
        walk_file(path, messages, top)
    except (ModelError, RecursionError) as error:
        what = error.message if isinstance(error, ModelError) else "nested too deeply"
        raise ParseError(f"not a whole file of protobuf: {what}", where=path) from None
