"""Upper bounds of a device's rates: work over them is a lower bound of time, so none may be small.

There are two: operations per clock of the instruction set, at the highest clock, and the best
sample times a headroom, which grows with the spread of rounds. A peak is the larger one. Each is
an assumption, which the note next to the number in the target file explains. Rates far above the
bounds are impossible: then the probe is broken.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.common.fitted import data_next_to
from perfc.machine.magnitudes import implausible

from .target import Number

if TYPE_CHECKING:
    from .backends.backend import Device
    from .ceilings import MeasuredCeiling, SweepLevel

COMPUTE_HEADROOM = 1.25
"""Assumed factor from the best sample of arithmetic to its bound."""
CACHE_HEADROOM = 1.25
"""Assumed factor from the best sample of a cache to its bound."""
MEMORY_HEADROOM = 1.5
"""Assumed factor from the best sample of device memory to its bound."""
CLOCK_HEADROOM = 1.1
"""Assumed factor from the best measured clock to its bound."""
UNKNOWN_CLOCK_HZ = 6e9
"""Clock if none could be measured: above every shipped processor's rated boost of 2025."""
_L1_BYTES_PER_CLOCK = 192
"""Two 64-byte loads and a 64-byte store; cores with 32-byte ports have at most five of them."""
# limits and defaults of readings, by table
_DATA = data_next_to(__file__)
_IMPOSSIBLE: Mapping[str, Mapping[str, float]] = _DATA["impossible"]
"""Rates that no device reaches, by kind of device and part: on ``cpu`` multiples of a core's bound,
on ``cuda`` operations or bytes per clock of a multiprocessor."""
_READINGS: Mapping[str, tuple[float, float]] = _DATA["readings"]
"""Least and greatest plausible reading, by a pattern that is searched in keys: beyond them the
probe measured something else."""
DEFAULTS: Mapping[str, Mapping[str, float]] = _DATA["defaults"]
"""Values that replace implausible readings, by key and kind of device, as in shipped targets: on
``cpu`` the dispatch of one operator to a thread pool, on ``cuda`` an asynchronous launch."""
LEAST_OF_OTHER = 0.5
"""Share of a rate that is usually less, below which a reading was disturbed: *assumed*, as rounds
of an undisturbed machine differ by a few per cent."""
_RATES = ("sustained_flop_per_s", "one_core_flop_per_s")
"""Rates that are compared with others: of all cores, and of one."""
_WIDER: Mapping[str, str] = {"f32": "f64", "tf32": "f32"}
"""The next wider type that no device computes faster; 16 bits may be emulated."""
_SCALAR = ("f64", "f32")
"""Types of which every processor has scalar instructions."""
_WIDTHS: Mapping[str, float] = _DATA["widths"]
"""Operations per clock relative to f32; 2 for types that are not listed, which have 16 bits. A lane
multiplies four bytes at once."""


def lanes(device: Device) -> int:
    """Return the 32-bit lanes of the widest vector instruction, of 512, 256 or 128 bits."""
    if device.arch in ("aarch64", "arm64"):
        # without SVE a pipe has 4 lanes: up to four such pipes count as two of 8 lanes, since
        # `flop_per_clock` assumes two
        return 16 if "sve" in device.features else 8
    if "avx512f" in device.features:
        return 16
    return 8 if device.features & {"avx", "avx2"} else 4


def flop_per_clock(device: Device, dtype: str, *, matrix: bool) -> float:
    """Return a core's maximum FLOP per clock: two multiply–accumulate pipes of full width."""
    # two pipes, and two FLOP of each multiply–accumulate
    best = 4.0 * lanes(device) * _WIDTHS.get(dtype, 2.0)
    if not matrix:
        return best
    feature, rate = _DATA["tiles"].get(dtype, ("", 0.0))
    if feature in device.features:
        best = max(best, rate)
    # Arm's matrix instructions do twice the products of its dot instructions.
    return best * 2 if device.features & {"i8mm", "bf16"} and dtype in ("i8", "bf16") else best


def is_doubtful(key: str, value: float) -> bool:
    """Return True if a reading makes no sense, whatever the machine."""
    ends = next((ends for name, ends in _READINGS.items() if re.search(name, key)), None)
    return bool(implausible(key, value)) or (ends is not None and not ends[0] <= value <= ends[1])


def doubts(device: Device, measured: Iterable[MeasuredCeiling]) -> Callable[[str, float], bool]:
    """Return a function that is True for a key and a reading that makes no sense.

    A reading is compared with its plausible range, and with other rates that it cannot be far
    below: of one core, of a wider type, and of instructions without vectors.
    """
    values = {c.key: c.value for c in measured}
    return lambda key, value: (
        is_doubtful(key, value) or value < LEAST_OF_OTHER * _other(device, key, values)
    )


def _other(device: Device, key: str, values: Mapping[str, float]) -> float:
    """Return the largest rate that is usually less than that of a key; 0 if there is none."""
    table, _, field = key.rpartition(".")
    unit, _, dtype = table.rpartition(".")
    if field not in _RATES:
        return 0.0
    others = [values.get(f"{unit}.{_WIDER.get(dtype)}.{field}", 0.0)]
    cores = 1
    if field == _RATES[0]:
        cores = device.cores
        others.append(values.get(f"{table}.{_RATES[1]}", 0.0))
    if device.kind == "cpu" and dtype in _SCALAR:
        clock_hz = values.get("device.clock_sustained_hz", device.clock_max_hz)
        others.append(2 * clock_hz * cores)  # a multiply and an add every clock
    return max(others)


def impossible(device: Device, ceilings: Iterable[MeasuredCeiling]) -> str:
    """Return a message about a rate that no such device reaches; "" if all are possible."""
    for ceiling in ceilings:
        highest = _most(device, ceiling.key)
        if ceiling.spread.best > highest:
            return (
                f"{ceiling.key}: {ceiling.spread.best:.3g} where no such device does {highest:.3g}"
            )
    return ""


def _most(device: Device, key: str) -> float:
    """Return the maximum possible rate of a key; infinite for times and links.

    Keys are like ``compute.matrix.f16.sustained_flop_per_s``.
    """
    kind, _, rest = key.partition(".")
    unit, _, dtype = rest.partition(".")
    last = key.rpartition(".")[2]
    if kind == "device":
        # a margin of two above the fastest shipped clock
        return 2 * UNKNOWN_CLOCK_HZ if last == "clock_sustained_hz" else math.inf
    if kind == "link" or (last.endswith("_s") and "_per_s" not in last):
        return math.inf
    part = "memory" if kind == "memory" else unit
    clocks_per_s = UNKNOWN_CLOCK_HZ * (1 if last.startswith("one_core") else device.cores)
    if device.kind != "cpu":
        return clocks_per_s * _IMPOSSIBLE["cuda"][part]
    per_clock = float(lanes(device)) if part == "special" else float(_L1_BYTES_PER_CLOCK)
    if part in ("matrix", "vector"):
        element = dtype.partition(".")[0]
        per_clock = flop_per_clock(device, element, matrix=part == "matrix")
    return clocks_per_s * per_clock * _IMPOSSIBLE["cpu"][part]


def cpu_numbers(
    device: Device, ceilings: dict[str, MeasuredCeiling], levels: tuple[SweepLevel, ...]
) -> Iterator[Number]:
    """Yield peaks, capacities and clocks of a processor."""
    yield Number("device.sm_count", device.cores, "system", "cores in use")
    yield _clock(device, ceilings)
    yield from _compute(device, ceilings)
    yield from _caches(device, ceilings, levels)
    yield Number("memory.device.capacity_bytes", device.memory_bytes, "system")
    yield from _memory(ceilings)


def _memory(ceilings: Mapping[str, MeasuredCeiling]) -> Iterator[Number]:
    """Yield the bound of device memory; from the fastest level if it was not measured."""
    levels = {k: c for k, c in ceilings.items() if k.startswith("memory.") and "bandwidth" in k}
    device = levels.get("memory.device.sustained_bandwidth_bytes_per_s")
    if not levels:
        return
    best = device or max(levels.values(), key=lambda c: c.extreme)
    value, note = _above([best], MEMORY_HEADROOM)
    if device is None:
        note += f", of {best.key}: device memory was not measured"
    yield Number("memory.device.bandwidth_bytes_per_s", value, "bound", note)


def _above(ceilings: Iterable[MeasuredCeiling], factor: float) -> tuple[float, str]:
    """Return a bound above the best samples of one quantity, and its explanation."""
    best = max(ceilings, key=lambda c: c.extreme * c.headroom)
    note = f"best sample × {factor:g}"
    # the note leaves out a factor that its three digits would print as 1
    if best.headroom >= 1.005:
        note += f" × {best.headroom:.3g}, as far as its rounds spread"
    return _rounded_up(best.extreme * factor * best.headroom), note


def _clock(device: Device, ceilings: dict[str, MeasuredCeiling]) -> Number:
    """Return the highest clock: the larger of the system's and the measured one with headroom."""
    key = "device.clock_max_hz"
    measured = ceilings.get("device.clock_sustained_hz")
    if measured is None and not device.clock_max_hz:
        return Number(key, UNKNOWN_CLOCK_HZ, "bound", "no clock could be read or measured")
    best = measured.extreme * CLOCK_HEADROOM if measured else 0.0
    if device.clock_max_hz > best:
        return Number(key, device.clock_max_hz, "system", "highest frequency the system states")
    return Number(key, _rounded_up(best), "bound", f"best measured clock × {CLOCK_HEADROOM:g}")


def _compute(device: Device, ceilings: dict[str, MeasuredCeiling]) -> Iterator[Number]:
    """Yield the bounds of vector, matrix and special units of a processor by element type."""
    for dtype in ("f64", "f32", "f16", "i32", "i8"):
        vector, matrix = (f"compute.{u}.{dtype}.sustained_flop_per_s" for u in ("vector", "matrix"))
        measured = [ceilings[k] for k in (vector, matrix) if k in ceilings]
        if not measured and dtype == "f16":
            continue  # done in f32, whose bound is used
        per_clock = flop_per_clock(device, dtype, matrix=False)
        # Products run on the vector unit: both get the larger bound of the two.
        units = ["vector", "matrix"] if matrix in ceilings else ["vector"]
        for unit in units:
            table = f"compute.{unit}.{dtype}"
            if measured:
                value, note = _above(measured, COMPUTE_HEADROOM)
                yield Number(f"{table}.peak_flop_per_s", value, "bound", note)
            width = f"{lanes(device)} 32-bit lanes, two multiply-add pipes"
            yield Number(f"{table}.flop_per_clock_per_sm", per_clock, "bound", width)
    for dtype, features in (("bf16", {"avx512_bf16", "amx_bf16", "bf16"}), ("i8", {"amx_int8"})):
        if device.features & features:
            rate = flop_per_clock(device, dtype, matrix=True)
            text = f"{', '.join(sorted(device.features & features))}; not measured as a product"
            yield Number(f"compute.matrix.{dtype}.flop_per_clock_per_sm", rate, "bound", text)
    text = "an approximate reciprocal in every lane every clock; exponentials take longer"
    yield Number("compute.special.f32.op_per_clock_per_sm", lanes(device), "bound", text)


def _caches(
    device: Device, ceilings: dict[str, MeasuredCeiling], levels: tuple[SweepLevel, ...]
) -> Iterator[Number]:
    """Yield capacity and bandwidth of each cache of a processor."""
    reported = sorted(device.caches.items())
    for level in levels:
        if level.name == "device":
            continue
        table = f"memory.{level.name}"
        # a level without a name of its own is the last cache that the system reports
        name = {"l1": "l1", "l2_private": "l2"}.get(level.name, reported[-1][0] if reported else "")
        reported_bytes = device.caches.get(name, 0)
        # The size that the system reports of a private cache is taken as it is. The last cache may
        # have several parts, of which the system reports one: there a larger capacity counts.
        if reported_bytes >= level.capacity or (reported_bytes and level.name != "l2"):
            yield Number(f"{table}.capacity_bytes", reported_bytes, "system", _step(level))
        else:
            yield _seen(level)
        key = f"{table}.sustained_bandwidth_bytes_per_s"
        if key in ceilings:
            value, note = _above([ceilings[key]], CACHE_HEADROOM)
            yield Number(f"{table}.bandwidth_bytes_per_s", value, "bound", note)
        note = "two 64-byte loads and a store"
        if level.name != "l1":
            note = "that of L1: between kernels data may stay in a core's own caches"
        yield Number(f"{table}.bytes_per_clock_per_sm", _L1_BYTES_PER_CLOCK, "bound", note)


def _step(level: SweepLevel) -> str:
    """Return the note on the end of a level in the sweep."""
    if not level.is_seen:
        return "no step was seen in the bandwidth"
    return f"step seen at {level.capacity / 1024:.0f} KiB"


def _seen(level: SweepLevel) -> Number:
    """Return the capacity of a level by the sweep: the system reports none, or a smaller one."""
    # whole pages: the step is interpolated between two working sets
    capacity = math.ceil(level.capacity / 4096) * 4096
    key = f"memory.{level.name}.capacity_bytes"
    if level.is_seen:
        return Number(key, capacity, "lab", "where the bandwidth falls")
    note = "no step was seen and none is given: the largest working set measured"
    return Number(key, capacity, "bound", note)


def device_numbers(
    device: Device, ceilings: dict[str, MeasuredCeiling], levels: tuple[SweepLevel, ...]
) -> Iterator[Number]:
    """Yield peaks of an accelerator without a data sheet: the best sample with headroom."""
    yield Number("device.sm_count", device.cores, "system", "multiprocessors")
    clock = device.clock_max_hz or UNKNOWN_CLOCK_HZ
    yield Number("device.clock_max_hz", clock, "system", "highest clock the driver states")
    yield Number("memory.device.capacity_bytes", device.memory_bytes, "system")
    yield from _memory(ceilings)
    if not any(key.startswith("compute.vector.") for key in ceilings):
        key = "compute.vector.f32.flop_per_clock_per_sm"
        yield Number(
            key, _IMPOSSIBLE["cuda"]["vector"], "bound", "not measured: above every device"
        )
    yield from unlisted(device, ceilings, levels, {})


def unlisted(
    device: Device,
    ceilings: dict[str, MeasuredCeiling],
    levels: tuple[SweepLevel, ...],
    sheet: Mapping[str, Number],
) -> Iterator[Number]:
    """Yield peaks of measured tables that the data sheet does not have.

    A product of a type that the matrix unit lacks runs on the vector unit and gets its peak.
    """
    tables = {key.rpartition(".")[0] for key in sheet}
    for key, ceiling in ceilings.items():
        head, _, last = key.rpartition(".")
        is_listed = head in tables or not head.startswith(("compute", "memory"))
        if is_listed or not last.startswith("sustained_"):
            continue
        vector = head.replace(".matrix.", ".vector.")
        if vector in tables:
            for name in ("peak_flop_per_s", "flop_per_clock_per_sm"):
                if (listed := sheet.get(f"{vector}.{name}")) is not None:
                    yield replace(listed, key=f"{head}.{name}", note="of the vector unit")
            continue
        name = last.removeprefix("sustained_")
        name = name if name.startswith("bandwidth") else f"peak_{name}"
        headroom = MEMORY_HEADROOM if head == "memory.device" else COMPUTE_HEADROOM
        value, note = _above([ceiling], headroom)
        yield Number(f"{head}.{name}", value, "bound", note)
    for level in levels:
        if level.name != "device" and f"memory.{level.name}" not in tables:
            reported = device.caches.get(level.name, 0)
            key = f"memory.{level.name}.capacity_bytes"
            if reported >= level.capacity:
                yield Number(key, reported, "system", _step(level))
            else:
                yield _seen(level)


def _rounded_up(value: float) -> float:
    """Return the value rounded up to four digits."""
    if value <= 0:
        return value
    step = 10.0 ** (math.floor(math.log10(value)) - 3)
    return math.ceil(value / step) * step
