"""Limits as text: a number with unit, with + if relative to the baseline."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping

from perfc.common.durations import SECONDS
from perfc.ir import record
from perfc.view.report.units import Unit, quantity, share

_NUMBER = re.compile(
    r"\s*(\+)?\s*([0-9]+(?:[._][0-9]+)*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)\s*(.*?)\s*$"
)
_SI: Mapping[str, float] = {"": 1, "k": 1e3, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15}
_JOULES: Mapping[str, float] = {
    "uJ": 1e-6,
    "µJ": 1e-6,  # the micro sign, U+00B5
    "μJ": 1e-6,  # the Greek letter, U+03BC
    "mJ": 1e-3,
    "J": 1.0,
    "kJ": 1e3,
    "Wh": 3600.0,
}
_BYTES: Mapping[str, float] = {
    "B": 1,
    "kB": 1e3,
    "KB": 1e3,
    "MB": 1e6,
    "GB": 1e9,
    "TB": 1e12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}


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
        return Limit(number / 100, is_relative, unit is not Unit.SHARE, text)
    factor = scale(suffix, unit)
    if factor is None:
        raise ValueError(f"{text!r} has no unit of this kind, {example(unit)}")
    return Limit(number * factor, is_relative, False, text)


def scale(suffix: str, unit: Unit) -> float | None:
    """Return the factor of a unit; None for a unit of another quantity."""
    match unit:
        case Unit.SECOND:
            return SECONDS.get(suffix)
        case Unit.BYTE:
            return _BYTES.get(suffix)
        case Unit.JOULE:
            return _JOULES.get(suffix)
        case Unit.FLOP:
            return _SI.get(suffix.removesuffix("flop"))  # `G` and `Gflop` are the same
        case Unit.MAC:
            return _SI.get(suffix.removesuffix("mac"))
        case Unit.COUNT:
            return _SI.get(suffix)
        case _:
            return None


def example(unit: Unit) -> str:
    """Return an example of such a limit."""
    examples = {
        Unit.SECOND: "'2.5 ms' or '+3%'",
        Unit.BYTE: "'400 MiB' or '+5%'",
        Unit.JOULE: "'310 mJ' or '+5%'",
        Unit.FLOP: "'8.2 Gflop' or '+5%'",
        Unit.MAC: "'4.1 Gmac' or '+5%'",
        Unit.COUNT: "'25 M' or '+0%'",
        Unit.SHARE: "'1%'",
    }
    return f"as in {examples.get(unit, '1')}"


def written(value: float, unit: Unit, *, is_bound: bool = False) -> str:
    """Format a value for messages; ``≥`` marks a lower bound."""
    text = share(value) if unit is Unit.SHARE else quantity(value, unit)
    return f"≥ {text}" if is_bound else text
