"""Read ranges of symbols in the syntax of the command line, such as ``batch=1:256:*2``."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeAlias

from perfc.errors import ParseError
from perfc.ir import record

MAX_POINTS = 4096
"""Maximum points of a sweep, each of which is analyzed."""


Sizes: TypeAlias = int | str | Iterable[int]
"""Sizes of one symbol: a number, a range in the syntax of the command line, or numbers."""


@record
class Axis:
    """A symbol and its values, ascending."""

    name: str
    values: tuple[int, ...]


def parse_axes(bindings: Iterable[str]) -> tuple[Axis, ...]:
    """Parse axes from ``batch=1:256``, ``batch=1:256:8``, ``batch=1:256:*2``, ``seq=128,512,2048``.

    Raises:
        ParseError: for an invalid, empty or repeated range, or more than ``MAX_POINTS`` points.
    """
    texts: dict[str, list[str]] = {}
    name = ""
    # a part without a name continues the list of the name before it: seq=128,512
    for part in ",".join(bindings).split(","):
        head, equals, value = part.rpartition("=")
        if equals:
            name = head.strip()
            if name in texts:
                raise ParseError(f"{name!r} is given twice", where="--dim")
        if not name or not value.strip():
            raise _range_error(part)
        texts.setdefault(name, []).append(value.strip())
    axes = tuple(
        Axis(n, tuple(sorted({v for text in ts for v in _values(text)}))) for n, ts in texts.items()
    )
    if math.prod(len(a.values) for a in axes) > MAX_POINTS:
        raise ParseError(
            f"more than {MAX_POINTS} points", where="--dim", hint="give a step: 1:256:*2"
        )
    return axes


def axes_of(sizes: Mapping[str, Sizes]) -> tuple[Axis, ...]:
    """Return the axes of sizes by name.

    Raises:
        ParseError: as `parse_axes`.
    """
    return parse_axes(
        f"{name}={size if isinstance(size, int | str) else ','.join(map(str, size))}"
        for name, size in sizes.items()
    )


def _range_error(text: str) -> ParseError:
    """Return the error for a text that is no range."""
    return ParseError(
        f"{text!r} is not NAME=FIRST:LAST[:STEP]", where="--dim", hint="as in batch=1:256:*2"
    )


def _values(text: str) -> Iterator[int]:
    """Yield the values of ``FIRST``, ``FIRST:LAST`` or ``FIRST:LAST:STEP``; ``*`` multiplies."""
    parts = text.split(":")
    step = parts[2] if len(parts) == 3 else "1"
    numbers = [*parts[:2], step.removeprefix("*")]
    # no size has more than 12 digits, and Python does not convert thousands of them
    if len(parts) > 3 or any(not n.isdecimal() or len(n) > 12 for n in numbers):
        raise _range_error(text)
    # a single value is first and last
    first, last, by = int(parts[0]), int(parts[:2][-1]), int(numbers[-1])
    is_product = step.startswith("*")
    # a step that does not grow would never end
    if first > last or by < (2 if is_product else 1) or (is_product and first < 1):
        raise ParseError(f"{text!r} has no values", where="--dim", hint="FIRST:LAST:STEP ascend")
    if not is_product and (last - first) // by >= MAX_POINTS:
        raise ParseError(
            f"more than {MAX_POINTS} points", where="--dim", hint="give a step: 1:256:*2"
        )
    value = first
    while value <= last:
        yield value
        value = value * by if is_product else value + by
