"""Plausible ranges of the numbers of a target file, beyond which a unit is wrong."""

from __future__ import annotations

import re
from collections.abc import Mapping

from perfc.common.fitted import data_next_to

_PLAUSIBLE: Mapping[str, tuple[float, float, str]] = data_next_to(__file__)["ends"]
"""Least and largest value and an example, by a pattern of the key."""


def implausible(key: str, value: float) -> str:
    """Return a message if a number is outside the plausible range of its key, else "".

    Args:
        key: key in the file, such as ``compute.matrix.f16.peak_flop_per_s``.
        value: number in SI units.
    """
    for name, (least, most, example) in _PLAUSIBLE.items():
        if re.search(name, key):
            if not least <= value <= most:
                return f"{key}: {value:g} is in another unit? {example}"
            return ""
    return ""
