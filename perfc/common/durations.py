"""Parse durations with units, such as ``30us``."""

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
"""Seconds per unit; the micro sign and the Greek letter are two characters."""
_WRITTEN = r"\s*(\d{1,9}(?:\.\d{1,9})?)\s*(\S{1,2})\s*"
"""A number and a unit, as ``2.5 ms``; nine digits before the point are 31 years in seconds, nine
behind it are nanoseconds."""


def seconds_of(value: object, where: str, *, is_limit: bool = False) -> float:
    """Parse a duration into seconds; plain numbers are seconds.

    Raises:
        ParseError: not a duration, negative, or infinite; a limit of zero.

    >>> seconds_of("30us", "--host-launch")
    3e-05
    """
    # texts come from an option or a file, numbers from a file or Python
    hint = f"as in 30us, {'5ms' if isinstance(value, str) else 'or a number of seconds'}"
    seconds = math.nan
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = float(value)
    written = re.fullmatch(_WRITTEN, value) if isinstance(value, str) else None
    if written is not None and written[2] in SECONDS:
        # divided by the units of a second, a whole number: 30 * 1e-6 is not the float nearest to
        # 3e-05
        seconds = float(written[1]) / round(1 / SECONDS[written[2]])
    if not math.isfinite(seconds) or seconds < 0 or (is_limit and not seconds):
        raise ParseError(f"{str(value)[:32]!r} is no duration", where=where, hint=hint)
    return seconds
