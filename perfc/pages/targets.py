"""A target side by side: the most the hardware can give, the maker's figure, what was measured."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass

from perfc.machine import Listing, Machine, Rate
from perfc.machine import Unit as Part
from perfc.report.units import Unit, quantity

SCHEMA = "perfc.target/1"


@dataclass(frozen=True, slots=True)
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


def list_text(found: tuple[Listing, ...]) -> str:
    """The targets, one a line."""
    width = max((len(t.name) for t in found), default=0)
    lines = []
    for t in found:
        own = "" if t.shipped else f"  [{t.path}]"
        also = f"; also {', '.join(t.aliases)}" if t.aliases else ""
        lines.append(f"{t.name:{width}}  {t.description}{also}{own}")
    return "\n".join(lines) + "\n"


def list_json(found: tuple[Listing, ...]) -> str:
    """The targets as data."""
    import json

    data = [
        {
            "name": t.name,
            "aliases": list(t.aliases),
            "kind": t.kind,
            "description": t.description,
            "shipped": t.shipped,
        }
        for t in found
    ]
    return json.dumps({"schema": "perfc.targets/1", "targets": data}, indent=2) + "\n"


HEAD = ("rate", "best (floor)", "maker", "measured", "reached", "capacity", "from")


def _cells(machine: Machine, r: Row, numbers: Mapping[str, int]) -> tuple[str, ...]:
    cited = [r.best, r.nominal, *([r.measured] if r.measured else [])]
    names = dict.fromkeys(n for rate in cited for n in rate.source.split("+"))
    measured = quantity(r.measured.value, r.unit) if r.measured else ""
    reached = quantity(r.reached, Unit.SHARE) if r.reached is not None else ""
    capacity = quantity(r.capacity_bytes, Unit.BYTE) if r.capacity_bytes else ""
    sources = " ".join(f"[{numbers[n]}]" for n in names)
    best, nominal = quantity(r.best.value, r.unit), quantity(r.nominal.value, r.unit)
    return (r.name, best, nominal, measured, reached, capacity, sources)


def _others(machine: Machine) -> Iterator[tuple[str, str, str]]:
    for key, rate in machine.facts.items():
        if key.startswith(("device.", "link.")):
            yield key, f"{rate.value:g}", rate.source


def show_text(machine: Machine, *, markdown: bool = False) -> str:
    """All rates side by side, the other numbers, and the numbered sources."""
    numbers = {name: i for i, name in enumerate(machine.sources, 1)}
    table = [HEAD, *(_cells(machine, r, numbers) for r in rows(machine))]
    others = [(k, v, f"[{numbers[s]}]") for k, v, s in _others(machine)]
    lines = [f"{machine.name}: {machine.description}"]
    if machine.aliases:
        lines.append(f"also {', '.join(machine.aliases)}")
    if markdown:
        lines = [f"## {machine.name}", "", f"{machine.description}.", ""]
        lines += [*_markdown(table), "", *_markdown([("key", "value", "from"), *others])]
    else:
        lines += ["", *_columns(table), "", *_columns(others)]
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


def show_json(machine: Machine) -> str:
    """The same as data, with the sources' own words."""
    import json

    def rate(r: Rate | None) -> dict[str, object] | None:
        if r is None:
            return None
        return {
            "value": r.value,
            "origin": str(r.origin),
            "key": r.key,
            "from": r.source.split("+"),
            "note": r.note,
        }

    data = {
        "schema": SCHEMA,
        "name": machine.name,
        "aliases": list(machine.aliases),
        "kind": machine.kind,
        "vendor": machine.vendor,
        "arch": machine.arch,
        "description": machine.description,
        "rates": [
            {
                "name": r.name,
                "unit": r.unit.value,
                "best": rate(r.best),
                "nominal": rate(r.nominal),
                "measured": rate(r.measured),
                "capacity_bytes": r.capacity_bytes,
            }
            for r in rows(machine)
        ],
        "facts": {key: rate(r) for key, r in machine.facts.items()},
        "sources": {
            name: {**asdict(s), "origin": str(s.origin)} for name, s in machine.sources.items()
        },
    }
    return json.dumps(data, indent=2) + "\n"
