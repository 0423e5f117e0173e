"""Result of a calibration: ceilings with their peaks, changes and uncertainty."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from perfc.ir import record
from perfc.machine import Machine, Rate, Unit


@record
class CeilingRow:
    """Measured rate of a ceiling, with its peak rate from a data sheet or a bound.

    Args:
        key: key of the rate in the target file.
        spec: peak rate that the ceiling is compared with; None if the target file has none.
        measured: measured rate, with the spread of its rounds.
    """

    key: str
    spec: Rate | None
    measured: Rate


@record
class ChangedRate:
    """Number of the target file before and after the calibration; None where a file lacks it."""

    key: str
    before: float | None
    after: float | None


@record
class CalibratedTarget:
    """Written target file, with its summary.

    Args:
        machine: target of the file.
        path: the file.
        samples: file of all measurements.
        rows: measured ceilings.
        changes: numbers that differ from those of the file that it replaces.
        replaced: whether it replaces a file.
        notes: remarks for the user.
        elapsed_s: wall time of the calibration.
    """

    machine: Machine
    path: Path
    samples: Path
    rows: tuple[CeilingRow, ...]
    changes: tuple[ChangedRate, ...]
    replaced: bool
    notes: tuple[str, ...]
    elapsed_s: float

    @property
    def uncertain(self) -> tuple[CeilingRow, ...]:
        """Return the ceilings that did not repeat well, the one that spreads most first."""
        rows = [r for r in self.rows if r.measured.is_uncertain]
        return tuple(sorted(rows, key=_doubt, reverse=True))


def _doubt(row: CeilingRow) -> tuple[bool, float]:
    """Return a key that sorts by doubt: ceilings of a single round rank highest, then by spread."""
    spread = row.measured.spread
    assert spread is not None  # `rows` takes only rates with a spread
    return spread.rounds < 2, spread.share(row.measured.value)


def peak(machine: Machine, key: str) -> Rate | None:
    """Return the peak of a sustained rate; None if the target has none.

    Keys are like ``memory.l2.sustained_bandwidth_bytes_per_s``,
    ``compute.matrix.f16.sustained_flop_per_s`` or ``link.NAME.sustained_…``.
    """
    table, _, field = key.rpartition(".")
    kind, _, name = table.partition(".")
    if kind == "memory" and field.startswith("sustained"):
        level = machine.level(name)
        return level.bandwidth if level else None
    if kind == "compute" and field.startswith("sustained"):
        unit, _, dtype = name.partition(".")
        rates = machine.compute.get((Unit(unit), dtype))
        return rates.peak if rates else None
    if field.startswith("sustained"):
        return machine.facts.get(f"{table}.{field.removeprefix('sustained_')}")
    return None


def rows(machine: Machine) -> Iterator[CeilingRow]:
    """Yield the ceilings in the order of the file.

    A ceiling is a rate with a spread: only rounds of measurements give one.
    """
    for key, rate in machine.facts.items():
        if rate.spread is not None:
            yield CeilingRow(key, peak(machine, key), rate)


def changes(before: Machine | None, after: Machine) -> Iterator[ChangedRate]:
    """Yield the numbers that differ by more than half a per cent; less is not worth a line.

    They are in the order of the new file, then those that only the old one has.
    """
    if before is None:
        return
    for key in dict.fromkeys((*after.facts, *before.facts)):
        old, new = (m.facts[key].value if key in m.facts else None for m in (before, after))
        if old is None or new is None or abs(new - old) > 0.005 * old:
            yield ChangedRate(key, old, new)
