"""Ceilings from samples: what the machine sustained, and whether rounds agree on it.

A ceiling must be reached twice: rounds lie apart in time, and the value is the mean of the two
best. Where these differ by more than `AGREEMENT`, something else was going on and the case is
measured again. Source of the idea that interference only adds time: Chen & Revels 2016,
"Robust benchmarking in noisy environments".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .probe import PROBES, STREAMS, Case, Quantity, Scope
from .steps import plateaus

if TYPE_CHECKING:
    from .backend import Device, Load
    from .session import Sample

AGREEMENT = 0.05
STEADY = 0.10
"""How far below its value the median round of a shared level may be."""
STEADY_ROUNDS = 6
"""Rounds that tell whether a shared level is steady."""
_NAMES = {
    2: ("l2", "device"),
    3: ("l1", "l2", "device"),
    4: ("l1", "l2_private", "l2", "device"),
}
PRIVATE = ("l1", "l2_private")
"""Levels of which every core has its own."""


@dataclass(frozen=True, slots=True)
class Ceiling:
    """One number of the target file, measured.

    Args:
        key: the file's key.
        rounds: the value of each round in which nothing disturbed it.
        extreme: the best single sample behind it.
        n: samples behind it.
        iqr: distance between the quartiles of all samples, in the key's unit.
        cases: what to measure again when rounds disagree.
        less_is_better: a time.
        varies: no ceiling, but what depends on where the system puts threads: launches.
        is_shared: a level that others may use unseen, from another virtual machine on the host.
    """

    key: str
    rounds: tuple[float, ...]
    extreme: float
    n: int
    iqr: float
    cases: tuple[Case, ...] = ()
    note: str = ""
    less_is_better: bool = False
    varies: bool = False
    is_shared: bool = False

    @property
    def value(self) -> float:
        """Mean of the two best rounds; median of all where nothing is demanded."""
        if self.varies and self.rounds:
            return statistics.median(self.rounds)
        best = self._best()
        return sum(best) / len(best) if best else math.nan

    @property
    def gap(self) -> float:
        """How far the two best rounds differ; infinite after one round."""
        best = self._best()
        return abs(best[0] - best[1]) / min(best) if len(best) > 1 else math.inf

    @property
    def agrees(self) -> bool:
        """Whether it was reached twice."""
        if self.varies:
            return bool(self.rounds)
        return self.gap <= AGREEMENT and (not self.is_shared or self.is_steady)

    @property
    def is_steady(self) -> bool:
        """Whether most rounds came close to the best; what others use too does not."""
        return self.drop <= STEADY

    @property
    def is_settled(self) -> bool:
        """Whether no more rounds are needed."""
        return self.agrees and not (self.is_shared and len(self.rounds) < STEADY_ROUNDS)

    @property
    def drop(self) -> float:
        """How far the median round lies below the value."""
        return 1 - statistics.median(self.rounds) / self.value if self.rounds else math.inf

    def _best(self) -> list[float]:
        return sorted(self.rounds, reverse=not self.less_is_better)[:2]


@dataclass(frozen=True, slots=True)
class Level:
    """A memory level that the sweep shows.

    Args:
        capacity: bytes where the bandwidth falls; infinite for memory.
        first: smallest working set of its plateau, in bytes.
        last: largest one.
    """

    name: str
    capacity: float
    first: int
    last: int


Samples = Mapping[tuple[Case, int], "Sample"]


def levels(samples: Samples, device: Device) -> tuple[Level, ...]:
    """Memory levels, found in the read sweep of all cores; an accelerator has two caches."""
    curve: dict[int, list[Sample]] = {}
    for (case, _), sample in samples.items():
        if case.probe == "stream.read" and case.scope is Scope.ALL:
            curve.setdefault(case.size, []).append(sample)
    sizes = sorted(curve)
    rates = [max(s.best for s in _undisturbed(curve[size])) for size in sizes]
    found = plateaus(sizes, rates, most=3 if device.kind == "cuda" else 4)
    names = _NAMES.get(len(found), ())
    return tuple(
        Level(name, p.capacity, p.sizes[0], p.sizes[-1])
        for name, p in zip(names, found, strict=False)
    )


def ceilings(samples: Samples, device: Device) -> tuple[Ceiling, ...]:
    """Everything measured, by key."""
    found = [*_rates(samples), *_links(samples)]
    steps = levels(samples, device)
    found += _bandwidths(samples, steps, device)
    found += _latencies(samples, steps, device)
    return tuple(found)


def _undisturbed(samples: list[Sample]) -> list[Sample]:
    """Those that nothing disturbed, all if there are none."""
    return [s for s in samples if not s.is_disturbed] or samples


def _of(samples: Samples, probe: str, scope: Scope) -> list[Sample]:
    return [s for (c, _), s in samples.items() if c.probe == probe and c.scope is scope]


def _ceiling(key: str, chosen: Iterable[Sample], note: str = "") -> Ceiling | None:
    """The best size of each round, all of one probe."""
    chosen = list(chosen)
    if not chosen:
        return None
    is_time = PROBES[chosen[0].case.probe].quantity.is_time
    pick = min if is_time else max
    by_round: dict[int, list[float]] = {}
    for sample in chosen:
        if not sample.is_disturbed:
            by_round.setdefault(sample.round, []).append(sample.best)
    best = pick(chosen, key=lambda s: s.best)
    same = [s for s in chosen if s.case == best.case]
    rates = [s.rate(t) for s in same for t in s.series.seconds]
    is_product = best.case.probe.startswith("matrix.")
    return Ceiling(
        key,
        tuple(pick(v) for v in by_round.values()),
        pick(s.extreme for s in chosen),
        len(rates),
        _iqr(rates),
        tuple(dict.fromkeys(s.case for s in chosen)) if is_product else (best.case,),
        f"n = {best.case.size}" if is_product else note,
        is_time,
        PROBES[best.case.probe].quantity is Quantity.LAUNCH,
    )


def _iqr(values: list[float]) -> float:
    import numpy as np

    low, high = np.percentile(values, (25, 75))
    return float(high - low)


def _keys(samples: Samples) -> Iterator[tuple[str, str, Scope, str]]:
    """Key, probe, scope and note of every rate that has no level."""
    probes = {c.probe for c, _ in samples}
    special = next((p for p in ("special.exp2", "special.exp") if p in probes), "")
    for scope, prefix in ((Scope.ALL, "sustained"), (Scope.ONE, "one_core")):
        for name in PROBES:
            if name not in probes:
                continue
            probe, what = PROBES[name], name.partition(".")[2]
            match probe.quantity:
                case Quantity.MATRIX:
                    yield f"compute.matrix.{what}.{prefix}_flop_per_s", name, scope, ""
                case Quantity.VECTOR:
                    yield f"compute.vector.{what}.{prefix}_flop_per_s", name, scope, ""
                case Quantity.DOT if what == "i8":
                    note = "four-way dot products in registers"
                    yield f"compute.vector.i8.{prefix}_flop_per_s", name, scope, note
                case Quantity.SPECIAL if name == special:
                    yield f"compute.special.f32.{prefix}_op_per_s", name, scope, what
                case _:
                    continue
    yield "device.clock_sustained_hz", "clock", Scope.ONE, ""
    yield "device.launch_overhead_s", "launch.eager", Scope.ALL, ""
    yield "device.launch_graph_s", "launch.graph", Scope.ALL, ""


def _rates(samples: Samples) -> Iterator[Ceiling]:
    for key, probe, scope, note in _keys(samples):
        chosen = _of(samples, probe, scope)
        # Products: the larger half of the sweep is what a large one sustains.
        large = max((s.case.size for s in chosen), default=0) // 2
        found = _ceiling(key, (s for s in chosen if s.case.size >= large), note)
        if found is not None:
            yield found


def _links(samples: Samples) -> Iterator[Ceiling]:
    ways = (("sustained_bandwidth", "pinned"), ("pageable_bandwidth", "pageable"))
    for name, kind in ways:
        found = [
            c
            for way in ("h2d", "d2h")
            if (c := _ceiling("", _of(samples, f"link.{way}-{kind}", Scope.ALL), way)) is not None
        ]
        if found:
            best = max(found, key=lambda c: c.value)
            yield replace(best, key=f"link.host.{name}_bytes_per_s", note=f"{best.note}, one way")


def _bandwidths(samples: Samples, steps: tuple[Level, ...], device: Device) -> Iterator[Ceiling]:
    """Each level's best kind of stream; reads alone on one core."""
    cores = device.cores
    for scope, prefix in ((Scope.ALL, "sustained_"), (Scope.ONE, "one_core_")):
        inner = 0.0
        for level in steps:
            own = cores if scope is Scope.ONE and level.name in PRIVATE else 1
            capacity = level.capacity / own
            key = f"memory.{level.name}.{prefix}bandwidth_bytes_per_s"
            found = list[Ceiling]()
            for kind in STREAMS:
                chosen = _within(_of(samples, f"stream.{kind}", scope), inner, capacity)
                if chosen:
                    found.append(_plateau(key, chosen, kind, level.name in PRIVATE))
            inner = capacity
            if found:
                best = max(found, key=lambda c: c.value if c.rounds else 0.0)
                # an accelerator is used by one at a time
                shared = device.kind == "cpu" and level.name not in PRIVATE
                yield replace(best, is_shared=shared)


def _within(samples: list[Sample], inner: float, outer: float) -> list[Sample]:
    """Those of sizes that neither the level before nor the one behind answers in part."""
    low = 1.5 * inner if outer < math.inf else 2 * inner
    for share in (0.75, 1.0):
        found = [s for s in samples if low <= s.case.size <= share * outer]
        if found:
            return found
    return [s for s in samples if inner < s.case.size <= outer]


def _plateau(key: str, chosen: list[Sample], kind: str, is_private: bool) -> Ceiling:
    """A round's value is the median of the best third of the sizes of the level.

    A core's own caches have few sizes, some of them slow to stream: there the best counts.
    """
    upper = max if is_private else _upper
    by_round: dict[int, list[float]] = {}
    for sample in chosen:
        if not sample.is_disturbed:
            by_round.setdefault(sample.round, []).append(sample.best)
    rounds = tuple(upper(v) for v in by_round.values())
    at = sorted(chosen, key=lambda s: -s.best)[: max(len(chosen) // 3, 1)]
    rates = [s.rate(t) for s in at for t in s.series.seconds]
    cases = tuple(dict.fromkeys(s.case for s in chosen if s.case.size <= 1 << 30))
    extreme = max(s.extreme for s in chosen)
    return Ceiling(key, rounds, extreme, len(rates), _iqr(rates), cases, kind)


def _upper(values: list[float]) -> float:
    best = sorted(values, reverse=True)[: max(len(values) // 3, 1)]
    return best[len(best) // 2]


def _latencies(samples: Samples, steps: tuple[Level, ...], device: Device) -> Iterator[Ceiling]:
    """Chases that fit a level and not the one before; a core's own share of private ones."""
    inner = 0.0
    for level in steps:
        own = device.cores if level.name in PRIVATE else 1
        outer = level.capacity / own
        low, high = 1.5 * inner if level.capacity < math.inf else 3 * inner, 0.75 * outer
        chosen = [s for s in _of(samples, "chase", Scope.ONE) if low <= s.case.size <= high]
        inner = outer
        if chosen:
            found = _ceiling(f"memory.{level.name}.latency_s", chosen)
            if found is not None:
                yield replace(found, note=f"pointer chase over {found.cases[0].size >> 10} KiB")


def energies(loads: Mapping[str, Load]) -> dict[str, float]:
    """Power and energy by key; energy is what is drawn above idle."""
    if "idle" not in loads:
        return {}
    idle = loads["idle"].power_w
    found = {"device.idle_power_w": idle}
    products = [v for k, v in loads.items() if k.startswith("matrix.")]
    if products:
        found["device.matrix_power_w"] = max(p.power_w for p in products)
    for name, load in loads.items():
        above = load.power_w - idle
        if above <= 0 or load.work_per_s <= 0:
            continue
        if name.startswith("matrix."):
            key = f"compute.{name}.energy_per_flop_j"
            found[key] = above / load.work_per_s
        elif name == "stream.copy":
            found["device.copy_power_w"] = load.power_w
            found["memory.device.energy_per_byte_j"] = above / load.work_per_s
    return found
