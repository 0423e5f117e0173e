"""Schema of target files: allowed keys, and a reader that returns a machine or all problems.

A file is TOML with one number per line, ``key = { value = …, from = "…", note = "…" }``; the key
ends in its SI unit, ``from`` names a ``[source.…]`` table. Files are untrusted, so values are
bounded and texts are plain.
"""

from __future__ import annotations

import datetime
import math
import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import cast

from perfc.common.fitted import data_next_to
from perfc.common.toml_file import remembered
from perfc.errors import reason_of
from perfc.ir import Origin

from .folders import SHIPPED
from .machine import Machine, MemoryLevel, Peak, Rate, Source, Spread, Unit
from .magnitudes import implausible

NAME = re.compile(r"[a-z0-9]+(?:[.-][a-z0-9]+)*")
"""Names of targets, which are names of files too."""
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
"""Names of sources, which need no quotes in TOML."""
_CLASS = re.compile(r"[A-Za-z0-9_.+-]{1,80}")
"""Names of classes of kernels in ``[adaptation.CLASS]``."""
_ORIGINS = {o.name.lower(): o for o in (Origin.VENDOR, Origin.MEASURED, Origin.ASSUMED)}
"""Origins that a file may give; others are of numbers that perfc computes."""
_DATA = data_next_to(__file__)
_KINDS = _DATA["kinds"]
"""Kinds of machines."""
_TOP = _DATA["top"]
"""Required texts of a file, at its top level."""
_SOURCE = _DATA["source"]
"""Keys of a source."""
_ROUNDS = _DATA["rounds"]
"""Fields that say how well a measured number repeated, all of them or none."""
_NUMBER = [*_DATA["number"], *_ROUNDS]
"""Fields of a number."""
_REQUIRED = _DATA["required"]
"""Keys of numbers that every file must have."""
_UNITS = _DATA["units"]
"""Endings of keys that are units."""
ADAPTATION: tuple[str, ...] = tuple(_DATA["adaptation"])
"""Factors of ``[adaptation.CLASS]``, which correct predictions learned on other machines."""
LEVELS: tuple[str, ...] = tuple(_DATA["levels"])
"""Memory levels, nearest first; ``l2`` is the last cache before memory, whatever its name."""
FORMER = (
    "efficiency: perfc no longer reads fitted rates; delete these tables, then"
    " perfc adapt --target TARGET --from ROWS corrects predictions by measured kernels"
)
"""Problem of a file that still has the tables of fitted rates."""
_SECTIONS: dict[str, list[str]] = {
    section: [field for group in groups for field in _DATA["fields"][group]]
    for section, groups in _DATA["sections"].items()
}
"""Keys of numbers by section of the file, as ``compute.matrix.f16``."""
_WRONG_UNIT = (
    r"(?i)_(?:[kmgt]hz|[kmgt]i?b(?:ytes)?|[kmgt]i?b(?:ytes)?_?p(?:er_)?s|[kmgtp]?(?:fl)?ops?"
    r"|[kmgtp]fl?op_per_s|us|ms|ns|[km]w)$"
)
"""Endings of keys in units with prefixes, which are errors: numbers are in plain SI units."""
_INTEGERS = re.compile(r"_count$|_per_block$|_per_sm$|^warp_size$|bytes$")
"""Keys of counts, for which a fraction is an error of the file."""


class Reader:
    """Reads parsed TOML into facts and collects all problems, so that one check reports all."""

    def __init__(self, data: Mapping[str, object]) -> None:
        self.data = data
        self.problems: list[str] = []
        self.sources: dict[str, Source] = {}
        self.facts: dict[str, Rate] = {}

    def read(self) -> None:
        """Read all keys into ``facts`` and ``sources``; errors are appended to ``problems``."""
        self._read_top()
        self._read_sources()
        for key, value in self.data.items():
            if key in ("schema", "aliases", "source", *_TOP):
                continue
            if key == "efficiency":
                self.problems.append(FORMER)
            elif key == "adaptation":
                self._read_adaptation(value)
            elif key not in ("device", "price", "compute", "memory", "link", "node"):
                self.problems.append(f"{key}: unknown key")
            else:
                self._read_section(key, value)
        for key in _REQUIRED:
            if key not in self.facts:
                self.problems.append(f"{key} is missing")
        if not any(k.startswith("compute.vector.") for k in self.facts):
            self.problems.append("compute.vector: no rate of the vector unit, f32 at least")

    def _read_top(self) -> None:
        """Check the texts of the top level: schema, kind, name and aliases."""
        if self.data.get("schema") != 1:
            self.problems.append(f"schema is {self.data.get('schema')!r}, this perfc reads 1")
        for key in _TOP:
            value = self.data.get(key)
            # texts stand in tables of pages and commands
            if not isinstance(value, str) or not value or len(value) > 200 or not _plain(value):
                self.problems.append(f"{key} must be a text of one line")
        kind = self.data.get("kind")
        if isinstance(kind, str) and kind not in _KINDS:
            self.problems.append(f"kind is {kind!r}, must be one of {', '.join(_KINDS)}")
        aliases = self.data.get("aliases", [])
        for name in (self.data.get("name"), *(aliases if isinstance(aliases, list) else [0])):
            if not isinstance(name, str) or len(name) > 64 or not NAME.fullmatch(name):
                text = "name and aliases must be of lower-case letters, digits, - and ."
                self.problems.append(f"{text}: {str(name)[:64]!r}")

    def _read_sources(self) -> None:
        """Read the tables ``[source.NAME]``, before the numbers that refer to them."""
        tables = self.data.get("source", {})
        if not isinstance(tables, dict):
            self.problems.append("source must be tables [source.NAME]")
            return
        for name, table in cast("dict[str, object]", tables).items():
            at = f"source.{name}"
            if not _ID.fullmatch(name) or not isinstance(table, dict):
                self.problems.append(f"{at[:80]}: must be a table with a plain name")
                continue
            fields = cast("dict[str, object]", table)
            origin = fields.get("origin")
            if not isinstance(origin, str) or origin not in _ORIGINS:
                self.problems.append(f"{at}.origin must be one of {', '.join(_ORIGINS)}")
                continue
            texts = {k: _text(v) for k, v in fields.items() if k != "origin"}
            for key, text in texts.items():
                if key not in _SOURCE or text is None:
                    self.problems.append(f"{at}.{key}: unknown key, or not a text of one line")
            title = texts.get("title") or texts.get("tool")
            if not title:
                self.problems.append(f"{at} has no title")
            date, note = texts.get("date") or "", texts.get("note") or ""
            self.sources[name] = Source(name, _ORIGINS[origin], title or "", date, note)

    def _read_section(self, at: str, table: object) -> None:
        """Read a table of numbers, or tables within it."""
        if not isinstance(table, dict):
            self.problems.append(f"{at} must be a table")
            return
        fields = cast("dict[str, object]", table)
        known = _SECTIONS.get(at)
        if known is not None:
            for key, value in fields.items():
                self._read_number(at, key, value, known)
        elif any(s.startswith(f"{at}.") for s in _SECTIONS):
            for key, value in fields.items():
                self._read_section(f"{at}.{key}", value)
        else:
            parent = at.rpartition(".")[0]
            choices = [s.removeprefix(f"{parent}.") for s in _SECTIONS if s.startswith(parent)]
            self.problems.append(f"{at[:80]}: unknown table, one of {' '.join(choices)}")

    def _read_adaptation(self, tables: object) -> None:
        """Read the tables ``[adaptation.CLASS]``, whose names are those of kernel classes."""
        if not isinstance(tables, dict):
            self.problems.append("adaptation must be tables [adaptation.CLASS]")
            return
        for name, table in cast("dict[str, object]", tables).items():
            if not _CLASS.fullmatch(name) or not isinstance(table, dict):
                self.problems.append(f"adaptation.{name[:80]}: must be a table with a plain name")
                continue
            for key, value in cast("dict[str, object]", table).items():
                self._read_number(f"adaptation.{name}", key, value, ADAPTATION)

    def _read_number(self, at: str, key: str, entry: object, known: Sequence[str]) -> None:
        """Read one number with its source into ``facts``, if its key is among ``known``."""
        full = f"{at}.{key}"[:120]
        if key not in known:
            if re.search(_WRONG_UNIT, key):
                units = ", ".join(f"_{u}" for u in _UNITS)
                self.problems.append(f"{full}: unknown unit suffix, the units are {units}")
            else:
                self.problems.append(f"{full}: unknown key, one of {', '.join(known)}")
            return
        if not isinstance(entry, dict) or "from" not in entry:
            self.problems.append(f"{full} has no `from`")
            return
        fields = cast("dict[str, object]", entry)
        for extra in fields.keys() - set(_NUMBER):
            self.problems.append(f"{full}: unknown field {extra[:40]!r}")
        source = fields["from"]
        if not isinstance(source, str) or source not in self.sources:
            names = ", ".join(self.sources) or "none"
            self.problems.append(f"{full}: no [source.{str(source)[:64]}], there are: {names}")
            return
        value = _number(fields.get("value"))
        if value is None:
            self.problems.append(f"{full}: value must be a finite number above zero")
            return
        if _INTEGERS.search(key) and value != int(value):
            self.problems.append(f"{full}: value must be a whole number")
        # factors have no physical range
        if not full.startswith("adaptation") and (problem := implausible(full, value)):
            self.problems.append(problem)
        note = _text(fields.get("note", ""))
        if note is None:
            self.problems.append(f"{full}: note must be a text of one line")
        spread = self._read_spread(full, fields, value)
        origin = self.sources[source].origin
        self.facts[full] = Rate(value, origin, source, note or "", full, spread)

    def _read_spread(self, full: str, fields: dict[str, object], value: float) -> Spread | None:
        """Return the spread of the rounds of a measured number; None if the file has none."""
        given = [key for key in _ROUNDS if key in fields]
        if not given:
            return None
        rounds, best, worst = fields.get("rounds"), *map(_number, map(fields.get, _ROUNDS[1:]))
        if isinstance(rounds, bool) or not isinstance(rounds, int) or not 0 <= rounds < 1000:
            self.problems.append(f"{full}: rounds must be a whole number below 1000")
        elif best is None or worst is None:
            self.problems.append(f"{full}: best and worst must be finite numbers above zero")
        elif not min(best, worst) <= value <= max(best, worst):
            problem = f"{value:.6g} is not between its rounds, {worst:.6g} and {best:.6g}"
            self.problems.append(f"{full}: {problem}")
        else:
            return Spread(rounds, best, worst)
        return None

    def _rate(self, at: str, field: str, clocked: tuple[str, ...]) -> tuple[Rate, Rate] | None:
        """Return the peak and nominal rates of a table.

        The peak is the maximum of the given rate, the rate of the pins and the rate at the highest
        clock. The nominal rate is the given one, else that at the rated clock.
        """
        best = [self.facts[k] for k in (f"{at}.{field}", f"{at}.pin_{field}") if k in self.facts]
        nominal = self.facts.get(f"{at}.{field}")
        count = self.facts.get("device.sm_count")
        highest = self.facts.get("device.clock_max_hz")
        rated = self.facts.get("device.clock_boost_hz", highest)
        for key in clocked:
            per_clock = self.facts.get(f"{at}.{key}")
            if per_clock is None or count is None or highest is None or rated is None:
                continue
            counts = [count] if key.endswith("_per_sm") else []
            best.append(_product([per_clock, *counts, highest]))
            nominal = nominal or _product([per_clock, *counts, rated])
        if not best:
            return None
        peak = max(best, key=lambda r: r.value)
        return peak, nominal or peak

    def _below(self, key: str, most: Rate, name: str) -> Rate | None:
        """Return the number under a key; add a problem if it exceeds ``most``."""
        rate = self.facts.get(key)
        if rate is None:
            return None
        seen = max(rate.value, rate.spread.best if rate.spread else 0.0)
        if seen > most.value:
            above = f"{seen:.6g} is above the {name} {most.value:.6g}; one of the two is wrong"
            self.problems.append(f"{key}: {above}")
        return rate

    def compute(self) -> dict[tuple[Unit, str], Peak]:
        """Return the rates by unit and element type."""
        peaks: dict[tuple[Unit, str], Peak] = {}
        given = {key.rpartition(".")[0] for key in self.facts}
        for at in _SECTIONS:
            if not at.startswith("compute.") or at not in given:
                continue
            _, unit, dtype = at.split(".")
            op = "op" if unit == "special" else "flop"
            rates = self._rate(at, f"peak_{op}_per_s", (f"{op}_per_clock_per_sm",))
            if rates is None:
                self.problems.append(f"{at} has neither a peak nor a rate per clock")
                continue
            sustained = self._below(f"{at}.sustained_{op}_per_s", rates[0], "peak")
            peaks[Unit(unit), dtype] = Peak(*rates, sustained)
        return peaks

    def memory(self) -> tuple[MemoryLevel, ...]:
        """Return the levels in order of distance."""
        levels = []
        for name in LEVELS:
            at = f"memory.{name}"
            if not any(k.startswith(f"{at}.") for k in self.facts):
                continue
            capacity = self.facts.get(f"{at}.capacity_bytes")
            clocks = "bytes_per_clock", "bytes_per_clock_per_sm"
            rates = self._rate(at, "bandwidth_bytes_per_s", clocks)
            if capacity is None or rates is None:
                self.problems.append(f"{at} needs a capacity and a bandwidth")
                continue
            sustained = self._below(f"{at}.sustained_bandwidth_bytes_per_s", rates[0], "peak")
            usable = self._below(f"{at}.usable_bytes", capacity, "capacity")
            levels.append(MemoryLevel(name, int(capacity.value), *rates, sustained, usable))
        return tuple(levels)


def _product(factors: list[Rate]) -> Rate:
    """Return a rate derived from others, with all of their sources and the weakest origin."""
    value = math.prod(f.value for f in factors)
    source = "+".join(dict.fromkeys(f.source for f in factors))
    names = " × ".join(f"{f.key.rpartition('.')[2]} {f.value:.6g}" for f in factors)
    note = f"{names}; {factors[0].note}" if factors[0].note else names
    return Rate(value, max(f.origin for f in factors), source, note, factors[0].key)


def _plain(text: str) -> bool:
    """Return True if a text fits in a cell of a Markdown table."""
    return text.isprintable() and "|" not in text and "`" not in text


def _text(value: object) -> str | None:
    """Return a text of one line, or a date as text; None for other values."""
    if isinstance(value, datetime.date):
        return value.isoformat()
    return value if isinstance(value, str) and len(value) <= 400 and _plain(value) else None


def _number(value: object) -> float | None:
    """Return a positive finite number, None for other values."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    # no rate or size is as large, and products of several stay finite
    return number if math.isfinite(number) and 0 < number < 1e30 else None


def parse(content: bytes, path: Path) -> tuple[Machine | None, list[str]]:
    """Return the machine of a file, or None and all of its problems."""
    try:
        # parsed shipped files are cached on disk, as tomllib takes long
        read = remembered if path.parent == SHIPPED else tomllib.loads
        data = cast("dict[str, object]", read(content.decode("utf-8")))
    except (ValueError, RecursionError) as error:
        return None, [f"not TOML: {reason_of(error)}"]
    # facts first: rates and levels are computed from them, and all problems reported at once
    (reader := Reader(data)).read()
    compute, memory = reader.compute(), reader.memory()
    if reader.problems:
        return None, reader.problems
    texts = {key: cast("str", data[key]) for key in _TOP}
    machine = Machine(
        texts["name"],
        tuple(cast("list[str]", data.get("aliases", []))),
        texts["kind"],
        texts["vendor"],
        texts["arch"],
        texts["description"],
        reader.sources,
        compute,
        memory,
        reader.facts,
        path,
    )
    return machine, []
