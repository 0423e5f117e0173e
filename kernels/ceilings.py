"""Ceilings from samples: sustained rates of the machine, and the spread of their rounds.

Rounds are separated in time, and a ceiling is their median. Other users of the machine only add
time, so if the median is close to the best round, that rate was reached at least twice. If it is
not, something interfered: the case is measured again while time is left, and a remaining spread is
written to the file. Source of the idea that interference only adds time:
Chen & Revels 2016, "Robust benchmarking in noisy environments".
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.ir import record
from perfc.machine import Spread

from .probe import PROBES, STREAMS, Case, ProbeQuantity, Scope
from .steps import plateaus

if TYPE_CHECKING:
    from .backends.backend import Device, PowerDraw
    from .session import Sample

AGREEMENT = 0.05
"""Maximum deviation of the best round from the median before the case is measured again."""
LAUNCH_ROUNDS = 5
"""Rounds of a launch: the cores on which threads run differ from round to round."""
MOST_OTHERS = 0.9
"""Maximum share of the processors that other programs are assumed to use, for bounds. A bound is
divided by the rest, so that it is at most ten times the best sample."""
STEP = 2.0
"""Maximum factor between a cache that the system reports and the step of the bandwidth."""
# levels by their number, as the steps of the bandwidth have no names
_NAMES = {
    1: ("device",),
    2: ("l2", "device"),
    3: ("l1", "l2", "device"),
    4: ("l1", "l2_private", "l2", "device"),
}
PRIVATE = ("l1", "l2_private")
"""Levels that are private to each core."""


@record
class MeasuredCeiling:
    """One number of the target file, measured.

    Args:
        key: the file's key.
        rounds: values of the undisturbed rounds, or of all rounds if none was undisturbed.
        extreme: the best single sample.
        n: number of samples.
        iqr: distance between the quartiles of all samples, in the key's unit.
        cases: cases to measure again if rounds disagree.
        less_is_better: True for a time.
        varies: True for launches, which depend on the placement of threads and are no ceiling.
        is_shared: a level that other virtual machines on the host may use unnoticed.
        others: share of the processors that other programs used during the best sample, if
            they disturbed every round; else 0.
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
    others: float = 0.0

    @property
    def value(self) -> float:
        """Return the median of the rounds."""
        return statistics.median(self.rounds)

    @property
    def spread(self) -> Spread:
        """Return the spread of the rounds."""
        worst, best = min(self.rounds), max(self.rounds)
        if self.less_is_better:
            worst, best = best, worst
        # rounds that other programs disturbed count as none, so that the value stays uncertain
        return Spread(0 if self.others else len(self.rounds), best, worst)

    @property
    def is_uncertain(self) -> bool:
        """Return True if the best rate was not reached, or nearly reached, twice."""
        return self.spread.is_uncertain(self.value)

    @property
    def headroom(self) -> float:
        """Return the factor by which a disturbed machine may exceed its best sample."""
        spread = 1 + self.spread.share(self.value)
        return spread / (1 - min(self.others, MOST_OTHERS))

    def is_settled(self, shared_rounds: int) -> bool:
        """Return True if no more rounds are needed; a shared level needs ``shared_rounds``."""
        spread = self.spread
        if self.varies:
            return spread.rounds >= LAUNCH_ROUNDS
        least = shared_rounds if self.is_shared else 2
        return spread.rounds >= least and spread.share(self.value) <= AGREEMENT


@record
class SweepLevel:
    """A memory level that the sweep detected.

    Args:
        capacity: working set at which the bandwidth falls; infinite for memory.
        is_seen: the bandwidth falls there; otherwise the capacity is reported by the system, or
            if it reports none, the largest measured working set.
    """

    name: str
    capacity: float
    is_seen: bool = True


Samples = Mapping[tuple[Case, int], "Sample"]
"""Samples by case and round."""


def levels(samples: Samples, device: Device) -> tuple[SweepLevel, ...]:
    """Return memory levels, from the sweep of reads by all cores.

    The levels are the caches that the system reports, so that every run has the same ones; where
    the sweep shows an end near the reported size, that end is the capacity. Reads of an accelerator
    bypass its L1, whose capacity is the reported one. Samples that other programs disturbed would
    show a false step: they are left out, unless all are disturbed.
    """
    curve: dict[int, float] = {}
    for sample in _undisturbed(_of(samples, "stream.read", Scope.ALL)):
        curve[sample.case.size] = max(sample.best, curve.get(sample.case.size, 0.0))
    sizes = sorted(curve)
    rates = [curve[size] for size in sizes]
    # an accelerator's sweep sees the L2 and memory, a processor's up to three caches and memory
    steps = plateaus(sizes, rates, most=2 if device.kind == "cuda" else 4)
    caches = {name: c for name, c in device.caches.items() if c}
    bypassed = caches.pop("l1", 0) if device.kind == "cuda" else 0
    is_near = bypassed and _of(samples, "stream.near", Scope.ALL)
    near = (SweepLevel("l1", bypassed, False),) if is_near else ()
    # the three outermost caches at most: `_NAMES` has names for three and memory
    reported = sorted(caches.values())[-3:]
    capacities = seen = [p.capacity for p in steps]
    # The caches that the system reports decide. The sweep's own levels serve only where it sees
    # two or more, and the system reports one cache at most.
    if len(steps) < 2 or len(reported) > 1:
        capacities = [*(reported or sizes[-1:]), math.inf]
    names = _NAMES[len(capacities)]
    return (*near, *(_level(n, c, seen) for n, c in zip(names, capacities, strict=True)))


def _level(name: str, reported: float, seen: list[float]) -> SweepLevel:
    """Return a level that ends at the sweep's step near ``reported``, else at ``reported``."""
    steps_near = [s for s in seen if reported / STEP <= s <= reported * STEP and s < math.inf]
    capacity = min(steps_near, key=lambda s: abs(math.log(s / reported)), default=reported)
    return SweepLevel(name, capacity, bool(steps_near))


def ceilings(samples: Samples, device: Device) -> tuple[MeasuredCeiling, ...]:
    """Return every measured ceiling, by key."""
    all_ceilings = [*_launches(_rates(samples)), *_links(samples)]
    steps = levels(samples, device)
    all_ceilings += _bandwidths(samples, steps, device)
    all_ceilings += _latencies(samples, steps, device)
    return tuple(all_ceilings)


def _undisturbed(samples: list[Sample]) -> list[Sample]:
    """Return the undisturbed samples, all samples if there are none."""
    return [s for s in samples if not s.is_disturbed] or samples


def _of(samples: Samples, probe: str, scope: Scope) -> list[Sample]:
    """Return the samples of one probe and scope, of all sizes and rounds."""
    return [s for (c, _), s in samples.items() if c.probe == probe and c.scope is scope]


def _ceiling(key: str, chosen: Iterable[Sample], note: str = "") -> MeasuredCeiling | None:
    """Return the ceiling from the rounds of the best size of one probe."""
    chosen = list(chosen)
    if not chosen:
        return None
    is_time = PROBES[chosen[0].case.probe].quantity.is_time
    pick = min if is_time else max
    # of the sizes of a probe the best one counts
    best = pick(_undisturbed(chosen), key=lambda s: s.best)
    of_best_case = [s for s in chosen if s.case == best.case]
    rates = [s.rate(t) for s in of_best_case for t in s.series.seconds]
    is_product = best.case.probe.startswith("matrix.")
    return MeasuredCeiling(
        key,
        rounds=tuple(s.best for s in _undisturbed(of_best_case)),
        extreme=pick(s.extreme for s in chosen),
        n=len(rates),
        iqr=_iqr(rates),
        # of a product another size may be the best when it is measured again
        cases=tuple(dict.fromkeys(s.case for s in chosen)) if is_product else (best.case,),
        note=f"n = {best.case.size}" if is_product else note,
        less_is_better=is_time,
        varies=PROBES[best.case.probe].quantity is ProbeQuantity.LAUNCH,
        others=_others(chosen, pick),
    )


def _others(chosen: list[Sample], pick: Callable[..., Sample]) -> float:
    """Return the share of processor time that other programs used during the best sample.

    0 if any sample is undisturbed.
    """
    if any(not s.is_disturbed for s in chosen):
        return 0.0
    best = pick(chosen, key=lambda s: s.extreme)
    return best.state["others"]


def _iqr(values: list[float]) -> float:
    """Return the distance between the quartiles."""
    import numpy as np

    low, high = np.percentile(values, (25, 75))
    return float(high - low)


def _keys(samples: Samples) -> Iterator[tuple[str, str, Scope, str]]:
    """Yield key, probe, scope and note of every rate without a level."""
    for scope, prefix in ((Scope.ALL, "sustained"), (Scope.ONE, "one_core")):
        for name, probe in PROBES.items():
            # NumPy's product of f32 is of whole matrices, and has this key already
            if probe.key and name != "packed.f32":
                yield probe.key.format(prefix), name, scope, probe.note
    yield "device.clock_sustained_hz", "clock", Scope.ONE, ""
    yield "device.launch_overhead_s", "launch.eager", Scope.ALL, "threads that spin"
    yield "device.launch_wake_s", "launch.wake", Scope.ALL, "threads that sleep"
    yield "device.launch_graph_s", "launch.graph", Scope.ALL, ""
    yield "device.host_launch_s", "launch.framework", Scope.ALL, "operators of a small network"


def _rates(samples: Samples) -> Iterator[MeasuredCeiling]:
    """Yield the measured ceilings of rates without a level."""
    for key, probe, scope, note in _keys(samples):
        chosen = _of(samples, probe, scope)
        # Of products, sizes from half the largest undisturbed one count: they show what a large
        # product sustains. While other programs run, only sizes that fit between two scheduler
        # ticks are undisturbed. Probes without sizes have size 0, and all their samples count.
        large = max((s.case.size for s in _undisturbed(chosen)), default=0) // 2
        ceiling = _ceiling(key, (s for s in chosen if s.case.size >= large), note)
        if ceiling is not None:
            yield ceiling


def _launches(rates: Iterable[MeasuredCeiling]) -> Iterator[MeasuredCeiling]:
    """Yield the rates; the launch overhead is that of threads that sleep if it is the smaller.

    Threads that spin are slower only where other programs preempt them.
    """
    by_key = {c.key: c for c in rates}
    spin, wake = (by_key.get(f"device.launch_{way}_s") for way in ("overhead", "wake"))
    if spin is not None and wake is not None and wake.value < spin.value:
        by_key[spin.key] = replace(wake, key=spin.key)
    yield from by_key.values()


def _links(samples: Samples) -> Iterator[MeasuredCeiling]:
    """Yield the faster direction of pinned and of pageable copies."""
    ways = (("sustained_bandwidth", "pinned"), ("pageable_bandwidth", "pageable"))
    for name, kind in ways:
        links = [
            c
            for way in ("h2d", "d2h")
            if (c := _ceiling("", _of(samples, f"link.{way}-{kind}", Scope.ALL), way)) is not None
        ]
        if links:
            best = max(links, key=lambda c: c.value)
            yield replace(best, key=f"link.host.{name}_bytes_per_s", note=f"{best.note}, one way")


def _bandwidths(
    samples: Samples, steps: tuple[SweepLevel, ...], device: Device
) -> Iterator[MeasuredCeiling]:
    """Yield the bandwidth of each level by its best kind of stream; one core only reads."""
    cores = device.cores
    for scope, prefix in ((Scope.ALL, "sustained_"), (Scope.ONE, "one_core_")):
        inner = 0.0
        for level in steps:
            sharers = cores if scope is Scope.ONE and level.name in PRIVATE else 1
            capacity = level.capacity / sharers
            key = f"memory.{level.name}.{prefix}bandwidth_bytes_per_s"
            candidates = list[MeasuredCeiling]()
            is_near = device.kind == "cuda" and level.name in PRIVATE
            for kind in ("near",) if is_near else STREAMS:
                chosen = _within(_of(samples, f"stream.{kind}", scope), inner, capacity)
                if chosen:
                    candidates.append(_plateau(key, chosen, kind, level.name in PRIVATE))
            # other streams bypass the L1 of an accelerator, so the next level has no lower limit
            inner = 0.0 if is_near else capacity
            if candidates:
                best = max(candidates, key=lambda c: c.value)
                # an accelerator is used by one program at a time
                shared = device.kind == "cpu" and level.name not in PRIVATE
                yield replace(best, is_shared=shared)


def _within(samples: list[Sample], inner: float, outer: float) -> list[Sample]:
    """Return samples of sizes that neither the previous nor the next level serves in part."""
    # A cache still serves a part of working sets that exceed it a little. Memory, the last level,
    # has sizes enough to keep a larger distance.
    low = 1.5 * inner if outer < math.inf else 2 * inner
    # the last quarter before the end of the level counts only if there are no smaller sizes
    for share in (0.75, 1.0):
        selected = [s for s in samples if low <= s.case.size <= share * outer]
        if selected:
            return selected
    return [s for s in samples if inner < s.case.size <= outer]


def _plateau(key: str, chosen: list[Sample], kind: str, is_private: bool) -> MeasuredCeiling:
    """Return a ceiling; a round's value is the median of the best third of the level's sizes.

    Private caches have few sizes, some of them slow to stream: there the best counts. A round
    that ended early, with less than half of the sizes, does not count.
    """
    summary = max if is_private else _median_of_best
    by_round: dict[int, list[float]] = {}
    for sample in _undisturbed(chosen):
        by_round.setdefault(sample.round, []).append(sample.best)
    most_sizes = max(map(len, by_round.values()))
    rounds = tuple(summary(v) for v in by_round.values() if 2 * len(v) >= most_sizes)
    best_samples = sorted(chosen, key=lambda s: -s.best)[: max(len(chosen) // 3, 1)]
    rates = [s.rate(t) for s in best_samples for t in s.series.seconds]
    # larger working sets are not measured again, as filling them takes long
    cases = tuple(dict.fromkeys(s.case for s in chosen if s.case.size <= 1 << 30))
    return MeasuredCeiling(
        key,
        rounds=rounds,
        extreme=max(s.extreme for s in chosen),
        n=len(rates),
        iqr=_iqr(rates),
        cases=cases,
        note=kind,
        others=_others(chosen, max),
    )


def _median_of_best(values: list[float]) -> float:
    """Return the median of the best third."""
    best = sorted(values, reverse=True)[: max(len(values) // 3, 1)]
    return best[len(best) // 2]


def _latencies(
    samples: Samples, steps: tuple[SweepLevel, ...], device: Device
) -> Iterator[MeasuredCeiling]:
    """Yield the latency of each level, by chases too large for the level before.

    A private level has the capacity of one core, as a chase runs on one.
    """
    inner = 0.0
    for level in steps:
        sharers = device.cores if level.name in PRIVATE else 1
        outer = level.capacity / sharers
        # the limits of `_within`, and further from the last cache: it serves the share of random
        # loads that it holds, a third at three times its size
        low, high = 1.5 * inner if level.capacity < math.inf else 3 * inner, 0.75 * outer
        chosen = [s for s in _of(samples, "chase", Scope.ONE) if low <= s.case.size <= high]
        inner = outer
        if chosen:
            ceiling = _ceiling(f"memory.{level.name}.latency_s", chosen)
            if ceiling is not None:
                yield replace(ceiling, note=f"pointer chase over {ceiling.cases[0].size >> 10} KiB")


def energies(loads: Mapping[str, PowerDraw]) -> dict[str, float]:
    """Return power and energy by key; energy counts the power above idle."""
    if "idle" not in loads:
        return {}
    idle = loads["idle"].power_w
    figures = {"device.idle_power_w": idle}
    products = [v for k, v in loads.items() if k.startswith("matrix.")]
    if products:
        figures["device.matrix_power_w"] = max(p.power_w for p in products)
    for name, load in loads.items():
        above = load.power_w - idle
        if above <= 0 or load.work_per_s <= 0:
            continue
        if name.startswith("matrix."):
            key = f"compute.{name}.energy_per_flop_j"
            figures[key] = above / load.work_per_s
        elif name == "stream.copy":
            figures["device.copy_power_w"] = load.power_w
            figures["memory.device.energy_per_byte_j"] = above / load.work_per_s
    return figures
