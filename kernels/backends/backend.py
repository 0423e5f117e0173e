"""Interface of measurement backends and the description of their devices."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Protocol

from perfc.errors import PerfcError
from perfc.ir import record

if TYPE_CHECKING:
    from ..probe import Case, Probe
    from ..reference import Array, Inputs


class MeasurementError(PerfcError):
    """A measurement that must not be used: a wrong answer, a clock that jumps, a wide spread."""


@record
class Device:
    """The measured device, as its driver or operating system describes it.

    Args:
        kind: ``cpu`` or ``cuda``.
        cores: number of cores that all threads together use, or of streaming multiprocessors.
        memory_bytes: capacity of the device's memory.
        free_bytes: the part that a probe may use.
        most_bytes: the largest working set measured.
        caches: bytes of each cache level by the system, of all instances that the ``cores`` have.
        features: instruction sets.
        state: properties at the start that the file records: driver, compiler, clocks.
        notes: limitations of the measurement, and their reasons.
    """

    kind: str
    name: str
    vendor: str
    arch: str
    cores: int
    memory_bytes: int
    free_bytes: int
    most_bytes: int
    caches: Mapping[str, int] = field(default_factory=dict)
    features: frozenset[str] = frozenset()
    clock_max_hz: float = 0.0
    state: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def cache_bytes(self) -> int:
        """Return the largest cache by the system, 32 MiB if it reports none.

        Sweeps of eight times that reach 256 MiB, which is beyond most caches.
        """
        return max(self.caches.values(), default=0) or 32 << 20


@record
class PowerDraw:
    """Power that the device draws under a load.

    Args:
        power_w: mean over the window.
        work_per_s: in the unit of the probe that ran, 0 when idle.
    """

    power_w: float
    work_per_s: float


class PreparedCase(Protocol):
    """A case with its buffers in place, ready to be timed."""

    count: float
    """Count of one repeat: multiply–accumulates, bytes, steps. See `Probe.work`."""

    def sample(self, repeats: int) -> float:
        """Return the seconds that ``repeats`` repeats take, by the device's clock."""
        ...

    def close(self) -> None:
        """Release the buffers."""
        ...


class Backend(Protocol):
    """A way to run probes on one device."""

    @property
    def device(self) -> Device:
        """Return the measured device."""
        ...

    def refuses(self, case: Case) -> str:
        """Return the reason why this backend cannot measure a case, "" if it can."""
        ...

    def answer(self, probe: Probe, given: Inputs) -> Array:
        """Return the results of the probe's kernel for the operands of its verification."""
        ...

    def prepare(self, case: Case) -> PreparedCase:
        """Allocate and fill the buffers."""
        ...

    def state(self) -> Mapping[str, float]:
        """Return the current ``clock_hz``, ``power_w`` and ``temperature_c``."""
        ...

    def others(self, seconds: float) -> float | None:
        """Return the share of the device that other programs use while this one waits ``seconds``.

        1 is all of it; None if unknown.
        """
        ...

    def load(self, case: Case | None, seconds: float) -> PowerDraw | None:
        """Return the power while a case runs, idle for None; None if no counter can be read."""
        ...
