"""Capabilities of a target machine: rates by unit and element type, memory levels, sources.

Each rate has up to three values. `peak` and `bandwidth` are the highest that the hardware can
reach, so that times computed from them are lower bounds; `sustained` is a measured rate, if there
is one; `nominal` is that of the data sheet, for display. The highest rate differs from that of the
data sheet if the clock can exceed the rated one, or if the sheet rounds down.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.ir import Origin, frozen, record

from .stand_ins import MATRIX_CHAIN, SAME_MATRIX, VECTOR_CHAIN

if TYPE_CHECKING:
    from .slices import SliceProfile

HOST = "host"
"""Name of the target that is this machine."""
__all__ = (
    "HOST",
    "Listing",
    "Machine",
    "MemoryLevel",
    "Peak",
    "Rate",
    "Source",
    "Spread",
    "Unit",
)


class Unit(Enum):
    """Arithmetic units that work concurrently, so that the slowest of them binds."""

    MATRIX = "matrix"
    VECTOR = "vector"
    SPECIAL = "special"
    INTEGER = "integer"
    __hash__ = object.__hash__  # that of `Enum` is a function of Python


@record
class Source:
    """Source of numbers of a target file: a document or a measurement."""

    name: str
    origin: Origin
    title: str
    date: str = ""
    note: str = ""


UNCERTAIN = 0.10
"""Share by which the best round may exceed the median before the median counts as uncertain."""


@record
class Spread:
    """Spread of the rounds of a measurement, of which a number is the median.

    Other programs on the machine make a round slower, never faster. So the true value is between
    the median and the best round, or slightly beyond it.

    Args:
        rounds: number of undisturbed rounds; 0 if other programs ran in each.
        best: value of the best round in the number's unit: highest rate or shortest time.
        worst: value of the worst round.
    """

    rounds: int
    best: float
    worst: float

    def share(self, value: float) -> float:
        """Return the distance of the best round from ``value``, the median, as a share of it."""
        return abs(self.best - value) / value

    def is_uncertain(self, value: float) -> bool:
        """Return True for fewer than two rounds, or if the best round is far from the median."""
        return self.rounds < 2 or self.share(value) > UNCERTAIN


@record
class Rate:
    """One number with its origin.

    Args:
        value: number in SI units: flop/s, operations/s, bytes/s, bytes, hertz, watt, seconds.
        origin: weakest origin of the numbers from which it is computed.
        source: names of the file's ``[source.…]`` tables, joined by ``+``.
        note: conditions of the value, or its derivation.
        key: key in the target file, such as ``compute.matrix.f16.peak_flop_per_s``.
        spread: spread of the rounds of its measurement; None if the file has none.
    """

    value: float
    origin: Origin
    source: str
    note: str = ""
    key: str = ""
    spread: Spread | None = None

    @property
    def is_uncertain(self) -> bool:
        """Return True if it was measured and its rounds differ much."""
        return self.spread is not None and self.spread.is_uncertain(self.value)


@record
class Peak:
    """Rates of one unit for one element type; a multiply–accumulate is two operations.

    Args:
        peak: highest rate of the hardware, for lower bounds.
        nominal: rate of the data sheet.
        sustained: measured rate; None if not measured.
    """

    peak: Rate
    nominal: Rate
    sustained: Rate | None = None


@record
class MemoryLevel:
    """One level of the memory hierarchy: all its instances on the device together.

    Args:
        name: ``l1``, ``l2_private``, ``l2`` or ``device``.
        capacity_bytes: capacity of the hardware.
        bandwidth: highest rate of reads plus writes, for lower bounds.
        nominal: rate of the data sheet.
        sustained: measured rate; None if not measured.
        usable: part of the capacity that the runtime reports as total (``cudaMemGetInfo``,
            PyTorch's ``total_memory``), without ECC and reserves of driver and firmware.
    """

    name: str
    capacity_bytes: int
    bandwidth: Rate
    nominal: Rate
    sustained: Rate | None = None
    usable: Rate | None = None

    @property
    def usable_bytes(self) -> int:
        """Return the memory that processes can allocate; the capacity if the file has no other."""
        return self.capacity_bytes if self.usable is None else int(self.usable.value)


_FLOP_PER_SPECIAL = 8
"""Operations of a transcendental function on the vector unit: those of the cheapest range reduction
and polynomial, as a lower bound must not count more."""
_HALF = frozenset({"f16", "bf16"})
"""Types whose special functions run in pairs, at twice the rate of f32, if a target has no rate."""


@frozen
class Machine:
    """A target: rates, capacities and sources of one machine.

    Args:
        name: name of the target.
        aliases: further names.
        kind: ``cuda``, ``gpu``, ``cpu`` or ``accelerator``.
        vendor: vendor of the chip.
        arch: architecture, such as ``sm_90``.
        description: full name with memory and variant.
        sources: sources of its numbers, by name.
        compute: rates by unit and element type as the file lists them; `entry` has fallbacks.
        memory: memory levels, nearest first, without those that the file does not have.
        facts: every number of the file by its key, with its source.
        path: file of the target; for a slice, that of its card and the profile's name.
        cluster: name of the cluster to which the GPU belongs; "" for a single machine.
        slice: profile by which it is a slice of a card; None for a whole card.
    """

    name: str
    aliases: tuple[str, ...]
    kind: str
    vendor: str
    arch: str
    description: str
    sources: Mapping[str, Source]
    compute: Mapping[tuple[Unit, str], Peak]
    memory: tuple[MemoryLevel, ...]
    facts: Mapping[str, Rate]
    path: Path
    cluster: str = ""
    slice: SliceProfile | None = None

    @property
    def label(self) -> str:
        """Return the name in tables: that of the cluster, else of the machine."""
        return self.cluster or self.name

    @property
    def file(self) -> Path:
        """Return the file of its numbers; for a slice that of the card."""
        return self.path if self.slice is None else self.path.parent

    @property
    def capability(self) -> int:
        """Return the compute capability, 90 for ``sm_90`` and its variants; 0 if not NVIDIA's."""
        digits = self.arch.removeprefix("sm_").rstrip("af")
        return int(digits) if digits.isdecimal() else 0

    @property
    def sm_count(self) -> int:
        """Return the number of streaming multiprocessors, or of cores of a processor."""
        return int(self.facts["device.sm_count"].value)

    @property
    def launch_overhead_s(self) -> Rate | None:
        """Return the host time of one eager kernel launch, which no lower bound includes."""
        return self.device("launch_overhead_s")

    def takes(self, dtype: str) -> bool:
        """Return True if its matrix unit multiplies a type; always for processors."""
        return self.kind == "cpu" or (Unit.MATRIX, dtype) in self.compute

    def emulates(self, dtype: str) -> bool:
        """Return True if no unit of a GPU computes in a 16-bit type."""
        has = any((unit, dtype) in self.compute for unit in (Unit.MATRIX, Unit.VECTOR))
        return self.kind != "cpu" and dtype in ("f16", "bf16") and not has

    def device(self, key: str) -> Rate | None:
        """Return a number of ``[device]``, such as ``max_threads_per_sm``; None if not given."""
        return self.facts.get(f"device.{key}")

    def link(self, name: str) -> Rate | None:
        """Return the rate of the link ``host``, ``nvlink``, ``mesh`` or ``network``, or None."""
        return self.facts.get(f"link.{name}.bandwidth_bytes_per_s")

    @property
    def peer_count(self) -> int:
        """Return the number of GPUs to which each GPU of a mesh is linked; 0 without a mesh."""
        peers = self.facts.get("link.mesh.peer_count")
        return 0 if peers is None else int(peers.value)

    @property
    def direct_bytes_per_s(self) -> float:
        """Return the rate in one direction of all links to other GPUs; 0 without any.

        Files have the sum of both directions.
        """
        rate = self.link("nvlink") or self.link("mesh")
        return 0.0 if rate is None else rate.value / 2

    def joined_bytes_per_s(self, ranks: int) -> float:
        """Return the rate in one direction of direct links among ``ranks`` GPUs; 0 without any.

        Over a switch, as of NVLink, each pair of GPUs has the whole rate. In a mesh, each pair has
        one of a GPU's links.
        """
        whole, peers, reached = self.direct_bytes_per_s, self.peer_count, ranks - 1
        if not peers:
            return whole
        return whole * reached / peers if reached <= peers else 0.0

    @cached_property
    def adaptation(self) -> Mapping[str, Mapping[str, float]]:
        """Return the numbers of ``[adaptation]`` by the names of its tables."""
        numbers: dict[str, dict[str, float]] = {}
        for key, rate in self.facts.items():
            if key.startswith("adaptation."):
                name, _, number = key.removeprefix("adaptation.").rpartition(".")
                numbers.setdefault(name, {})[number] = rate.value
        return numbers

    def level(self, name: str) -> MemoryLevel | None:
        """Return the memory level ``l1``, ``l2`` or ``device``; None if not given."""
        return next((m for m in self.memory if m.name == name), None)

    def entry(self, unit: Unit, dtype: str, *, allow_tf32: bool = True) -> Peak:
        """Return the highest rates at which the machine can do such work, for lower bounds.

        Types that a unit does not have are computed in wider ones; the fastest candidate counts:

        - matrix: the type's own rate; else that of a matrix type holding all its values (tf32 for
          f32, f16 and bf16; f16 for 8-bit types; 8-bit types for 4-bit ones); or the vector unit.
          Runtimes use TF32 for f32 by default in places, so it counts unless ``allow_tf32`` is
          off.
        - vector: the type's own rate or that of f32; small integers packed in 32-bit lanes.
        - integer: the vector unit's integer rate.
        - special: the special-function unit, plus the vector unit at eight flop a function (the
          cheapest range reduction and polynomial), since a kernel may use both at once; twice
          the first for 16-bit types, which pack in pairs.
        - an unknown type: the fastest rate of the unit.
        """
        key = unit, dtype, allow_tf32
        peak = self._entries.get(key)
        if peak is None:
            peak = self._entries[key] = self._fastest(unit, dtype, allow_tf32=allow_tf32)
        return peak

    @cached_property
    def _entries(self) -> dict[tuple[Unit, str, bool], Peak]:
        """Return the cache of `entry`, as all kernels need the same few rates."""
        return {}

    def _fastest(self, unit: Unit, dtype: str, *, allow_tf32: bool) -> Peak:
        """Return `entry`, uncached."""
        match unit:
            case Unit.MATRIX:
                peaks = list(self._matrix(dtype, allow_tf32=allow_tf32))
            case Unit.VECTOR:
                peaks = list(self._vector(dtype))
            case Unit.INTEGER:
                peaks = list(self._vector(dtype if dtype[:1] in {"i", "u", "b"} else "i32"))
            case Unit.SPECIAL:
                return self._special(dtype)
        return max(peaks, key=lambda p: p.peak.value)

    def peak(self, unit: Unit, dtype: str, *, allow_tf32: bool = True) -> Rate:
        """Return the peak rate, for lower bounds, in operations/s; `entry` lists fallbacks."""
        return self.entry(unit, dtype, allow_tf32=allow_tf32).peak

    def sustained(self, unit: Unit, dtype: str, *, allow_tf32: bool = True) -> Rate | None:
        """Return the measured rate of the same unit and type; None if not measured."""
        return self.entry(unit, dtype, allow_tf32=allow_tf32).sustained

    def cite(self, rate: Rate) -> str:
        """Return the sources of a number as text: ``NVIDIA A100 … datasheet, 2021 (vendor)``."""
        parts = []
        for name in rate.source.split("+"):
            source = self.sources[name]
            date = f", {source.date}" if source.date else ""
            parts.append(f"{source.title}{date} ({source.origin.name.lower()})")
        return "; ".join(parts)

    def _matrix(self, dtype: str, *, allow_tf32: bool) -> Iterator[Peak]:
        """Yield the rates of matrix types that have all values of a type, then the vector unit."""
        code = SAME_MATRIX.get(dtype, dtype)
        # for a type in neither chain nothing is excluded: all listed ones are candidates
        listed = [d for u, d in self.compute if u is Unit.MATRIX]
        for name in MATRIX_CHAIN.get(code, () if code in VECTOR_CHAIN else listed):
            skip = name == "tf32" and code == "f32" and not allow_tf32
            if (Unit.MATRIX, name) in self.compute and not skip:
                yield self.compute[Unit.MATRIX, name]
        yield from self._vector(dtype)

    def _vector(self, dtype: str) -> Iterator[Peak]:
        """Yield the rates of vector types that have all values of a type, several in one lane."""
        code = SAME_MATRIX.get(dtype, dtype)
        listed = tuple((d, 1) for u, d in self.compute if u is Unit.VECTOR)
        chain = [c for c in VECTOR_CHAIN.get(code, listed) if (Unit.VECTOR, c[0]) in self.compute]
        for name, factor in chain or listed:
            peak = self.compute[Unit.VECTOR, name]
            yield peak if factor == 1 else _scaled(peak, factor, f"{factor} packed in a lane")

    def _special(self, dtype: str) -> Peak:
        """Return the rates of transcendental functions on special and vector units together."""
        vector = self.entry(Unit.VECTOR, dtype)
        note = f"vector unit, {_FLOP_PER_SPECIAL} flop each"
        share = _scaled(vector, 1 / _FLOP_PER_SPECIAL, note)
        special = self.compute.get((Unit.SPECIAL, dtype)) or self.compute.get((Unit.SPECIAL, "f32"))
        if special is None:
            return share
        factor = 2 if dtype in _HALF and (Unit.SPECIAL, dtype) not in self.compute else 1
        total = Rate(
            special.peak.value * factor + share.peak.value,
            max(special.peak.origin, share.peak.origin, Origin.BOUND),
            "+".join(dict.fromkeys((special.peak.source + "+" + share.peak.source).split("+"))),
            f"special-function unit beside the vector unit at {_FLOP_PER_SPECIAL} flop each",
            special.peak.key,
        )
        return Peak(total, special.nominal, special.sustained)


def _scaled(peak: Peak, factor: float, note: str) -> Peak:
    """Return the rates times ``factor``, without rounds of measurements."""

    def scale(rate: Rate) -> Rate:
        origin = max(rate.origin, Origin.BOUND)
        return replace(rate, value=rate.value * factor, origin=origin, note=note, spread=None)

    return Peak(scale(peak.peak), scale(peak.nominal))


@record
class Listing:
    """Names and description of a target for lists, read without parsing its file."""

    name: str
    aliases: tuple[str, ...]
    kind: str
    description: str
    path: Path
    shipped: bool
