"""Fitted rates of a target file, and the time they give each kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING

from perfc.ir import Env, record
from perfc.machine import Machine

from .classes import Class, Term, classify
from .subject import KernelSubject, of_bound

if TYPE_CHECKING:
    from perfc.passes.roofline.roofline import KernelBound, RooflineTable

MOVES = "move"
"""The class of copies that change layout."""
HOST = "host"
"""The class of nodes that launch nothing in our reading."""
WHOLE = "run"
"""The name under which the ratios of whole runs stand."""
LOW, HIGH = "low_ratio", "high_ratio"
"""Names of a class's ratios in a target file."""


@record
class Ratios:
    """Measured over predicted time of kernels that the fit had not seen: the middle 90 %."""

    low: float
    high: float


@record
class FittedTime:
    """Time of one kernel by fitted rates.

    Args:
        time_s: all launches.
        name: the class whose rates were used.
    """

    time_s: float
    name: str


@record
class Efficiencies:
    """Fitted rates.

    Args:
        seconds: by class, what one unit of each term takes.
        samples: by class, kernels it was fitted to.
        ratios: by class, and of whole runs, how far measured times lie from predicted ones.
    """

    seconds: Mapping[str, Mapping[Term, float]]
    samples: Mapping[str, int] = field(default_factory=dict[str, int])
    ratios: Mapping[str, Ratios] = field(default_factory=dict[str, Ratios])

    @property
    def host_s(self) -> float:
        """Seconds of a node that launches no kernel in the IR."""
        return self.seconds.get(HOST, {}).get(Term.LAUNCH, 0.0)

    def name_of(self, kernel_class: Class) -> str:
        """The most specific name of a class that was measured, empty where none was."""
        return next((name for name in kernel_class.names if name in self.seconds), "")

    def kernel(self, subject: KernelSubject) -> FittedTime | None:
        """Time of one kernel, all launches; None where no class of it was ever measured."""
        kernel_class = classify(subject)
        name = self.name_of(kernel_class)
        if not name:
            return None
        rates = self.seconds[name]
        time_s = sum(q * rates.get(t, 0.0) for t, q in kernel_class.terms.items())
        return FittedTime(time_s * subject.launches + self.moved_s(subject.moved_bytes), name)

    def kernel_s(self, subject: KernelSubject) -> float | None:
        """Time of one kernel, all launches; None where no class of it was ever measured."""
        time = self.kernel(subject)
        return None if time is None else time.time_s

    def moved_s(self, nbytes: float) -> float:
        """Time of copies that change layout."""
        rates = self.seconds.get(MOVES, {})
        if nbytes <= 0:
            return 0.0
        return rates.get(Term.LAUNCH, 0.0) + nbytes * rates.get(Term.MOVED_BYTE, 0.0)

    def of(self, bound: KernelBound, env: Env) -> FittedTime | None:
        """Time of a kernel of an analysis, all launches; None where no class was ever measured."""
        if bound.kernel.helper is None:
            return self.kernel(of_bound(bound, env))
        if MOVES not in self.seconds:
            return None
        moved = bound.counts.read_bytes + bound.counts.write_bytes
        return FittedTime(self.moved_s(moved) * bound.launches, MOVES)

    def kernels(self, table: RooflineTable) -> list[FittedTime | None]:
        """Time of every kernel, not below its floor; None where no class was ever measured."""
        times: list[FittedTime | None] = []
        for bound in table.kernels:
            fitted = self.of(bound, table.env)
            if fitted is not None and fitted.time_s < bound.floor_s:
                # no prediction is below the floor
                fitted = FittedTime(bound.floor_s, fitted.name)
            times.append(fitted)
        return times

    def times(self, table: RooflineTable) -> list[float]:
        """Time of every kernel; at measured rates where no class of it was ever measured."""
        return [
            bound.time_s if fitted is None else fitted.time_s
            for bound, fitted in zip(table.kernels, self.kernels(table), strict=True)
        ]


def source_of(runtime: str) -> str:
    """Name of the source of rates fitted under the fusion table of that name."""
    return f"fit-{runtime}"


def of_machine(machine: Machine, runtime: str) -> Efficiencies | None:
    """The efficiencies in a target file, None where it has none for that fusion table."""
    terms = {t.value: t for t in Term}
    seconds: dict[str, dict[Term, float]] = {}
    sides: dict[str, dict[str, float]] = {}
    for key, rate in machine.facts.items():
        if not key.startswith("efficiency.") or rate.source != source_of(runtime):
            continue
        name, _, term = key.removeprefix("efficiency.").rpartition(".")
        if term in (LOW, HIGH):
            sides.setdefault(name, {})[term] = rate.value
            continue
        count = terms[term]
        seconds.setdefault(name, {})[count] = rate.value if count.is_time else 1 / rate.value
    ratios = {
        name: Ratios(min(side[LOW], 1.0), max(side[HIGH], 1.0))
        for name, side in sides.items()
        if len(side) == 2
    }
    return Efficiencies(seconds, ratios=ratios) if seconds else None
