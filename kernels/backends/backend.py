"""How things are measured: what a backend must offer, and what it says of its device."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from perfc.errors import PerfcError
from perfc.ir.record import record

if TYPE_CHECKING:
    from ..probe import Case, Probe
    from ..reference import Array, Inputs


class MeasurementError(PerfcError):
    """A measurement that must not be used: a wrong answer, a clock that jumps, wide spread."""


@record
class Device:
    """What is measured, as its driver or operating system describes it.

    Args:
        kind: ``cpu`` or ``cuda``.
        cores: cores that all threads together use, or streaming multiprocessors.
        memory_bytes: capacity of the device's memory.
        free_bytes: of it, what a probe may use.
        most_bytes: the largest working set measured.
        caches: bytes of each cache level as the system states it, all instances the ``cores`` have.
        features: instruction sets.
        state: what was found at the start and belongs into the file: driver, compiler, clocks.
        notes: what could not be measured as it should, and why.
    """

    kind: str
    name: str
    vendor: str
    arch: str
    cores: int
    memory_bytes: int
    free_bytes: int
    most_bytes: int
    caches: Mapping[str, int] = field(default_factory=dict[str, int])
    features: frozenset[str] = frozenset()
    clock_max_hz: float = 0.0
    state: Mapping[str, str] = field(default_factory=dict[str, str])
    notes: tuple[str, ...] = ()

    @property
    def cache_bytes(self) -> int:
        """The largest cache that the system states, 32 MiB where it states none."""
        return max(self.caches.values(), default=32 << 20)


@record
class PowerDraw:
    """What the device draws while it does something.

    Args:
        power_w: mean over the window.
        work_per_s: in the unit of the probe that ran, 0 when idle.
    """

    power_w: float
    work_per_s: float


class PreparedCase(Protocol):
    """A case with its buffers in place, ready to be timed."""

    count: float
    """What one repeat counts: multiply–accumulates, bytes, steps. See `Probe.work`."""

    def sample(self, repeats: int) -> float:
        """Seconds that so many repeats take, by the device's own clock."""
        ...

    def close(self) -> None:
        """Give the buffers back."""
        ...


class Backend(Protocol):
    """A way to run probes on one device."""

    @property
    def device(self) -> Device:
        """What is measured."""
        ...

    def refuses(self, case: Case) -> str:
        """Why it cannot measure this, empty if it can."""
        ...

    def answer(self, probe: Probe, given: Inputs) -> Array:
        """What the probe's kernel makes of the operands of its verification."""
        ...

    def prepare(self, case: Case) -> PreparedCase:
        """Allocate and fill the buffers."""
        ...

    def state(self) -> Mapping[str, float]:
        """Clocks, power and temperature now: ``clock_hz``, ``power_w``, ``temperature_c``."""
        ...

    def others(self, seconds: float) -> float | None:
        """Share of the device that other programs use while this one waits so many seconds.

        1 is all of it; None where nobody says.
        """
        ...

    def load(self, case: Case | None, seconds: float) -> PowerDraw | None:
        """Power while a case runs, idle for None; None where no counter can be read."""
        ...
