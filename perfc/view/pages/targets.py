"""Text and Markdown of targets: peak, vendor's and measured rates."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from perfc.errors import TargetError
from perfc.ir import record
from perfc.machine import Cluster, Listing, Machine, Rate, load_machine
from perfc.machine import Unit as Part
from perfc.view.report.units import Unit, quantity, size_text


@record
class RateRow:
    """One rate: peak, vendor's and measured.

    Args:
        name: ``matrix f16``, ``L2``.
        best: peak rate, used for lower bounds.
        nominal: rate from the vendor.
        measured: highest measured rate; None if not measured.
        unit: unit of the rates.
        capacity_bytes: capacity of a memory level.
    """

    name: str
    best: Rate
    nominal: Rate
    measured: Rate | None
    unit: Unit
    capacity_bytes: int | None = None

    @property
    def reached(self) -> float | None:
        """Return the measured rate over the vendor's."""
        return None if self.measured is None else self.measured.value / self.nominal.value


_LEVELS = {"l1": "L1", "l2": "L2", "device": "device memory"}


def rows(machine: Machine) -> Iterator[RateRow]:
    """Yield every rate of a machine: units by element type, then memory levels."""
    for (part, dtype), peak in machine.compute.items():
        is_flop = part in (Part.MATRIX, Part.VECTOR) and dtype[0] in "fbt"  # f16, bf16, tf32
        unit = Unit.FLOP_PER_S if is_flop else Unit.OP_PER_S
        yield RateRow(f"{part.value} {dtype}", peak.peak, peak.nominal, peak.sustained, unit)
    for level in machine.memory:
        yield RateRow(
            _LEVELS.get(level.name, level.name),
            level.bandwidth,
            level.nominal,
            level.sustained,
            Unit.BYTE_PER_S,
            level.capacity_bytes,
        )


LISTED = ("f32", "f16", "i8")
"""Element types of matrix rates in the list."""


@record
class Listed:
    """A target in the list with the vendor's figures; None if it has none.

    Args:
        listing: name and origin of the target.
        memory_bytes: device memory.
        bandwidth_bytes_per_s: bandwidth of device memory.
        matrix_per_s: operations per second of the fastest unit for each of ``LISTED``.
        problem: why the file cannot be read; empty if it can.
    """

    listing: Listing
    memory_bytes: int | None = None
    bandwidth_bytes_per_s: float | None = None
    matrix_per_s: tuple[float, ...] = ()
    problem: str = ""

    @classmethod
    def of(cls, listing: Listing) -> Listed:
        """Return the figures of a target, or the problem of its file."""
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


def list_text(listings: tuple[Listing, ...]) -> str:
    """Return the list of targets with their rates, one per line."""
    head = ("target", "memory", "bandwidth", *(f"matrix {d}" for d in LISTED), "machine")
    table = [head, *(_listed(Listed.of(t)) for t in listings)]
    note = (
        "matrix: the fastest matrix unit for the type, TF32 for f32; `targets show` has all rates"
    )
    return "\n".join([*_columns(table), "", note]) + "\n"


def clusters_text(clusters: tuple[Listing, ...]) -> str:
    """Return the list of clusters with the links of a node, one per line."""
    head = ("cluster", "GPUs/node", "NVLink/GPU", "network/node", "nodes")
    table = [head, *(_cluster(t) for t in clusters)]
    note = "rates are per direction; `-t CLUSTER` selects its GPU with these links"
    return "\n".join([*_columns(table), "", note]) + "\n"


def _cluster(t: Listing) -> tuple[str, ...]:
    origin = "" if t.shipped else f"  [{t.path}]"
    also = f"; also {', '.join(t.aliases)}" if t.aliases else ""
    try:
        c = Cluster.of(load_machine(t.path))
    except TargetError as error:
        return t.name, "", "", "", f"cannot be read: {error.message}{origin}"
    nvlink = quantity(c.nvlink_bytes_per_s, Unit.BYTE_PER_S) if c.nvlink_bytes_per_s else "none"
    network = quantity(c.network_bytes_per_s, Unit.BYTE_PER_S)
    return t.name, str(c.gpus_per_node), nvlink, network, f"{t.description}{also}{origin}"


def _listed(t: Listed) -> tuple[str, ...]:
    origin = "" if t.listing.shipped else f"  [{t.listing.path}]"
    also = f"; also {', '.join(t.listing.aliases)}" if t.listing.aliases else ""
    rates = [quantity(rate, Unit.OP_PER_S) for rate in t.matrix_per_s] or [""] * len(LISTED)
    memory = size_text(t.memory_bytes) if t.memory_bytes else ""
    bandwidth = quantity(t.bandwidth_bytes_per_s, Unit.BYTE_PER_S) if t.memory_bytes else ""
    about = f"cannot be read: {t.problem}" if t.problem else f"{t.listing.description}{also}"
    return t.listing.name, memory, bandwidth, *rates, f"{about}{origin}"


HEAD = ("rate", "peak", "vendor", "measured", "measured/vendor", "capacity", "source")
ROUNDS = ("worst to best round", "rounds", "")
"""Additional columns of a target with the spread of its measurements."""


def _rounds(rate: Rate | None, shown: Callable[[float], str]) -> tuple[str, ...]:
    """Return the spread of a measurement; empty if the file has none."""
    if rate is None or rate.spread is None:
        return ("",) * len(ROUNDS)
    spread = rate.spread
    mark = "uncertain" if rate.is_uncertain else ""
    return f"{shown(spread.worst)} to {shown(spread.best)}", str(spread.rounds), mark


def _cells(r: RateRow, numbers: Mapping[str, int], *, spread: bool) -> tuple[str, ...]:
    """Return the cells of a rate; ``numbers`` are those of sources, ``spread`` adds `ROUNDS`."""
    cited = [r.best, r.nominal, *([r.measured] if r.measured else [])]
    names = dict.fromkeys(n for rate in cited for n in rate.source.split("+"))
    measured = quantity(r.measured.value, r.unit) if r.measured else ""
    reached = quantity(r.reached, Unit.SHARE) if r.reached is not None else ""
    capacity = size_text(r.capacity_bytes) if r.capacity_bytes else ""
    sources = " ".join(f"[{numbers[n]}]" for n in names)
    best, nominal = quantity(r.best.value, r.unit), quantity(r.nominal.value, r.unit)
    rounds = _rounds(r.measured, lambda v: quantity(v, r.unit)) if spread else ()
    return (r.name, best, nominal, measured, reached, capacity, *rounds, sources)


def _others(
    machine: Machine, numbers: Mapping[str, int], *, spread: bool
) -> Iterator[tuple[str, ...]]:
    """Yield numbers other than rates: device, links, nodes, and measured ones with their spread."""
    for key, rate in machine.facts.items():
        if key.startswith(("device.", "link.", "node.")) or (spread and _is_aside(key, rate)):
            rounds = _rounds(rate, lambda v: f"{v:g}") if spread else ()
            cited = " ".join(f"[{numbers[name]}]" for name in rate.source.split("+"))
            yield key, f"{rate.value:g}", *rounds, cited


def _is_aside(key: str, rate: Rate) -> bool:
    """Return True if a measured number is not in the row of its unit or level."""
    return rate.spread is not None and not key.rpartition(".")[2].startswith("sustained_")


def show_text(machine: Machine, *, markdown: bool = False) -> str:
    """Return all rates, other numbers, and numbered sources."""
    numbers = {name: i for i, name in enumerate(machine.sources, 1)}
    spread = any(rate.spread is not None for rate in machine.facts.values())
    more = ROUNDS if spread else ()
    table = [
        # sources stay the last column, which is aligned to the left
        (*HEAD[:-1], *more, HEAD[-1]),
        *(_cells(r, numbers, spread=spread) for r in rows(machine)),
    ]
    others = [("key", "value", *more, "from"), *_others(machine, numbers, spread=spread)]
    gpu = f" (each GPU {machine.name})" if machine.cluster else ""
    lines = [f"{machine.label}: {machine.description}{gpu}"]
    if machine.aliases:
        lines.append(f"also {', '.join(machine.aliases)}")
    if markdown:
        lines = [f"## {machine.label}", "", f"{machine.description}{gpu}.", ""]
        lines += [*_markdown(table), "", *_markdown(others)]
    else:
        # without the spread, keys and values need no heading
        lines += ["", *_columns(table), "", *_columns(others[0 if spread else 1 :])]
    lines.append("")
    for name, source in machine.sources.items():
        date = f", {source.date}" if source.date else ""
        note = f"; {source.note}" if source.note else ""
        mark = "- " if markdown else ""
        lines.append(f"{mark}[{numbers[name]}] {source.title}{date} ({source.origin}){note}")
    return "\n".join(lines) + "\n"


def _columns(table: Sequence[tuple[str, ...]]) -> Iterator[str]:
    """Yield lines with the first and last column left-aligned, the others right-aligned."""
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
