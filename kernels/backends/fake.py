"""A device with known peaks, which calibration must recover despite noise and outliers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from perfc.common.fitted import data_next_to
from perfc.ir import record

from ..probe import PROBES, Case, Probe, ProbeQuantity, Scope
from .backend import Device, PowerDraw

if TYPE_CHECKING:
    import numpy as np

    from ..reference import Array, Inputs

MIB = 1 << 20
CORES = 8
"""Cores of the device, which share the L1 capacity of `LEVELS`."""

_DATA: dict[str, dict[str, float]] = data_next_to(__file__)
RATES, TIMES, STREAMS = _DATA["rates"], _DATA["times"], _DATA["streams"]
"""Work per second of the whole device, seconds of a launch, and the share of the bandwidth that
each pattern of accesses reaches; all numbers of the device are invented, near those of GPUs."""


@record
class FakeCache:
    """A level of the fake memory hierarchy; ``capacity`` in bytes, all instances together."""

    name: str
    capacity: float
    bandwidth: float
    latency_s: float


LEVELS = (
    FakeCache("l1", 1.5 * MIB, 8e12, 20e-9),
    FakeCache("l2", 24 * MIB, 3e12, 150e-9),
    FakeCache("device", float(16 << 30), 1e12, 400e-9),
)
"""Levels that calibration must detect, with their rates."""


class FakeRun:
    """Reports true times plus noise that is never negative."""

    def __init__(self, once_s: float, count: float, rng: np.random.Generator, fake: Fake) -> None:
        self.once_s, self.count, self.rng, self.fake = once_s, count, rng, fake

    def sample(self, repeats: int) -> float:
        """Return a time some per cent too long; now and then, several times too long."""
        late = abs(float(self.rng.normal(0, self.fake.noise)))
        # another program takes as long as the sample, on average
        if self.rng.random() < self.fake.interruptions:
            late += float(self.rng.exponential(1.0))
        return self.once_s * repeats * (1 + late)

    def close(self) -> None:
        """Do nothing: no buffers are held."""


@dataclass
class Fake:
    """The fake device.

    Args:
        noise: standard deviation of a sample's time, one-sided.
        interruptions: share of interrupted samples.
        drift: factor by which each case is slower than the previous one, so that rounds spread.
        wrong: probes whose kernel returns wrong results.
        busy: share of the device that other programs use at the start; None if unknown.
        slow: product of all drifts so far.
    """

    seed: int = 0
    noise: float = 0.01
    interruptions: float = 0.05
    drift: float = 1.0
    wrong: frozenset[str] = frozenset()
    busy: float | None = 0.0
    slow: float = field(default=1.0, init=False)

    def __post_init__(self) -> None:
        import numpy as np

        self.rng = np.random.default_rng(self.seed)

    @property
    def device(self) -> Device:
        """Return a fictitious accelerator."""
        return Device(
            kind="cuda",
            name="fake device",
            vendor="nobody",
            arch="sm_00",
            cores=CORES,
            memory_bytes=16 << 30,
            free_bytes=12 << 30,
            most_bytes=10 << 30,
            caches={c.name: int(c.capacity) for c in LEVELS[:2]},
            clock_max_hz=1.5e9,
            state={"driver": "none", "clocks": "fixed"},
        )

    def refuses(self, case: Case) -> str:
        """Refuse cases without a rate, and a subset of cores."""
        kind = case.probe.partition(".")[0]
        if kind not in ("stream", "chase") and case.probe not in (*RATES, *TIMES):
            return "the fake device has none"
        if case.scope is Scope.ONE and case.probe not in ("chase", "clock"):
            return "the fake device is measured as a whole"
        return ""

    def answer(self, probe: Probe, given: Inputs) -> Array:
        """Return the correct answer, unless the probe is in ``wrong``."""
        assert probe.expected is not None
        values = probe.expected(given).values
        return values[::-1] if probe.id in self.wrong else values

    def prepare(self, case: Case) -> FakeRun:
        """Return a run that takes the true time."""
        probe = PROBES[case.probe]
        kind, _, what = case.probe.partition(".")
        # the count of probes without sizes is arbitrary, as their time is proportional to it
        count = 1e6
        if probe.quantity.is_time:
            once = TIMES.get(case.probe) or self._latency(case.size)
            return FakeRun(once * self._pace(), 1.0, self.rng, self)
        if kind == "matrix":
            count = float(case.size) ** 3
            # small products do not fill the device: 12.5 % longer at 512, 0.8 % at 2048
            once = count * probe.work / RATES[case.probe] * (1 + (512 / case.size) ** 2 / 8)
        elif kind == "stream":
            count = float(case.size)
            near = 1 / LEVELS[0].bandwidth
            once = count * (near if what == "near" else self._byte_s(case.size) / STREAMS[what])
        else:
            if kind == "link":
                count = float(case.size)
            # a transfer over the link starts after 10 µs
            once = count * probe.work / RATES[case.probe] + (1e-5 if kind == "link" else 0)
        return FakeRun(once * self._pace(), count, self.rng, self)

    def _pace(self) -> float:
        """Return the factor by which the next case is slower than the first."""
        self.slow *= self.drift
        return self.slow

    def _shares(self, size: float, capacities: list[float]) -> list[float]:
        """Return the share of accesses that each level serves, with random replacement."""
        shares, unserved = list[float](), 1.0
        for capacity in capacities:
            # beyond the capacity hits fall linearly to none, at 5/3 of it
            inside = 1.0 if size <= capacity else max(0.0, 1 - 1.5 * (size - capacity) / capacity)
            shares.append(unserved * inside)
            unserved -= shares[-1]
        shares[-1] += unserved
        return shares

    def _byte_s(self, size: float) -> float:
        """Return the seconds per byte of a working set; reads bypass L1."""
        shares = self._shares(size, [c.capacity for c in LEVELS[1:]])
        return sum(s / c.bandwidth for s, c in zip(shares, LEVELS[1:], strict=True))

    def _latency(self, size: float) -> float:
        """Return the seconds of one step of a chase on one core, which has its share of L1."""
        capacities = [LEVELS[0].capacity / CORES, *(c.capacity for c in LEVELS[1:])]
        shares = self._shares(size, capacities)
        return sum(s * c.latency_s for s, c in zip(shares, LEVELS, strict=True))

    def state(self) -> Mapping[str, float]:
        """Return fixed clocks."""
        return {"clock_hz": RATES["clock"], "power_w": 100.0}

    def others(self, seconds: float) -> float | None:
        """Return ``busy``, without waiting."""
        return self.busy

    def load(self, case: Case | None, seconds: float) -> PowerDraw | None:
        """Return 100 W idle, plus 1 pJ per FLOP and 10 pJ per byte."""
        if case is None:
            return PowerDraw(100.0, 0.0)
        run = self.prepare(case)
        rate = run.count * PROBES[case.probe].work / run.once_s
        cost = 1e-12 if PROBES[case.probe].quantity is ProbeQuantity.MATRIX else 1e-11
        return PowerDraw(100.0 + rate * cost, rate)
