"""Budgets of a project: ``perfc.toml``, or ``[tool.perfc]`` of ``pyproject.toml``."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from enum import Enum
from pathlib import Path, PurePosixPath

from perfc.diff.figures import BY_KEY, Metric
from perfc.errors import ParseError, PassError
from perfc.ir.sizes import sizes_of
from perfc.passes.retype import precision_name

from .limits import Limit, parse_limit

LARGEST_BYTES = 1 << 20
LOCK = "perfc.lock"


class Level(Enum):
    """What exceeding a limit means."""

    WARN = "warn"
    FAIL = "fail"

    __hash__ = object.__hash__


@dataclass(frozen=True, slots=True)
class Rule:
    """One limit on one metric."""

    metric: Metric
    level: Level
    limit: Limit


@dataclass(frozen=True, slots=True)
class Budget:
    """What the models of some globs may cost under one setting.

    Args:
        models: globs, from the folder of the file.
        target: name or file of the target.
        runtime: whose fusion table.
        dtype: what-if precision.
        dims: values of symbolic extents; a model need not have all of them.
        rules: the limits.
        line: where it begins in the file.
    """

    models: tuple[str, ...]
    target: str = "a100"
    runtime: str = "ort"
    dtype: str = ""
    dims: Mapping[str, int] = field(default_factory=dict[str, int])
    rules: tuple[Rule, ...] = ()
    line: int = 0

    def covers(self, path: str) -> bool:
        """Whether the budget is about the model at ``path``, from the folder of the file."""
        return any(is_match(path, glob) for glob in self.models)


@dataclass(frozen=True, slots=True)
class Config:
    """The budgets of a project.

    Args:
        path: the file they are in.
        budgets: in its order.
        lock: the baseline's file.
    """

    path: Path
    budgets: tuple[Budget, ...]
    lock: Path

    @property
    def root(self) -> Path:
        """The folder that globs and names of models are from."""
        return self.path.parent

    def named(self, path: Path) -> str:
        """A file of the project from its folder, so that no output depends on where that is."""
        return (
            path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)
        )

    def models(self) -> list[str]:
        """Files that some budget is about, sorted."""
        found: set[str] = set()
        for glob in dict.fromkeys(g for b in self.budgets for g in b.models):
            for path in self.root.glob(glob):
                if path.is_file():
                    found.add(path.relative_to(self.root).as_posix())
        return sorted(found)


def find(start: Path) -> Path:
    """The nearest file with budgets, from ``start`` upwards.

    Raises:
        ParseError: there is none.
    """
    for folder in (start, *start.parents):
        own = folder / "perfc.toml"
        if own.is_file():
            return own
        project = folder / "pyproject.toml"
        if project.is_file() and "perfc" in tables(project).get("tool", {}):
            return project
    raise ParseError(
        "no budgets: neither perfc.toml nor [tool.perfc] in pyproject.toml",
        where=str(start),
        hint="write a perfc.toml with [[budget]] tables; `perfc help check` shows one",
    )


def tables(path: Path) -> dict[str, dict[str, object]]:
    """The TOML file at ``path``.

    Raises:
        ParseError: it cannot be read or is no TOML.
    """
    return parsed(read(path), path)


def read(path: Path, most: int = LARGEST_BYTES) -> str:
    """The text of a file of at most ``most`` bytes.

    Raises:
        ParseError: it cannot be read, or is not small.
    """
    try:
        with path.open("rb") as stream:
            data = stream.read(most + 1)
        if len(data) > most:
            raise ParseError(f"more than {most >> 20} MiB of TOML", where=str(path))
        return data.decode("utf-8")
    except OSError as error:
        raise ParseError(error.strerror or "cannot be read", where=str(path)) from None
    except UnicodeDecodeError:
        raise ParseError("not UTF-8 text", where=str(path)) from None


def parsed(text: str, path: Path) -> dict[str, dict[str, object]]:
    """The tables of TOML text.

    Raises:
        ParseError: it is no TOML; says at which line.
    """
    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        found = re.search(r"line (\d+)", str(error))
        where = f"{path}:{found[1]}" if found else str(path)
        reason = re.sub(r" \(at .*\)$", "", str(error))
        raise ParseError(f"not valid TOML: {reason[:1].lower()}{reason[1:]}", where=where) from None


def load(path: Path) -> Config:
    """The budgets in ``path``.

    Raises:
        ParseError: a key or a value is wrong; names it and its line.
    """
    text = read(path)
    tree: object = parsed(text, path)
    is_project = path.name == "pyproject.toml"
    if is_project and isinstance(tree, dict):
        tree = tree.get("tool", {}).get("perfc", {})
    reader = Reader(path, text, "tool.perfc.budget" if is_project else "budget")
    if not isinstance(tree, dict):
        raise reader.fault("perfc", "is not a table")
    for key in tree:
        if key not in ("budget", "lock", "lint", "per-file-ignores"):
            raise reader.fault(key, f"no key {key!r}", known=("budget", "lock", "lint"))
    lock = tree.get("lock", LOCK)
    if not isinstance(lock, str):
        raise reader.fault("lock", "lock is not the name of a file")
    entries = tree.get("budget", [])
    if not isinstance(entries, list):
        raise reader.fault("budget", "budget is not a list of tables", hint="write [[budget]]")
    return Config(
        path, tuple(reader.budget(i, e) for i, e in enumerate(entries)), path.parent / lock
    )


@dataclass(frozen=True)
class Reader:
    """Turns tables into budgets; knows the lines for messages."""

    path: Path
    text: str
    header: str

    def budget(self, index: int, entry: object) -> Budget:
        """One ``[[budget]]`` table."""
        if not isinstance(entry, dict):
            raise self.fault("budget", "budget is not a table", index)
        known = ("model", "target", "runtime", "dtype", "dims", *BY_KEY)
        for key in entry:
            if key not in known:
                raise self.fault(key, f"no key {key!r} in a budget", index, known=known)
        globs = entry.get("model", "**/*.onnx")
        models = tuple(globs) if isinstance(globs, list) else (globs,)
        for glob in models:
            self.check_glob(glob, index)
        words = {}
        for key in ("target", "runtime", "dtype"):
            value = entry.get(key, {"target": "a100", "runtime": "ort", "dtype": ""}[key])
            if not isinstance(value, str):
                raise self.fault(key, f"{key} is not a string", index)
            words[key] = value
        try:
            words["dtype"] = precision_name(words["dtype"])
        except PassError as error:
            raise self.fault("dtype", error.message, index, hint=error.hint) from None
        return Budget(
            models,
            words["target"],
            words["runtime"],
            words["dtype"],
            self.dims(entry.get("dims", {}), index),
            tuple(r for k, v in entry.items() if k in BY_KEY for r in self.rules(k, v, index)),
            self.line(None, index),
        )

    def check_glob(self, glob: object, index: int) -> None:
        """A glob that stays in the folder of the file."""
        if not isinstance(glob, str) or not glob:
            raise self.fault("model", "model is not a glob or a list of them", index)
        if glob.startswith("/") or ".." in PurePosixPath(glob).parts:
            hint = "globs are from the folder of the file and stay in it"
            raise self.fault("model", f"{glob!r} leads out of the project", index, hint=hint)

    def dims(self, found: object, index: int) -> dict[str, int]:
        """Values of symbols."""
        if not isinstance(found, dict):
            raise self.fault("dims", "dims is not a table, as in { batch = 8 }", index)
        for name, value in found.items():
            try:
                sizes_of({str(name): value})
            except ParseError as error:
                raise self.fault("dims", f"dims.{error.message}", index, hint=error.hint) from None
        return {str(k): int(v) for k, v in found.items()}

    def rules(self, key: str, value: object, index: int) -> Iterator[Rule]:
        """The limits of one metric."""
        metric = BY_KEY[key]
        if not isinstance(value, dict):
            yield from self.limits(metric, "fail", value, key, index)
            return
        for name, limits in value.items():
            if name not in ("max", "warn", "fail"):
                text = f"no key {name!r} in {key}"
                raise self.fault(key, text, index, known=("max", "warn", "fail"))
            yield from self.limits(metric, name, limits, f"{key}.{name}", index)

    def limits(
        self, metric: Metric, name: str, value: object, key: str, index: int
    ) -> Iterator[Rule]:
        """One limit or a list of them."""
        level = Level.WARN if name == "warn" else Level.FAIL
        for item in value if isinstance(value, list) else [value]:
            text = str(item) if type(item) is int and metric.unit.value == "count" else item
            if not isinstance(text, str):
                hint = "a string with a unit, as in '2.5 ms' or '+3%'"
                raise self.fault(key, f"{key} is not a limit", index, hint=hint)
            try:
                limit = parse_limit(text, metric.unit)
            except ValueError as error:
                raise self.fault(key, f"{key}: {error}", index) from None
            if name == "max" and limit.is_relative:
                hint = "write it under warn or fail"
                raise self.fault(key, f"{key}: {text!r} is against the baseline", index, hint=hint)
            yield Rule(metric, level, limit)

    def fault(
        self,
        key: str,
        message: str,
        index: int | None = None,
        *,
        hint: str = "",
        known: tuple[str, ...] = (),
    ) -> ParseError:
        """The error for a key, with its line."""
        if known and not hint:
            close = get_close_matches(key, known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"there are {', '.join(known)}"
        return ParseError(message, where=f"{self.path}:{self.line(key, index)}", hint=hint)

    def line(self, key: str | None, index: int | None) -> int:
        """Where a key stands: the table's header where the key cannot be found, else the top."""
        lines = self.text.splitlines()
        start, stop = 0, len(lines)
        if index is not None:
            header = re.compile(rf"\s*\[\[\s*{re.escape(self.header)}\s*\]\]")
            headers = [i for i, text in enumerate(lines) if header.match(text)]
            if index < len(headers):
                start = headers[index]
                later = (i for i in headers if i > start)
                stop = next(later, len(lines))
        for part in key.split(".")[:1] if key else ():
            found = re.compile(rf"\s*(?:\[.*\b)?[\"']?{re.escape(part)}[\"']?\s*[.=\]]")
            for i in range(start, stop):
                if found.match(lines[i]):
                    return i + 1
        return start + 1


def is_match(path: str, glob: str) -> bool:
    """Whether a path with slashes is one of a glob's: ``**`` stands for any folders."""
    pattern = ""
    for part in re.split(r"(\*\*/|\*\*|\*|\?|\[[^]/]*\])", glob):
        match part:
            case "**/":
                pattern += "(?:[^/]+/)*"
            case "**":
                pattern += ".*"
            case "*":
                pattern += "[^/]*"
            case "?":
                pattern += "[^/]"
            case _ if part.startswith("[") and part.endswith("]"):
                pattern += part.replace("[!", "[^", 1)
            case _:
                pattern += re.escape(part)
    return re.fullmatch(pattern, path) is not None
