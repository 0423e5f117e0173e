"""What a roofline alone is worth: measured over sustained time, by machine and kind of kernel."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from perfc.ir.op import Kind

FILE = Path(__file__).parent / "spread.toml"
ANY = "any"


@dataclass(frozen=True, slots=True)
class Spread:
    """Measured time over the sustained roofline: 5, 50 and 95 % of kernels lie below."""

    low: float
    mid: float
    high: float


@cache
def spreads() -> Mapping[str, Mapping[str, Spread]]:
    """By kind of machine and kind of kernel; made by ``benchmarks/roofline_spread.py``."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {
        machine: {
            kind: Spread(entry["low"], entry["mid"], entry["high"]) for kind, entry in kinds.items()
        }
        for machine, kinds in data.items()
        if isinstance(kinds, dict)
    }


def spread_of(machine: str, kind: Kind) -> Spread:
    """Of that kind of kernel, of all where it was not measured; GPUs stand for other machines."""
    known = spreads().get(machine, spreads()["cuda"])
    return known.get(kind.value, known[ANY])
