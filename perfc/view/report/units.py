"""Units and number formats: SI for rates and counts, IEC for sizes, three digits."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from enum import Enum
from itertools import pairwise

from perfc.common.durations import SECONDS
from perfc.common.fitted import data_next_to
from perfc.ir import record


class Unit(Enum):
    """Unit of a number; the value is its suffix in names (``time_s``) and headers."""

    NONE = ""
    SECOND = "s"
    BYTE = "bytes"
    FLOP = "flop"
    MAC = "mac"
    COUNT = "count"
    FLOP_PER_S = "flop_per_s"
    OP_PER_S = "op_per_s"
    BYTE_PER_S = "bytes_per_s"
    FLOP_PER_BYTE = "flop_per_byte"
    SHARE = "share"
    RATIO = "ratio"
    JOULE = "joule"
    WATT = "watt"
    USD = "usd"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


SYMBOLS = {
    Unit.SECOND: "s",
    Unit.JOULE: "J",
    Unit.WATT: "W",
    Unit.FLOP: "flop",
    Unit.MAC: "mac",
    Unit.FLOP_PER_S: "flop/s",
    Unit.OP_PER_S: "op/s",
    Unit.BYTE_PER_S: "B/s",
}
UP = ("", "k", "M", "G", "T", "P", "E")
"""SI prefixes of large numbers, each for a factor of 1000."""
DOWN = ("", "m", "µ", "n", "p")
"""SI prefixes of small numbers, each for a factor of 1/1000."""
IEC = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
"""Units of sizes, each for a factor of 1024."""
DASH = "—"
"""Placeholder for values that are unknown or do not exist."""
LEAST_S = 1e-9
"""Shortest time that is printed, *assumed*: clocks of devices tick about once in it."""
MOST_TIMES = 100
"""Largest ratio that is printed, *assumed*: digits of larger ones say nothing more."""
LOWER_BOUND = "lower bound"
"""Label of times that no run on the machine can beat."""
INTERVAL = "90 % interval"
"""Label of prediction intervals, which hold nine of ten such runs."""


@record
class Scale:
    """Prefix and precision of a whole column."""

    factor: float
    symbol: str
    digits: int
    most: float = math.inf

    def format(self, value: float) -> str:
        """Format a scaled number; small ones are not rounded to zero."""
        scaled = value * self.factor
        if scaled > self.most:
            return f">{self.most:g}"
        text = f"{scaled:.{self.digits}f}"
        least = 10.0**-self.digits
        return f"<{least:.{self.digits}f}" if 0 < abs(scaled) < least / 2 else text


def digits_of(scaled: float) -> int:
    """Return the decimals that show three digits of ``scaled``."""
    size = abs(scaled)
    # 9.995 is the least that two decimals round to four digits, 10.00
    return 2 if size < 9.995 else 1 if size < 99.95 else 0


def prefixed(value: float, unit: Unit) -> tuple[float, str]:
    """Return the factor that scales ``value`` to 1 to 1000, and the prefixed unit.

    A value that would be rounded to 1000 of one prefix, as 999.5, has the next.
    """
    if unit is Unit.BYTE:
        size, step = abs(value), 0
        while size >= 1023.5 and step < len(IEC) - 1:
            size, step = size / 1024, step + 1
        return 1024.0**-step, IEC[step]
    name = SYMBOLS.get(unit, "")
    size, step = abs(value), 0
    if unit in (Unit.SECOND, Unit.JOULE) and 0 < size < 0.9995:
        while size < 0.9995 and step < len(DOWN) - 1:
            size, step = size * 1000, step + 1
        return 1000.0**step, DOWN[step] + name
    # times of a second and more stay in seconds
    if unit is not Unit.SECOND:
        while size >= 999.5 and step < len(UP) - 1:
            size, step = size / 1000, step + 1
        return 1000.0**-step, UP[step] + name
    return 1.0, name


def scale_of(values: Iterable[float], unit: Unit) -> Scale:
    """Return the scale of a column, which brings its largest value to 10 to 10,000.

    Times are not scaled below microseconds, as no kernel is shorter.
    """
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    if unit is Unit.SHARE:
        return Scale(100.0, "%", 1)
    if unit in (Unit.RATIO, Unit.FLOP_PER_BYTE):
        return Scale(1.0, "", 1, MOST_TIMES if unit is Unit.RATIO else math.inf)
    if unit is Unit.COUNT:
        return Scale(1.0, "", 0)
    # `prefixed` scales to 1 to 1000: of a tenth, so that the value itself is 10 to 10,000
    step = 1024 if unit is Unit.BYTE else 1000
    if unit is Unit.SECOND and largest < 0.01:  # 10,000 µs
        return Scale(1e6, "µs", 1)
    factor, symbol = prefixed(largest * step / 10_000, unit)
    is_whole = factor == 1 and unit is not Unit.SECOND
    return Scale(factor, symbol, 0 if is_whole else 1)


def quantity(value: float | None, unit: Unit) -> str:
    """Format a number with its unit: ``1.31 ms``, ``65.6 Gflop``, ``97.5 MiB``, ``12.3 %``."""
    if value is None or not math.isfinite(value):
        return DASH
    match unit:
        case Unit.SHARE:
            return share(value)
        case Unit.RATIO:
            return f"{ratio_text(value)}×"
        case Unit.FLOP_PER_BYTE:
            return f"{value:.{digits_of(value)}f} flop/B"
        case Unit.NONE:
            return f"{value:g}"
        case Unit.USD:
            return f"{value:.{digits_of(value)}f} USD" if value >= 1 else f"{value:.3g} USD"
        case Unit.SECOND if 0 < abs(value) < LEAST_S:
            return "<1 ns"
        case Unit.COUNT if abs(value) < 100_000:
            return f"{value:.0f}"
        case _:
            return _prefixed_text(value, unit)


def ratio_text(ratio: float, digits: int | None = None) -> str:
    """Format a ratio without its sign, by default with three digits: ``1.31``, ``>100``."""
    places = digits_of(ratio) if digits is None else digits
    return f">{MOST_TIMES}" if ratio > MOST_TIMES else f"{ratio:.{places}f}"


def change_text(times: float, digits: int = 1) -> str:
    """Format a ratio as a change in percent: ``+3.2 %``, ``>100 ×``."""
    if times > MOST_TIMES:
        return f"{ratio_text(times)} ×"
    return f"{round(100 * (times - 1), digits) + 0.0:+.{digits}f} %"  # no negative zero


def time_text(seconds: float | None) -> str:
    """Format a time with its unit: ``1.31 ms``."""
    return quantity(seconds, Unit.SECOND)


def size_text(nbytes: float | None) -> str:
    """Format a size in bytes with its unit: ``97.5 MiB``."""
    return quantity(nbytes, Unit.BYTE)


def time_range(low_s: float | None, high_s: float | None) -> str:
    """Format both ends of a time: ``980 µs to 1.31 ms``."""
    return f"{time_text(low_s)} to {time_text(high_s)}"


def span(low: float, high: float, unit: Unit) -> str:
    """Format an interval, with the unit once if it is the same: ``1.31 to 2.05 ms``."""
    first, last = quantity(low, unit), quantity(high, unit)
    number, _, symbol = first.rpartition(" ")
    return f"{number if last.endswith(f' {symbol}') else first} to {last}"


def share(value: float) -> str:
    """Format a percentage; small ones are not rounded to 0 %, large ones not to 100 %."""
    if not math.isfinite(value):
        return DASH
    percent = value * 100
    # limits are half a unit of the only decimal
    if 0 < percent < 0.05:
        return "<0.1 %"
    if 99.95 <= percent < 100:
        return ">99.9 %"
    return f"{percent:.0f} %" if percent in (0, 100) else f"{percent:.1f} %"


def _prefixed_text(value: float, unit: Unit) -> str:
    factor, symbol = prefixed(value, unit)
    scaled = value * factor
    digits = 0 if factor == 1 and float(value).is_integer() else digits_of(scaled)
    return f"{scaled:.{digits}f} {symbol}".rstrip()


def plural(count: int, noun: str, more: str = "") -> str:
    """Format a count with its noun: ``1 node``, ``2 nodes``; ``more`` is an irregular plural."""
    return f"{count} {noun if count == 1 else more or f'{noun}s'}"


def bucketed(values: Sequence[float], count: int) -> list[float]:
    """Reduce ``values`` to at most ``count`` numbers, each the maximum of its bucket."""
    if len(values) <= count:
        return list(values)
    edges = [i * len(values) // count for i in range(count + 1)]
    return [max(values[a:b]) for a, b in pairwise(edges)]


_NUMBER = re.compile(r"\s*(\+)?\s*([0-9]+(?:[._][0-9]+)*(?:e[+-]?[0-9]+)?)\s*(.*?)\s*$")
"""Plus of a relative limit, number, and unit."""


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
    factors = data_next_to(__file__)["factors"]
    if unit in (Unit.FLOP, Unit.MAC):
        # "8.2 G" and "8.2 Gflop" are equal
        suffix, table = suffix.removesuffix(unit.value), factors["count"]
    else:
        table = factors.get(unit.value, {})
    factor: float | None = table.get(suffix)
    return factor


def example(unit: Unit) -> str:
    """Return an example of such a limit."""
    return f"as in {data_next_to(__file__)['examples'].get(unit.value, '1')}"


def written(value: float, unit: Unit, *, is_bound: bool = False) -> str:
    """Format a value for messages; ``≥`` marks a lower bound."""
    text = share(value) if unit is Unit.SHARE else quantity(value, unit)
    return f"≥ {text}" if is_bound else text
