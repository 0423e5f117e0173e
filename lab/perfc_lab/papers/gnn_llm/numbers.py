"""Write counts and latencies as text, and read them from the answers of a language model.

The sample prompt of the thesis (Section 7.7.3) has ``12.5 billion`` and ``335.6 thousand``. Here
counts have three significant digits and latencies four, so that a number is read as it was written.
Text that is no such number is a failed answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite, nan
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from perfc.analyzers.features.classes import Array

# words and prefixes of powers of 1,000, from 0 on
WORDS = ("", "thousand", "million", "billion", "trillion", "quadrillion")
PREFIXES = ("", "k", "M", "G", "T", "P")
COUNT_DIGITS, LATENCY_DIGITS = 3, 4
"""Significant digits of counts and of latencies; few, as each is a token or more."""
COUNT = r"[0-9]{1,9}(?:\.[0-9]{1,9})?"
"""Pattern of a number; its length is limited, as a model wrote the text."""
# patterns of the texts of counts, FLOP and latencies
_COUNT = re.compile(rf"({COUNT})(?: ({'|'.join(WORDS[1:])}))?")
_PREFIXED = re.compile(rf"({COUNT}) ([{''.join(PREFIXES)}]?)FLOPs?")
_LATENCY = re.compile(rf"({COUNT}) ms\.?")
MS_PER_S = 1e3
"""Milliseconds per second: texts have latencies in ms."""


def significant(number: int) -> int:
    """Return a count rounded to `COUNT_DIGITS` significant digits, halves to even.

    >>> significant(335_649), significant(999_950), significant(42)
    (336000, 1000000, 42)
    """
    return round(number, min(COUNT_DIGITS - len(str(number)), 0))


def count_text(number: int) -> str:
    """Return a count as text, ``336 thousand``, with three significant digits.

    >>> count_text(865), count_text(1_040_000), count_text(999_950)
    ('865', '1.04 million', '1 million')
    """
    digits, step = _scaled(number)
    return f"{digits} {WORDS[step]}".rstrip()


def flop_text(number: int) -> str:
    """Return a number of FLOP as text, ``12.1 GFLOPs``, with three significant digits.

    >>> flop_text(12_080_000_000), flop_text(7)
    ('12.1 GFLOPs', '7 FLOPs')
    """
    digits, step = _scaled(number)
    return f"{digits} {PREFIXES[step]}FLOPs"


def _scaled(number: int) -> tuple[str, int]:
    """Return the digits of a number divided by a power of 1,000, and the exponent of that power."""
    rounded = significant(number)
    step = min((len(str(rounded)) - 1) // 3, len(WORDS) - 1)
    # a decimal number, as a binary fraction would have further digits
    text = f"{Decimal(rounded).scaleb(-3 * step):f}"
    return text.rstrip("0").rstrip(".") if "." in text else text, step


def count_of(text: str) -> int | None:
    """Return the number that `count_text` wrote; None if the text is not a whole number.

    >>> count_of("336 thousand"), count_of("3.5"), count_of("many")
    (336000, None, None)
    """
    read = _COUNT.fullmatch(text)
    return None if read is None else _whole(read[1], WORDS.index(read[2] or ""))


def flop_of(text: str) -> int | None:
    """Return the number that `flop_text` wrote; None if the text is not a whole number."""
    read = _PREFIXED.fullmatch(text)
    return None if read is None else _whole(read[1], PREFIXES.index(read[2]))


def _whole(digits: str, step: int) -> int | None:
    """Return digits times 1,000 to the power of ``step``; None if the product is a fraction."""
    number = Decimal(digits).scaleb(3 * step)
    return int(number) if number == number.to_integral_value() else None


def latency_text(time_s: float) -> str:
    """Return a latency as text, ``12.35 ms``, with four significant digits and no exponent.

    >>> latency_text(0.0123456), latency_text(23.0767), latency_text(1.2e-6)
    ('12.35 ms', '23077 ms', '0.0012 ms')

    Raises:
        ValueError: the time is not a positive number.
    """
    if not (isfinite(time_s) and time_s > 0):
        raise ValueError(f"no time: {time_s}")
    milliseconds = time_s * MS_PER_S
    # of more digits than that, "g" would write an exponent: such a latency is in whole milliseconds
    if milliseconds >= 10**LATENCY_DIGITS:
        return f"{milliseconds:.0f} ms"
    return f"{Decimal(f'{milliseconds:.{LATENCY_DIGITS}g}'):f} ms"


def latency_of(text: str) -> float | None:
    """Return the seconds of an answer; None unless it is one positive number of milliseconds.

    Another unit, a second number or a word makes the answer a failure.

    >>> latency_of("12.35 ms"), latency_of("12.35"), latency_of("12.3.5 ms"), latency_of("0 ms")
    (0.01235, None, None, None)
    """
    read = _LATENCY.fullmatch(text.strip())
    milliseconds = float(read[1]) if read else 0.0
    return milliseconds / MS_PER_S if milliseconds > 0 else None


@dataclass(frozen=True, eq=False)
class LatencyAnswers:
    """Answers of a language model as latencies.

    Args:
        time_s: latency of each answer, ``[answers]``; NaN for a malformed answer.
    """

    time_s: Array

    @property
    def failures(self) -> int:
        """Return the number of malformed answers."""
        return int(np.isnan(self.time_s).sum())

    @property
    def failure_rate(self) -> float:
        """Return the share of failures; NaN without answers."""
        return self.failures / len(self.time_s) if len(self.time_s) else nan


def latencies(answers: Iterable[str]) -> LatencyAnswers:
    """Return the latencies in the answers of a language model."""
    read = [latency_of(answer) for answer in answers]
    return LatencyAnswers(np.array([nan if s is None else s for s in read], np.float64))
