"""The text of a target file: numbers grouped into tables, each with its source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from perfc.ir import record
from perfc.machine import Spread

_ORDER = ("device", "compute.matrix", "compute.vector", "compute.special", "memory", "link")
"""Beginnings of tables in the order of the file."""


@record
class Number:
    """One line of the file.

    Args:
        key: ``compute.matrix.f16.peak_flop_per_s``.
        source: a ``[source.…]`` table.
        n: number of samples, 0 if it was not measured.
        iqr: distance between the quartiles of the samples, in the key's unit.
        spread: spread of the rounds whose median the value is; None without rounds.
    """

    key: str
    value: float
    source: str
    note: str = ""
    n: int = 0
    iqr: float = 0.0
    spread: Spread | None = None

    def line(self) -> str:
        """Return ``value`` and its properties, without the table's name."""
        # rounded in the same way, so that a median stays between its rounds
        value = self.value if self.spread is None else _six_digits(self.value)
        fields = [f"value = {_number(value)}", f'from = "{self.source}"']
        if self.n:
            fields += [f"n = {self.n}", f"iqr = {_number(float(f'{self.iqr:.3g}'))}"]
        if self.spread is not None:
            best, worst = map(_six_digits, (self.spread.best, self.spread.worst))
            fields.append(f"rounds = {self.spread.rounds}")
            fields += [f"best = {_number(best)}", f"worst = {_number(worst)}"]
        if self.note:
            fields.append(f"note = {_text(self.note)}")
        return f"{self.key.rpartition('.')[2]} = {{ {', '.join(fields)} }}"


def _six_digits(value: float) -> float:
    """Return a number rounded to six digits."""
    return float(f"{value:.6g}")


def _number(value: float) -> str:
    """Return integers below 1e7 and multiples of 1 KiB exactly, other numbers with six digits.

    Integers from 1e15 on get six digits as well, as a float may not hold them exactly.
    """
    if value == int(value) and abs(value) < 1e15 and (abs(value) < 1e7 or value % 1024 == 0):
        return str(int(value))
    text = f"{value:.6g}".replace("e+0", "e").replace("e+", "e").replace("e-0", "e-")
    return text if any(c in text for c in ".e") else f"{text}.0"


def _text(value: str) -> str:
    """Return a TOML string of one line, as `perfc.machine.schema` accepts: at most 400 characters.

    Characters that it forbids become spaces.
    """
    plain = "".join(c if c.isprintable() and c not in '|`"\\' else " " for c in value)
    return f'"{plain[:400].strip()}"'


def render(
    top: Mapping[str, str], sources: Mapping[str, Mapping[str, str]], numbers: Iterable[Number]
) -> str:
    """Return the whole file; the later of two numbers with one key counts."""
    last = {n.key: n for n in numbers}
    lines = ["schema = 1"]
    for key, value in top.items():
        lines.append(f"{key} = {_text(value)}")
        # a measured machine has no other names
        if key == "name":
            lines.append("aliases = []")
    used = {n.source for n in last.values()}
    for name, fields in sources.items():
        if name in used:
            lines += ["", f"[source.{name}]"]
            lines += [f"{k} = {_text(v)}" for k, v in fields.items() if v]
    tables: dict[str, list[Number]] = {}
    for number in last.values():
        tables.setdefault(number.key.rpartition(".")[0], []).append(number)
    for table in sorted(tables, key=_place):
        lines += ["", f"[{table}]", *(n.line() for n in tables[table])]
    return "\n".join(lines) + "\n"


def _place(table: str) -> tuple[int, int, str]:
    """Return the sort key of a table: its group, its memory level, its name."""
    first = next((i for i, p in enumerate(_ORDER) if table.startswith(p)), len(_ORDER))
    inside = ("memory.l1", "memory.l2_private", "memory.l2", "memory.device")
    return first, inside.index(table) if table in inside else 0, table
