"""Fitted rates of a target file, and the time they give each kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perfc.machine import Machine

from .classes import Term, classify
from .layout import moved_bytes
from .subject import Subject, of_bound

if TYPE_CHECKING:
    from ..roofline import RooflineTable

MOVES = "move"
"""The class of copies that change layout."""
HOST = "host"
"""The class of nodes that launch nothing in our reading."""


@dataclass(frozen=True)
class Efficiencies:
    """Fitted rates.

    Args:
        seconds: by class, what one unit of each term takes.
        samples: by class, kernels it was fitted to.
    """

    seconds: Mapping[str, Mapping[Term, float]]
    samples: Mapping[str, int] = field(default_factory=dict[str, int])

    @property
    def host_s(self) -> float:
        """What a node takes that launches nothing in our reading."""
        return self.seconds.get(HOST, {}).get(Term.LAUNCH, 0.0)

    def kernel_s(self, subject: Subject) -> float | None:
        """Time of one kernel, all launches; None where no class of it was ever measured."""
        found = classify(subject)
        for name in found.names:
            rates = self.seconds.get(name)
            if rates is not None:
                time_s = sum(q * rates.get(t, 0.0) for t, q in found.terms.items())
                return time_s * subject.launches + self.moved_s(subject.moved_bytes)
        return None

    def moved_s(self, nbytes: float) -> float:
        """Time of copies that change layout."""
        rates = self.seconds.get(MOVES, {})
        if nbytes <= 0:
            return 0.0
        return rates.get(Term.LAUNCH, 0.0) + nbytes * rates.get(Term.MOVED_BYTE, 0.0)

    def times(self, table: RooflineTable, runtime: str) -> list[float]:
        """Time of every kernel; at measured rates where no class of it was ever measured.

        Args:
            table: bounds of the kernels.
            runtime: name of the fusion table that made them.
        """
        found: list[float] = []
        moves = moved_bytes([b.kernel for b in table.kernels], runtime, table.env)
        for bound, moved in zip(table.kernels, moves, strict=True):
            fitted = self.kernel_s(of_bound(bound, table.env, moved))
            # no prediction is below the floor
            found.append(bound.time_s if fitted is None else max(fitted, bound.floor_s))
        return found


def source_of(runtime: str) -> str:
    """Name of the source of rates fitted under the fusion table of that name."""
    return f"fit-{runtime}"


def of_machine(machine: Machine, runtime: str) -> Efficiencies | None:
    """The efficiencies in a target file, None where it has none for that fusion table."""
    terms = {t.value: t for t in Term}
    seconds: dict[str, dict[Term, float]] = {}
    for key, rate in machine.facts.items():
        if not key.startswith("efficiency.") or rate.source != source_of(runtime):
            continue
        name, _, term = key.removeprefix("efficiency.").rpartition(".")
        found = terms[term]
        seconds.setdefault(name, {})[found] = rate.value if found.is_time else 1 / rate.value
    return Efficiencies(seconds) if seconds else None
