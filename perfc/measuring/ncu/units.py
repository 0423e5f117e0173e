"""Numbers and units as ncu prints them: prefixes, thousands separators, the user's locale.

Source: Nsight Compute CLI manual, ``--print-units`` (automatic scaling; ``base`` turns it off).
Byte prefixes are decimal: ``Kbyte`` is 1000 bytes.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from enum import Enum
from operator import itemgetter

from perfc.common.fitted import data_next_to

MISSING, _PREFIXES, _TIMES, _COUNTS = itemgetter("missing", "prefixes", "times", "counts")(
    data_next_to(__file__)
)
"""Placeholders for missing values, and factors of prefixes and times; units of counts."""
_WORD = re.compile(r"(?P<prefix>[kmgtp]i?)?(?P<word>byte|b|hz)s?$", re.IGNORECASE)
"""A unit of bytes or of frequency, ``Gbyte`` or ``GHz``, with its prefix."""


class NumberFormat(Enum):
    """Number formats of locales, by how they write 1234.5."""

    POINT = "1,234.5"
    COMMA = "1.234,5"

    @property
    def decimal(self) -> str:
        """Return the character before the fraction."""
        return "." if self is NumberFormat.POINT else ","


_SPACES = dict.fromkeys(map(ord, " \N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}'’"))
"""Separators of thousands by locale: blanks, apostrophes of Switzerland."""
_POINTED = re.compile(r"-?(\d{1,3}(,\d{3})+|\d+)\.\d+$")
"""A number that only a decimal point makes sense of: ``1,234.5``."""
_COMMAED = re.compile(r"-?(\d{1,3}(\.\d{3})+|\d+),\d+$")
"""A number that only a decimal comma makes sense of: ``1.234,5``."""
_GROUPS = {
    NumberFormat.POINT: re.compile(r"-?\d{1,3}(,\d{3}){2,}$"),
    NumberFormat.COMMA: re.compile(r"-?\d{1,3}(\.\d{3}){2,}$"),
}
"""Two groups of thousands and more are no fraction."""
_LONG_FRACTION = {
    NumberFormat.POINT: re.compile(r"-?\d+\.(\d{1,2}|\d{4,})$"),
    NumberFormat.COMMA: re.compile(r"-?\d+,(\d{1,2}|\d{4,})$"),
}
"""Fractions of other than three digits are no group of thousands."""
_EXPONENT = re.compile(r"e[+-]?\d+$", re.IGNORECASE)
"""Exponent of a number, which shows no convention."""


def convention_of(texts: Iterable[str]) -> NumberFormat | None:
    """Return the convention that all ``texts`` follow, None where they contradict each other.

    ``1,234`` alone may be either; what is not decided anywhere is read as ``1,234.5`` would be.
    """
    seen: set[NumberFormat] = set()
    for text in texts:
        locale = evidence(_EXPONENT.sub("", text.strip().translate(_SPACES)))
        if locale is not None:
            seen.add(locale)
            if len(seen) > 1:
                return None
    return seen.pop() if seen else NumberFormat.POINT


def evidence(text: str) -> NumberFormat | None:
    """Return the convention one number shows, None where it fits both."""
    if "," in text and "." in text:
        if _POINTED.match(text):
            return NumberFormat.POINT
        return NumberFormat.COMMA if _COMMAED.match(text) else None
    # three digits behind one separator alone decide nothing
    for convention in NumberFormat:
        if _GROUPS[convention].match(text) or _LONG_FRACTION[convention].match(text):
            return convention
    return None


def number(text: str, convention: NumberFormat) -> float | None:
    """Return a value as printed; None where there is none, or it is no number."""
    text = text.strip()
    if text.lower() in MISSING:
        return None
    plain = text.translate(_SPACES).rstrip("%")
    group = "," if convention is NumberFormat.POINT else "."
    try:
        value = float(plain.replace(group, "").replace(convention.decimal, "."))
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def factor(unit: str) -> float | None:
    """Return the factor from ``unit`` to bytes, seconds, hertz or a count.

    None for an unknown unit: its value must not be used.
    """
    unit = unit.strip()
    # rates, ``Gbyte/second``: each part has its factor
    head, slash, per = unit.partition("/")
    if slash:
        above, below = factor(head), factor(per)
        return None if above is None or below is None else above / below
    if unit.lower() in _TIMES:
        return float(_TIMES[unit.lower()])
    if unit == "%":
        return 0.01
    match = _WORD.match(unit)
    if match:
        prefix = (match["prefix"] or "").lower()
        return float(_PREFIXES[prefix])
    return _count(unit.lower())


def _count(unit: str) -> float | None:
    """Return 1 for a count, as ``inst``; the prefix's factor, as of ``Kinst``; None for others."""
    if unit in _COUNTS:
        return 1.0
    return _PREFIXES.get(unit[:1]) if unit[1:] in _COUNTS and unit[1:] else None
