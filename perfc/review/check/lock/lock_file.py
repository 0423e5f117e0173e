"""Lock file: the baseline as sorted, rounded TOML; read as untrusted input."""

from __future__ import annotations

import math
import posixpath
from collections.abc import Mapping
from pathlib import Path

from perfc.common.toml_file import (
    LARGEST_INTEGER,
    TableReader,
    parse,
    read_text,
    table_lines,
    written,
)
from perfc.common.version import __version__
from perfc.errors import ModelError, ParseError
from perfc.frontend.reading.module_name import is_named
from perfc.ir import Origin
from perfc.review.diff.figures import Figure, Metric
from perfc.view.report.units import Unit

from ..config import LOCK
from .baseline import DIGEST_CHARACTERS, KEYS, OTHERS, Baseline, BaselineCase, Entry, rounded

SCHEMA = 2
"""Schema version; version 1, with separate tables of target digests, can still be read."""
COMMENT = "Written by `perfc check`. Commit it, and review its changes like those of code."
"""First line of the file; its begin identifies a damaged one."""
LARGEST_BYTES = 8 << 20
"""Maximum size; a lock file has about 500 bytes per model and budget."""
LARGEST_HEAD_BYTES = 4096
"""Bytes searched for the comment of a damaged file, after conflict markers."""
AGAIN = "restore it from git, or write it again: perfc check --write-baseline"
"""Hint where the file is damaged."""
ORIGINS = {
    Metric.TIME: Origin.PREDICTED,
    Metric.ENERGY: Origin.PREDICTED,
    Metric.COST: Origin.PREDICTED,
    Metric.FLOOR: Origin.BOUND,
}
"""Origins of figures, which the file does not have; all others are counted."""


class NewerSchemaError(ParseError):
    """The file has the schema of a newer perfc."""


def to_text(predictor: str, entries: Mapping[BaselineCase, Entry]) -> str:
    """Format the lock file, sorted and rounded so that its diffs reflect the models.

    Raises:
        ModelError: a figure is not finite, or a name is not text.
    """
    tree = {
        "schema": SCHEMA,
        "perfc": {"version": __version__, "digest": predictor[:DIGEST_CHARACTERS]},
        "model": [model_table(case, entries[case]) for case in sorted(entries)],
    }
    return written(tree, COMMENT)


def model_table(case: BaselineCase, entry: Entry) -> dict[str, object]:
    """Return the ``[[model]]`` table of a case.

    Raises:
        ModelError: a figure is not finite, or a name is not text.
    """
    try:
        # TOML is UTF-8, and names of files may be any bytes
        case.model.encode("utf-8")
    except UnicodeEncodeError:
        raise ModelError("the name of the file is not UTF-8", where=case.model) from None
    table: dict[str, object] = {
        "path": case.model,
        "target": case.target,
        "runtime": case.runtime,
        **({"dtype": case.dtype} if case.dtype else {}),
        **dict(case.others),
        "digest": entry.digest[:DIGEST_CHARACTERS],
        "target_digest": entry.target_digest[:DIGEST_CHARACTERS],
    }
    for metric, key in KEYS.items():
        figure = entry.figures.get(metric)
        if figure is None:
            continue
        if not math.isfinite(figure.value):
            raise ModelError(f"{metric.title} is {figure.value}, no figure", where=case.model)
        table[key] = rounded(figure.value)
        if figure.low is not None and figure.high is not None:
            table[f"{key}_interval"] = [rounded(figure.low), rounded(figure.high)]
    if entry.bounds:
        table["lower_bounds"] = entry.bounds
    if case.dims:
        table["dims"] = dict(case.dims)
    if entry.sizes:
        table["sizes"] = dict(entry.sizes)
    return table


def load(path: Path) -> Baseline:
    """Read the baseline in a lock file.

    Raises:
        ParseError: as ``from_text``.
    """
    return from_text(read_text(path, LARGEST_BYTES), path)


def replaced(path: Path) -> Baseline:
    """Read the baseline in a file that will be overwritten; empty if it is damaged.

    Raises:
        ParseError: the file is not a lock file, or of a newer perfc.
    """
    if not path.is_file():
        return Baseline()
    try:
        return load(path)
    except NewerSchemaError:
        raise
    except ParseError:
        with path.open("rb") as stream:
            # a lock with conflict markers does not parse, but has the begin of its comment
            is_lock = COMMENT[:20].encode() in stream.read(LARGEST_HEAD_BYTES)
        if path.name != LOCK and not is_lock:
            hint = "give `lock` another name, or remove it"
            raise ParseError(
                "there is a file that is no baseline", where=str(path), hint=hint
            ) from None
        return Baseline()


def from_text(text: str, path: Path) -> Baseline:
    """Parse a lock file.

    Raises:
        ParseError: the file is damaged or of a newer schema; names the line.
    """
    tree = parse(text, path)
    reader = LockReader(path, text, "model")
    schema = tree.get("schema")
    if type(schema) is not int or schema < 1:  # True is an instance of int
        raise reader.fault("schema", "no schema number")
    if schema > SCHEMA:
        message = f"schema {schema} is newer than this perfc knows ({SCHEMA})"
        raise NewerSchemaError(
            message, where=f"{path}:{reader.line('schema')}", hint="update perfc"
        )
    predictor = reader.text(reader.table(tree, "perfc"), "digest")
    targets = reader.table(tree, "target")
    models = tree.get("model", [])
    if not isinstance(models, list) or not all(isinstance(m, dict) for m in models):
        raise reader.fault("model", "model is not a list of tables")
    entries: dict[BaselineCase, Entry] = {}
    lines = table_lines(text, "model")
    for index, model in enumerate(models):
        line = lines[index] if index < len(lines) else 1  # inline tables have no header
        case, entry = reader.model(model, targets, index, line)
        if case in entries:
            raise reader.fault("path", f"{case.model} on {case.setting} stands twice", index)
        entries[case] = entry
    return Baseline(predictor, entries, path)


class LockReader(TableReader):
    """Parser of lock file tables, with line numbers for messages."""

    hint = AGAIN

    def model(
        self, model: Mapping[str, object], targets: Mapping[str, object], index: int, line: int
    ) -> tuple[BaselineCase, Entry]:
        """Return the case and the entry of one ``[[model]]`` table.

        Args:
            model: the table.
            targets: tables of targets in a file of schema 1.
            index: place of the table among the models.
            line: line of its header.
        """
        path, target, runtime = (
            self.text(model, key, index) for key in ("path", "target", "runtime")
        )
        if not is_named(path):
            # people may write ``./model.onnx``; backslashes stay, as a name may contain them
            path = posixpath.normpath(path)
            if path.startswith(("/", "../")) or path == "..":
                raise self.fault("path", f"path = {path!r} leads out of the project", index)
        dtype = self.text(model, "dtype", index) if "dtype" in model else ""
        # schema 1 has the digests of targets in a table by name
        listed = targets.get(target)
        if isinstance(listed, dict) and "target_digest" not in model:
            model = {**model, "target_digest": listed.get("digest")}
        bounds = model.get("lower_bounds", [])
        # other keys of the table are allowed, but have no effect below
        if not isinstance(bounds, list) or not set(map(str, bounds)) <= {*KEYS.values(), *model}:
            raise self.fault("lower_bounds", "lower_bounds is no list of figures", index)
        figures = {
            metric: self.figure(model, metric, index, is_bound=key in bounds)
            for metric, key in KEYS.items()
            if key in model
        }
        others = self.others(model, index)
        case = BaselineCase(path, target, runtime, dtype, self.sizes(model, "dims", index), others)
        return case, Entry(
            self.text(model, "digest", index),
            figures,
            self.text(model, "target_digest", index),
            sizes=self.sizes(model, "sizes", index),
            line=line,
        )

    def others(self, model: Mapping[str, object], index: int) -> tuple[tuple[str, str | bool], ...]:
        """Return further deployment fields, sorted."""
        fields: list[tuple[str, str | bool]] = []
        for key in sorted(name.replace("_", "-") for name in OTHERS):
            value = model.get(key)
            if value is not None and not isinstance(value, str | bool):
                raise self.fault(key, f"{key} is neither a string nor true or false", index)
            fields += [] if value is None else [(key, value)]
        return tuple(fields)

    def figure(
        self, model: Mapping[str, object], metric: Metric, index: int, *, is_bound: bool
    ) -> Figure:
        """Parse one figure with its interval."""
        key = KEYS[metric]
        value = self.number(model[key], metric, key, index)
        origin = ORIGINS.get(metric, Origin.COUNTED)
        interval = model.get(f"{key}_interval")
        if interval is None:
            return Figure(value, origin, is_bound)
        if not isinstance(interval, list) or len(interval) != 2:
            raise self.fault(f"{key}_interval", f"{key}_interval is not two numbers", index)
        low, high = (self.number(v, metric, f"{key}_interval", index) for v in interval)
        if not low <= value <= high:
            raise self.fault(f"{key}_interval", f"{key} is not within its interval", index)
        return Figure(value, origin, is_bound, low, high)

    def number(self, value: object, metric: Metric, key: str, index: int) -> float:
        """Parse a number that is valid for the metric."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise self.fault(key, f"{key} is not a number", index)
        if isinstance(value, int) and value > LARGEST_INTEGER:
            raise self.fault(key, f"{key} is beyond 2^63 - 1", index)
        if not math.isfinite(value) or value < 0:
            raise self.fault(key, f"{key} = {value} is no figure", index)
        if metric.unit is Unit.SHARE and value > 1:
            raise self.fault(key, f"{key} = {value} is no share", index)
        return value

    def sizes(
        self, model: Mapping[str, object], key: str, index: int
    ) -> tuple[tuple[str, int], ...]:
        """Return the values of symbols, sorted."""
        values = model.get(key, {})
        if not isinstance(values, dict):
            raise self.fault(key, f"{key} is not a table", index)
        for name, value in values.items():
            if type(value) is not int or not 0 <= value <= LARGEST_INTEGER:
                raise self.fault(f"{key}.{name}", f"{key}.{name} is no extent", index)
        return tuple(sorted(values.items()))

    def table(self, tree: Mapping[str, object], key: str) -> Mapping[str, object]:
        """Return a top-level table, empty if missing."""
        table = tree.get(key, {})
        if not isinstance(table, dict):
            raise self.fault(key, f"{key} is not a table")
        return table

    def text(self, tree: Mapping[str, object], key: str, index: int | None = None) -> str:
        """Return a required string."""
        if key not in tree:
            raise self.fault(key, f"key {key!r} is missing", index)
        value = tree[key]
        if not isinstance(value, str):
            raise self.fault(key, f"{key} is not a string", index)
        return value
