"""Ends of what the numbers of a target file can be: beyond them a unit has slipped."""

from __future__ import annotations

import re
from collections.abc import Mapping

from perfc.common.fitted import data_next_to

_PLAUSIBLE: Mapping[str, tuple[float, float, str]] = data_next_to(__file__)["ends"]
"""Ends of numbers, and an example, by the end of their name."""


def implausible(key: str, value: float) -> str:
    """Say that a number is out of all proportion, empty where it is not.

    Args:
        key: ``compute.matrix.f16.peak_flop_per_s``.
        value: in SI base units.
    """
    for name, (least, most, example) in _PLAUSIBLE.items():
        if re.search(name, key):
            if not least <= value <= most:
                return f"{key}: {value:g} is in another unit? {example}"
            return ""
    return ""
