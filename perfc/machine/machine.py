"""Capabilities of a target machine: rates by unit and element type, memory levels, sources.

Two readings of every rate. `peak` and `bandwidth` are the most the hardware can ever give, so a
time computed from them is a floor; `sustained` is what somebody measured, where somebody did.
`nominal` is the figure a data sheet prints, for display. The first differs from the last where
the clock exceeds the rated one, or where the sheet rounds down.
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
    """Arithmetic units that work side by side, so that the slowest of them binds."""

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
"""A median whose best round is better by more than this share of it is marked as uncertain."""


@record
class Spread:
    """The rounds of a measurement whose median a number is.

    Others who use the machine make a round slower and never faster. So what the machine can do
    lies between the median and the best round, or a little beyond it.

    Args:
        rounds: that nothing disturbed; 0 where other programs ran in every one.
        best: round, in the number's unit: the highest rate, or the shortest time.
        worst: round.
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
        value: in SI base units: flop/s, operations/s, bytes/s, bytes, hertz, watt, seconds.
        origin: the weakest origin among the numbers it is computed from.
        source: names of the file's ``[source.…]`` tables, joined by ``+`` when several.
        note: what the value leaves out, or how it is derived.
        key: the target file's key, ``compute.matrix.f16.peak_flop_per_s``.
        spread: spread of the rounds it is the median of; None where the file states none.
    """

    value: float
    origin: Origin
    source: str
    note: str = ""
    key: str = ""
    spread: Spread | None = None

    @property
    def is_uncertain(self) -> bool:
        """Return True if it was measured and did not repeat well."""
        return self.spread is not None and self.spread.is_uncertain(self.value)


@record
class Peak:
    """Rates of one unit for one element type; a multiply–accumulate is two operations."""

    peak: Rate
    nominal: Rate
    sustained: Rate | None = None


@record
class MemoryLevel:
    """One level of the memory hierarchy, all its instances on the device together.

    ``bandwidth`` counts reads and writes together. ``capacity_bytes`` is what the board carries;
    ``usable`` is the part that the runtime reports as total (``cudaMemGetInfo``, PyTorch's
    ``total_memory``), after ECC and what the driver and its firmware reserve.
    """

    name: str
    capacity_bytes: int
    bandwidth: Rate
    nominal: Rate
    sustained: Rate | None = None
    usable: Rate | None = None

    @property
    def usable_bytes(self) -> int:
        """Return the memory that processes can allocate; the capacity where no file says less."""
        return self.capacity_bytes if self.usable is None else int(self.usable.value)


_FLOP_PER_SPECIAL = 8
"""The cheapest range reduction and polynomial: a lower bound must not count more."""
_HALF = frozenset({"f16", "bf16"})
"""Special functions of these run in pairs, at twice the rate of f32, where a target has no rate."""


@frozen
class Machine:
    """A target: everything the roofline asks about a machine.

    Args:
        compute: by unit and element type, as the file lists them; use the methods to look up.
        memory: in order L1, L2, device; a level the file does not have is left out.
        facts: every number of the file under its key, with its source.
        path: the file it was read from; of a slice that of its card and the profile's name.
        cluster: name of the cluster whose GPU it is; "" for a machine alone.
        slice: the profile of a card that it is; None for a whole card.
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
        """Return the name in tables: of the cluster, else of the machine."""
        return self.cluster or self.name

    @property
    def file(self) -> Path:
        """Return the file of its numbers; for a slice that of the card."""
        return self.path if self.slice is None else self.path.parent

    @property
    def capability(self) -> int:
        """Return the compute capability, 90 for ``sm_90`` and its variants; 0 for other makers."""
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
        """Return the rate of the link ``host``, ``nvlink``, ``mesh`` or ``network``.

        None if unstated.
        """
        return self.facts.get(f"link.{name}.bandwidth_bytes_per_s")

    @property
    def peer_count(self) -> int:
        """Return GPUs to each of which a link of a separate mesh leads; 0 if there is no mesh."""
        peers = self.facts.get("link.mesh.peer_count")
        return 0 if peers is None else int(peers.value)

    @property
    def direct_bytes_per_s(self) -> float:
        """Return one direction of all links to other GPUs; files state both; 0 without any."""
        rate = self.link("nvlink") or self.link("mesh")
        return 0.0 if rate is None else rate.value / 2

    def joined_bytes_per_s(self, ranks: int) -> float:
        """Return the rate in one direction of direct links among ``ranks`` GPUs; 0 without any.

        A switch, as of NVLink, gives each pair of GPUs all of it. In a mesh a GPU reaches each of
        the others over one link.
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
        """Return the fastest way this machine has to do such work; never below what it can do.

        What the unit lacks is done by something wider, and the fastest candidate counts:

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
        """Return the cache of `entry`, as kernels need the same few rates."""
        return {}

    def _fastest(self, unit: Unit, dtype: str, *, allow_tf32: bool) -> Peak:
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
        code = SAME_MATRIX.get(dtype, dtype)
        # a type that neither chain knows may be any, so that all listed ones are candidates
        listed = [d for u, d in self.compute if u is Unit.MATRIX]
        for name in MATRIX_CHAIN.get(code, () if code in VECTOR_CHAIN else listed):
            skip = name == "tf32" and code == "f32" and not allow_tf32
            if (Unit.MATRIX, name) in self.compute and not skip:
                yield self.compute[Unit.MATRIX, name]
        yield from self._vector(dtype)

    def _vector(self, dtype: str) -> Iterator[Peak]:
        code = SAME_MATRIX.get(dtype, dtype)
        listed = tuple((d, 1) for u, d in self.compute if u is Unit.VECTOR)
        chain = [c for c in VECTOR_CHAIN.get(code, listed) if (Unit.VECTOR, c[0]) in self.compute]
        for name, factor in chain or listed:
            peak = self.compute[Unit.VECTOR, name]
            yield peak if factor == 1 else _scaled(peak, factor, f"{factor} packed in a lane")

    def _special(self, dtype: str) -> Peak:
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
    """One target as ``perfc targets list`` shows it, read without parsing the file."""

    name: str
    aliases: tuple[str, ...]
    kind: str
    description: str
    path: Path
    shipped: bool
