"""Limits as text: a number with unit, with + if relative to the baseline."""

from __future__ import annotations

import math
import re

from perfc.common.durations import SECONDS
from perfc.common.fitted import data_next_to
from perfc.ir import record
from perfc.view.report.units import Unit, quantity, share

_NUMBER = re.compile(r"\s*(\+)?\s*([0-9]+(?:[._][0-9]+)*(?:e[+-]?[0-9]+)?)\s*(.*?)\s*$")
"""Plus of a relative limit, number, and unit."""
_UNITS = data_next_to(__file__)
"""Factors of units and an example, by the kind of a figure."""


@record
class Limit:
    """One limit.

    Args:
        value: value in SI units; a fraction of the baseline if ``is_share``.
        is_relative: True for an increase over the baseline, False for an absolute limit.
        is_share: True if relative to the baseline's value.
        text: text of the limit.
    """

    value: float
    is_relative: bool
    is_share: bool
    text: str

    def highest(self, baseline: float | None) -> float | None:
        """Return the maximum value; None if it needs a missing baseline."""
        if not self.is_relative:
            return self.value
        if baseline is None:
            return None
        return baseline * (1 + self.value) if self.is_share else baseline + self.value


def parse_limit(text: str, unit: Unit) -> Limit:
    """Parse ``2.5 ms``, ``+3%``, ``400 MiB``, ``+2 MiB``, ``4.1 Gflop``, ``25 M``, ``1%``.

    Raises:
        ValueError: describes the error.
    """
    match = _NUMBER.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is not a number with a unit, {example(unit)}")
    is_relative, number = match[1] is not None, float(match[2].replace("_", ""))
    suffix = match[3]
    if not math.isfinite(number):
        raise ValueError(f"{text!r} is not a finite number")
    if suffix == "%":
        # shares are percentages themselves; of other metrics only an increase can be one
        if unit is not Unit.SHARE and not is_relative:
            raise ValueError(f"{text!r} has no +: a percentage is of the baseline, as in '+5%'")
        return Limit(number / 100, is_relative, is_share=unit is not Unit.SHARE, text=text)
    factor = scale(suffix, unit)
    if factor is None:
        raise ValueError(f"{text!r} has no unit of this kind, {example(unit)}")
    return Limit(number * factor, is_relative, is_share=False, text=text)


def scale(suffix: str, unit: Unit) -> float | None:
    """Return the factor of a unit; None for a unit of another quantity."""
    if unit is Unit.SECOND:
        return SECONDS.get(suffix)
    factors = _UNITS["factors"]
    if unit in (Unit.FLOP, Unit.MAC):
        # "8.2 G" and "8.2 Gflop" are equal
        suffix, table = suffix.removesuffix(unit.value), factors["count"]
    else:
        table = factors.get(unit.value, {})
    factor: float | None = table.get(suffix)
    return factor


def example(unit: Unit) -> str:
    """Return an example of such a limit."""
    return f"as in {_UNITS['examples'].get(unit.value, '1')}"


def written(value: float, unit: Unit, *, is_bound: bool = False) -> str:
    """Format a value for messages; ``≥`` marks a lower bound."""
    text = share(value) if unit is Unit.SHARE else quantity(value, unit)
    return f"≥ {text}" if is_bound else text
