"""The baseline: figures of every model under every budget, in a file that is committed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from perfc.diff.figures import Figure, Metric
from perfc.errors import ParseError
from perfc.ir.facts import Origin
from perfc.ir.names import symbol_key
from perfc.version import __version__

from .config import parsed

SCHEMA = 1
DIGITS = 6
"""Significant digits of times; counts are written whole."""
DIGEST_CHARACTERS = 16
LARGEST_BYTES = 64 << 20
"""A lock file has about five hundred bytes for each model and budget."""

KEYS: Mapping[Metric, str] = {
    Metric.TIME: "time_s",
    Metric.FLOOR: "floor_s",
    Metric.ENERGY: "energy_j",
    Metric.FLOP: "flop",
    Metric.MAC: "mac",
    Metric.TRAFFIC: "traffic_bytes",
    Metric.PARAMETERS: "parameters",
    Metric.WEIGHTS: "weight_bytes",
    Metric.PEAK_MEMORY: "peak_memory_bytes",
    Metric.KERNELS: "kernels",
    Metric.UNKNOWN: "unknown_share",
}
ORIGINS = {
    Metric.TIME: Origin.PREDICTED,
    Metric.ENERGY: Origin.PREDICTED,
    Metric.FLOOR: Origin.BOUND,
}


@dataclass(frozen=True, slots=True, order=True)
class Case:
    """A model under one setting.

    Args:
        model: file, from the folder of the budgets, with slashes.
        target: the target's own name.
        runtime: whose fusion table.
        dtype: what-if precision.
        dims: values of symbols, sorted.
    """

    model: str
    target: str
    runtime: str = "ort"
    dtype: str = ""
    dims: tuple[tuple[str, int], ...] = ()

    @property
    def setting(self) -> str:
        """All but the model, as people read it."""
        return self.at([f"{name}={value}" for name, value in self.dims])

    def at(self, sizes: Iterable[str]) -> str:
        """The setting with ``sizes`` in words."""
        return ", ".join([self.target, self.runtime, *([self.dtype] if self.dtype else []), *sizes])


@dataclass(frozen=True, slots=True)
class Entry:
    """Figures of one case.

    Args:
        digest: of the model's file, large weights left out.
        figures: by metric.
        target_digest: of the target's file.
        sizes: every symbol of the model's inputs, with the number used. Budgets are for many
            models, whose symbols are not those of ``Case.dims``.
    """

    digest: str
    figures: Mapping[Metric, Figure]
    target_digest: str
    sizes: tuple[tuple[str, int], ...] = ()

    def setting(self, case: Case) -> str:
        """The setting with the sizes that the model has; those nobody gave are marked."""
        given = {symbol_key(name) for name, _ in case.dims}
        return case.at(f"{n}={v}" + ("" if n in given else " (assumed)") for n, v in self.sizes)


@dataclass(frozen=True, slots=True)
class Baseline:
    """What a lock file says.

    Args:
        predictor: digest of the code and weights that the figures come from.
        entries: figures by case.
        path: the file; where there is none it is None, and nothing is known.
    """

    predictor: str = ""
    entries: Mapping[Case, Entry] = field(default_factory=dict[Case, Entry])
    path: Path | None = None


def to_text(predictor: str, entries: Mapping[Case, Entry]) -> str:
    """The lock file: sorted and rounded, so that its differences are those of the models."""
    lines = [
        "# Written by `perfc baseline`. Commit it, and review its changes like those of code.",
        f"schema = {SCHEMA}",
        "",
        "[perfc]",
        f'version = "{__version__}"',
        f'digest = "{predictor[:DIGEST_CHARACTERS]}"',
    ]
    for target, digest in sorted({(c.target, e.target_digest) for c, e in entries.items()}):
        lines += ["", f"[target.{quoted(target)}]", f'digest = "{digest[:DIGEST_CHARACTERS]}"']
    for case in sorted(entries):
        lines += ["", "[[model]]", *case_lines(case, entries[case])]
    return "\n".join(lines) + "\n"


def case_lines(case: Case, entry: Entry) -> Iterable[str]:
    """One ``[[model]]`` table."""
    yield f"path = {quoted(case.model)}"
    yield f"target = {quoted(case.target)}"
    yield f"runtime = {quoted(case.runtime)}"
    if case.dtype:
        yield f"dtype = {quoted(case.dtype)}"
    if case.dims:
        yield f"dims = {inline(case.dims)}"
    if entry.sizes:
        yield f"sizes = {inline(entry.sizes)}"
    yield f'digest = "{entry.digest[:DIGEST_CHARACTERS]}"'
    for metric, key in KEYS.items():
        figure = entry.figures.get(metric)
        if figure is None:
            continue
        yield f"{key} = {number(figure.value)}"
        if figure.low is not None and figure.high is not None:
            yield f"{key}_interval = [{number(figure.low)}, {number(figure.high)}]"
    bounds = sorted(KEYS[m] for m, f in entry.figures.items() if f.is_bound)
    if bounds:
        yield f"lower_bounds = [{', '.join(map(quoted, bounds))}]"


def inline(sizes: Iterable[tuple[str, int]]) -> str:
    """An inline table of sizes."""
    return f"{{ {', '.join(f'{quoted(name)} = {value}' for name, value in sizes)} }}"


def quoted(text: str) -> str:
    """A TOML basic string, which JSON's strings are."""
    return json.dumps(text)


def number(value: float) -> str:
    """A count whole, anything else with six digits."""
    if float(value).is_integer() and abs(value) < 1 << 62:
        return str(int(value))
    return f"{value:.{DIGITS}g}" if math.isfinite(value) else "inf"


def rounded(value: float) -> float:
    """What reading back gives of a value that is written."""
    return float(number(value))


def from_text(text: str, path: Path) -> Baseline:
    """What a lock file says.

    Raises:
        ParseError: it is damaged, or of a newer schema; names the line.
    """
    tree: dict[str, object] = dict(parsed(text, path))
    schema = tree.get("schema")
    if type(schema) is not int or schema < 1:
        raise fault(text, path, "schema", "no schema number", "write it anew: perfc baseline write")
    if schema > SCHEMA:
        what = f"schema {schema} is newer than this perfc knows ({SCHEMA})"
        raise fault(text, path, "schema", what, "update perfc")
    try:
        return understood(tree, path)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        key = str(error.args[0]) if isinstance(error, KeyError) else "model"
        what = f"key {key!r} is missing" if isinstance(error, KeyError) else f"damaged: {error}"
        hint = "restore it from git, or write it anew: perfc baseline write"
        raise fault(text, path, key, what, hint) from None


def understood(tree: Mapping[str, object], path: Path) -> Baseline:
    """The entries of a lock file's tables; whatever is amiss raises."""
    perfc, targets, models = tree["perfc"], tree.get("target", {}), tree.get("model", [])
    if not isinstance(perfc, dict) or not isinstance(targets, dict) or not isinstance(models, list):
        raise TypeError("perfc, target and model are not tables")
    entries: dict[Case, Entry] = {}
    for m in models:
        dims, sizes = (
            tuple(sorted((str(k), int(v)) for k, v in m.get(key, {}).items()))
            for key in ("dims", "sizes")
        )
        case = Case(m["path"], m["target"], m["runtime"], m.get("dtype", ""), dims)
        lower = m.get("lower_bounds", [])
        found: dict[Metric, Figure] = {}
        for metric, key in KEYS.items():
            if key in m:
                low, high = m.get(f"{key}_interval", (None, None))
                origin = ORIGINS.get(metric, Origin.COUNTED)
                found[metric] = Figure(numeric(m[key], key), origin, key in lower, low, high)
        entries[case] = Entry(m["digest"], found, targets[case.target]["digest"], sizes)
    return Baseline(str(perfc["digest"]), entries, path)


def numeric(value: object, key: str) -> float:
    """A number as it is.

    Raises:
        ValueError: something else.
    """
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ValueError(f"{key} is not a number")
    return value


def fault(text: str, path: Path, key: str, what: str, hint: str) -> ParseError:
    """The error for a key of the lock file, with its line."""
    found = re.search(rf"^\s*{re.escape(key)}\b", text, re.MULTILINE)
    line = text.count("\n", 0, found.start()) + 1 if found else 1
    return ParseError(what, where=f"{path}:{line}", hint=hint)
