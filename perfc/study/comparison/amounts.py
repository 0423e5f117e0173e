"""Number formats for money, masses and long times."""

from __future__ import annotations

YEAR_S, DAY_S, HOUR_S, MINUTE_S = 31_557_600.0, 86_400.0, 3600.0, 60.0
"""Seconds of the units of long times; a year is Julian, 365.25 days."""


def figure(value: float) -> str:
    """Format a number with three digits and thousands separators.

    >>> figure(1234.5), figure(0.012345), figure(12.345), figure(0.0)
    ('1,234', '0.0123', '12.3', '0')
    """
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.3g}"


def mass(grams: float) -> str:
    """Format a mass with a suitable unit.

    >>> mass(0.5), mass(1500.0), mass(2.5e6)
    ('500 mg', '1.5 kg', '2.5 t')
    """
    for limit, scale, unit in ((1.0, 1e3, "mg"), (1e3, 1.0, "g"), (1e6, 1e-3, "kg")):
        if grams < limit:
            return f"{figure(grams * scale)} {unit}"
    return f"{figure(grams * 1e-6)} t"


def span(seconds: float) -> str:
    """Format a duration with a suitable unit.

    >>> span(30.0), span(5400.0), span(2 * 86400.0), span(4e7)
    ('30 s', '1.5 h', '2 days', '1.27 years')
    """
    for limit, scale, unit in (
        (MINUTE_S, 1.0, "s"),
        (HOUR_S, MINUTE_S, "min"),
        (DAY_S, HOUR_S, "h"),
        (YEAR_S, DAY_S, "days"),
    ):
        if seconds < limit:
            return f"{figure(seconds / scale)} {unit}"
    return f"{figure(seconds / YEAR_S)} years"
