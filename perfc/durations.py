"""Durations as people write them, ``30us``: a number and its unit in one string."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from perfc.errors import ParseError

SECONDS: Mapping[str, float] = {
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "μs": 1e-6,
    "ns": 1e-9,
}
"""What a unit multiplies by."""
_WRITTEN = r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(\S{1,2})\s*"


def seconds_of(value: object, where: str) -> float:
    """A duration in seconds; numbers are seconds already.

    Raises:
        ParseError: no duration, a negative one, or one that does not end.

    >>> seconds_of("30us", "--host-launch")
    3e-05
    """
    hint = "as in 30us, or a number of seconds"
    if isinstance(value, int | float) and not isinstance(value, bool):
        found = float(value)
    else:
        written = re.fullmatch(_WRITTEN, value) if isinstance(value, str) else None
        if written is None or written[2] not in SECONDS:
            raise ParseError(f"{str(value)[:32]!r} is no duration", where=where, hint=hint)
        # divided, so that 30us is 3e-05 and not a hair less
        found = float(written[1]) / round(1 / SECONDS[written[2]])
    if not math.isfinite(found) or found < 0:
        raise ParseError(f"{str(value)[:32]!r} is no duration", where=where, hint=hint)
    return found
