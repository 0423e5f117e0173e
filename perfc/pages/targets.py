"""A target side by side: the most the hardware can give, the maker's figure, what was measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from perfc.errors import TargetError
from perfc.ir.record import record
from perfc.machine import Cluster, Listing, Machine, Rate, load_machine
from perfc.machine import Unit as Part
from perfc.report.units import Unit, quantity


@record
class Row:
    """One rate in its three readings.

    Args:
        name: ``matrix f16``, ``L2``.
        best: used for floors.
        nominal: the maker's figure.
        measured: the best anybody is known to have reached, None where nobody measured.
        unit: of the three.
        capacity_bytes: of a memory level.
    """

    name: str
    best: Rate
    nominal: Rate
    measured: Rate | None
    unit: Unit
    capacity_bytes: int | None = None

    @property
    def reached(self) -> float | None:
        """Measured as a share of the maker's figure."""
        return None if self.measured is None else self.measured.value / self.nominal.value


_LEVELS = {"l1": "L1", "l2": "L2", "device": "device memory"}


def rows(machine: Machine) -> Iterator[Row]:
    """Every rate of a machine: units by element type, then memory levels."""
    for (part, dtype), peak in machine.compute.items():
        is_flop = part in (Part.MATRIX, Part.VECTOR) and dtype[0] in "fbt"
        unit = Unit.FLOP_PER_S if is_flop else Unit.OP_PER_S
        yield Row(f"{part.value} {dtype}", peak.peak, peak.nominal, peak.sustained, unit)
    for level in machine.memory:
        yield Row(
            _LEVELS.get(level.name, level.name),
            level.bandwidth,
            level.nominal,
            level.sustained,
            Unit.BYTE_PER_S,
            level.capacity_bytes,
        )


LISTED = ("f32", "f16", "i8")
"""Element types whose matrix rates the list shows."""


@record
class Listed:
    """A target in the list, with the maker's figures; None where it has no such number.

    Args:
        listing: its name and where it is from.
        memory_bytes: of the device.
        bandwidth_bytes_per_s: of the device's memory.
        matrix_per_s: operations a second in each of ``LISTED``, the fastest way of doing them.
        problem: why the file cannot be read, empty where it can.
    """

    listing: Listing
    memory_bytes: int | None = None
    bandwidth_bytes_per_s: float | None = None
    matrix_per_s: tuple[float, ...] = ()
    problem: str = ""

    @classmethod
    def of(cls, listing: Listing) -> Listed:
        """The figures of a target; what is wrong with its file is said in their place."""
        try:
            machine = load_machine(listing.path)
        except TargetError as error:
            return cls(listing, problem=error.message)
        device = machine.level("device")
        rates = (machine.entry(Part.MATRIX, dtype).nominal.value for dtype in LISTED)
        return cls(
            listing,
            device.capacity_bytes if device else None,
            device.nominal.value if device else None,
            tuple(rates),
        )


def list_text(found: tuple[Listing, ...]) -> str:
    """The targets, one a line, with their rates side by side."""
    head = ("target", "memory", "bandwidth", *(f"matrix {d}" for d in LISTED), "machine")
    table = [head, *(_listed(Listed.of(t)) for t in found)]
    note = (
        "matrix: the fastest matrix unit for the type, TF32 for f32; `targets show` has all rates"
    )
    return "\n".join([*_columns(table), "", note]) + "\n"


def clusters_text(found: tuple[Listing, ...]) -> str:
    """The clusters, one a line, with the links of a node; rates are of one direction."""
    head = ("cluster", "GPUs/node", "NVLink/GPU", "network/node", "nodes")
    table = [head, *(_cluster(t) for t in found)]
    note = "rates are per direction; `-t CLUSTER` selects its GPU with these links"
    return "\n".join([*_columns(table), "", note]) + "\n"


def _cluster(t: Listing) -> tuple[str, ...]:
    own = "" if t.shipped else f"  [{t.path}]"
    also = f"; also {', '.join(t.aliases)}" if t.aliases else ""
    try:
        c = Cluster.of(load_machine(t.path))
    except TargetError as error:
        return t.name, "", "", "", f"cannot be read: {error.message}{own}"
    nvlink = quantity(c.nvlink_bytes_per_s, Unit.BYTE_PER_S) if c.nvlink_bytes_per_s else "none"
    network = quantity(c.network_bytes_per_s, Unit.BYTE_PER_S)
    return t.name, str(c.gpus_per_node), nvlink, network, f"{t.description}{also}{own}"


def _listed(t: Listed) -> tuple[str, ...]:
    own = "" if t.listing.shipped else f"  [{t.listing.path}]"
    also = f"; also {', '.join(t.listing.aliases)}" if t.listing.aliases else ""
    rates = [quantity(rate, Unit.OP_PER_S) for rate in t.matrix_per_s] or [""] * len(LISTED)
    memory = quantity(t.memory_bytes, Unit.BYTE) if t.memory_bytes else ""
    bandwidth = quantity(t.bandwidth_bytes_per_s, Unit.BYTE_PER_S) if t.memory_bytes else ""
    about = f"cannot be read: {t.problem}" if t.problem else f"{t.listing.description}{also}"
    return t.listing.name, memory, bandwidth, *rates, f"{about}{own}"


HEAD = ("rate", "peak", "vendor", "measured", "measured/vendor", "capacity", "source")
ROUNDS = ("worst to best round", "rounds", "")
"""Columns of a target that states how far its measurements spread, before the last one."""


def _rounds(rate: Rate | None, shown: Callable[[float], str]) -> tuple[str, ...]:
    """How far a number's rounds spread; empty where the file does not say."""
    if rate is None or rate.spread is None:
        return ("",) * len(ROUNDS)
    spread = rate.spread
    mark = "uncertain" if rate.is_uncertain else ""
    return f"{shown(spread.worst)} to {shown(spread.best)}", str(spread.rounds), mark


def _cells(r: Row, numbers: Mapping[str, int], *, spread: bool) -> tuple[str, ...]:
    cited = [r.best, r.nominal, *([r.measured] if r.measured else [])]
    names = dict.fromkeys(n for rate in cited for n in rate.source.split("+"))
    measured = quantity(r.measured.value, r.unit) if r.measured else ""
    reached = quantity(r.reached, Unit.SHARE) if r.reached is not None else ""
    capacity = quantity(r.capacity_bytes, Unit.BYTE) if r.capacity_bytes else ""
    sources = " ".join(f"[{numbers[n]}]" for n in names)
    best, nominal = quantity(r.best.value, r.unit), quantity(r.nominal.value, r.unit)
    rounds = _rounds(r.measured, lambda v: quantity(v, r.unit)) if spread else ()
    return (r.name, best, nominal, measured, reached, capacity, *rounds, sources)


def _others(
    machine: Machine, numbers: Mapping[str, int], *, spread: bool
) -> Iterator[tuple[str, ...]]:
    """Numbers of no unit and no level: those of the device, links, latencies, single cores."""
    for key, rate in machine.facts.items():
        if key.startswith(("device.", "link.", "node.")) or (spread and _is_aside(key, rate)):
            rounds = _rounds(rate, lambda v: f"{v:g}") if spread else ()
            cited = " ".join(f"[{numbers[name]}]" for name in rate.source.split("+"))
            yield key, f"{rate.value:g}", *rounds, cited


def _is_aside(key: str, rate: Rate) -> bool:
    """Whether a measured number stands in no row of its unit or level."""
    return rate.spread is not None and not key.rpartition(".")[2].startswith("sustained_")


def show_text(machine: Machine, *, markdown: bool = False) -> str:
    """All rates side by side, the other numbers, and the numbered sources."""
    numbers = {name: i for i, name in enumerate(machine.sources, 1)}
    spread = any(rate.spread is not None for rate in machine.facts.values())
    more = ROUNDS if spread else ()
    table = [
        (*HEAD[:-1], *more, HEAD[-1]),
        *(_cells(r, numbers, spread=spread) for r in rows(machine)),
    ]
    others = [("key", "value", *more, "from"), *_others(machine, numbers, spread=spread)]
    of = f" (each GPU {machine.name})" if machine.cluster else ""
    lines = [f"{machine.label}: {machine.description}{of}"]
    if machine.aliases:
        lines.append(f"also {', '.join(machine.aliases)}")
    if markdown:
        lines = [f"## {machine.label}", "", f"{machine.description}{of}.", ""]
        lines += [*_markdown(table), "", *_markdown(others)]
    else:
        lines += ["", *_columns(table), "", *_columns(others[0 if spread else 1 :])]
    lines.append("")
    for name, source in machine.sources.items():
        date = f", {source.date}" if source.date else ""
        note = f"; {source.note}" if source.note else ""
        mark = "- " if markdown else ""
        lines.append(f"{mark}[{numbers[name]}] {source.title}{date} ({source.origin}){note}")
    return "\n".join(lines) + "\n"


def _columns(table: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """First and last column to the left, the numbers between them to the right."""
    widths = [max(len(row[i]) for row in table) for i in range(len(table[0]))]
    for row in table:
        middle = [f"{c:>{w}}" for c, w in zip(row[1:-1], widths[1:-1], strict=True)]
        yield "  ".join([f"{row[0]:{widths[0]}}", *middle, row[-1]]).rstrip()


def _markdown(table: Sequence[tuple[str, ...]]) -> Iterator[str]:
    head, *body = table
    yield f"| {' | '.join(head)} |"
    yield f"| --- |{' ---: |' * (len(head) - 2)} --- |"
    for row in body:
        yield f"| {' | '.join(row)} |"
