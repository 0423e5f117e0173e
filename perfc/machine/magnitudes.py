"""Ends of what the numbers of a target file can be: beyond them a unit has slipped."""

from __future__ import annotations

import re
from collections.abc import Mapping

_PLAUSIBLE: Mapping[str, tuple[float, float, str]] = {
    r"op_per_s$": (1e8, 1e19, "225e12 is 225 T a second"),
    r"bytes_per_s$": (1e7, 1e16, "960e9 is 960 GB/s"),
    r"^memory\.device\.(capacity|usable)_bytes$": (1e6, 1e15, "17_179_869_184 is 16 GiB"),
    r"capacity_bytes$": (1e3, 1e15, "67_108_864 is 64 MiB"),
    r"_hz$": (1e6, 1e11, "2.5e9 is 2.5 GHz"),
    r"_w$": (0.05, 1e5, "watts"),
    r"_(overhead|graph|latency)_s$": (1e-10, 0.1, "5e-6 is 5 µs"),
    r"_per_clock(_per_sm)?$": (1e-3, 1e9, "8192 operations, or bytes, a cycle"),
    r"_count$|_size$|_per_sm$|_per_block$|_per_sm_bytes$|_per_block_bytes$": (1, 1e9, "a count"),
    r"energy_per_\w+_j$": (1e-18, 1e-3, "1e-12 is 1 pJ"),
    r"_per_hour$": (1e-4, 1e6, "1.5 an hour"),
    r"_m$": (1e-10, 1e-5, "4e-9 is 4 nm"),
}
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
