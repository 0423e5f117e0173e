"""Linter settings: ``[lint]`` of ``perfc.toml``, or ``[tool.perfc.lint]``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import NoReturn

from perfc.deployment.project_file import read_project
from perfc.errors import PerfcError
from perfc.ir import record

from .catalogue import infos

LEAST_GAIN = 0.01
"""Default minimum gain as a fraction of the run's time."""
KEYS = ("select", "ignore", "extend-select", "per-file-ignores", "target", "runtime", "min-gain")
"""Keys of the table; others are an error."""


class SettingsError(PerfcError):
    """An invalid configuration file or option."""


@record
class FileIgnore:
    """Codes that are ignored for files, or nodes of files, that match a pattern.

    Args:
        pattern: as written, ``models/*.onnx`` or ``models/*.onnx::/layer1/*``.
        codes: codes or prefixes.
        line: line in the configuration file, 0 if unknown.
    """

    pattern: str
    codes: tuple[str, ...]
    line: int = 0

    def matches_file(self, path: Path, root: Path) -> bool:
        """Return True if the pattern matches the file; relative patterns start at ``root``."""
        glob = self.pattern.partition("::")[0]
        resolved = path.resolve()
        names = [resolved.as_posix(), resolved.name]
        if resolved.is_relative_to(root):
            names.append(resolved.relative_to(root).as_posix())
        return any(fnmatchcase(name, glob) for name in names)

    def matches_place(self, place: str) -> bool:
        """Return True if the pattern matches a node or tensor."""
        _, colons, glob = self.pattern.partition("::")
        return not colons or fnmatchcase(place, glob)


@record
class Settings:
    """Configuration of the linter.

    Args:
        path: configuration file, if any.
        select: codes or prefixes; ``ALL`` for every rule.
        ignore: codes or prefixes that are left out.
        extend_select: codes or prefixes in addition to ``select``.
        file_ignores: codes that are ignored for some files.
        target: target of the analyses; "" for the default.
        runtime: runtime of the analyses; "" for the default.
        min_gain: minimum gain as a fraction of the run's time.
    """

    path: Path | None = None
    select: tuple[str, ...] = ("ALL",)
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    file_ignores: tuple[FileIgnore, ...] = ()
    target: str = ""
    runtime: str = ""
    min_gain: float = LEAST_GAIN

    @property
    def root(self) -> Path:
        """Return the folder where relative patterns start."""
        return (self.path.parent if self.path else Path()).resolve()


def codes_of(patterns: Sequence[str], where: str) -> frozenset[str]:
    """Resolve codes, prefixes, names or ``ALL`` to rule codes.

    Raises:
        SettingsError: a pattern without a rule.
    """
    codes: set[str] = set()
    for pattern in patterns:
        wanted = pattern.strip()
        upper = wanted.upper()
        matched = {
            i.code
            for i in infos()
            if upper == "ALL" or i.code.startswith(upper) or i.name == wanted.lower()
        }
        if not matched or not wanted:
            hint = "`perfc lint --explain all` lists codes; prefixes such as PF1 work"
            raise SettingsError(f"no rule {pattern!r}", where=where, hint=hint)
        codes |= matched
    return frozenset(codes)


def read_settings(path: Path | None) -> Settings:
    """Read the settings in ``path``, or return the defaults.

    Raises:
        ParseError: not TOML, or too large.
        SettingsError: an unknown key, or an invalid value.
    """
    if path is None:
        return Settings()
    tree, text, prefix = read_project(path)
    table = tree.get("lint", {}) if isinstance(tree, dict) else {}
    header = f"{prefix}lint"
    if not isinstance(table, dict):
        raise SettingsError(f"{header} is not a table", where=str(path))
    reader = _SettingsReader(path, header, text)
    for key in table:
        if key not in KEYS:
            reader.fail(str(key), "no such key", f"there are {', '.join(KEYS)}")
    return Settings(
        path,
        reader.codes(table, "select") or ("ALL",),
        reader.codes(table, "ignore"),
        reader.codes(table, "extend-select"),
        reader.file_ignores(table.get("per-file-ignores", {})),
        reader.text(table, "target"),
        reader.text(table, "runtime"),
        reader.share(table.get("min-gain", LEAST_GAIN)),
    )


@record
class _SettingsReader:
    """Reader of the values in one table, whose errors name the file and the line of the key."""

    path: Path
    prefix: str
    text_: str  # content of the file; `text` reads a value

    def line(self, key: str) -> int:
        """Return the first line that begins with a key; 0 without one."""
        lines = self.text_.splitlines()
        at = (i for i, s in enumerate(lines, 1) if s.lstrip(" \t\"'").startswith(key))
        return next(at, 0)

    def fail(self, key: str, message: str, hint: str = "") -> NoReturn:
        """Raise an error at a key."""
        line = self.line(key)
        where = f"{self.path}:{line}" if line else str(self.path)
        raise SettingsError(f"{self.prefix}.{key}: {message}", where=where, hint=hint)

    def codes(self, table: Mapping[str, object], key: str) -> tuple[str, ...]:
        """Return the codes of a key; empty without it."""
        return self.listed(key, table.get(key, []))

    def listed(self, key: str, value: object) -> tuple[str, ...]:
        """Return the codes of a list, each of which must be that of a rule."""
        if not isinstance(value, list) or not all(isinstance(v, str) for v in value):
            self.fail(key, "not a list of codes", 'as in ["PF1", "PF404"]')
        try:
            codes_of(value, "")
        except SettingsError as error:
            self.fail(key, error.message, error.hint)
        return tuple(value)

    def text(self, table: Mapping[str, object], key: str) -> str:
        """Return the string of a key; empty without it."""
        value = table.get(key, "")
        if not isinstance(value, str):
            self.fail(key, "not a string")
        return value

    def share(self, value: object) -> float:
        """Return the minimum gain, which is text or a number, as a fraction."""
        if isinstance(value, str):
            try:
                return parse_share(value)
            except SettingsError as error:
                self.fail("min-gain", error.message, error.hint)
        # a truth value is an integer in Python
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 <= value <= 1:
            self.fail("min-gain", "not a share", 'as in "0.1 %" or 0.001')
        return value

    def file_ignores(self, value: object) -> tuple[FileIgnore, ...]:
        """Return the ignored codes by pattern, in the order of the file."""
        key = "per-file-ignores"
        if not isinstance(value, dict):
            self.fail(key, "not a table", '"models/*.onnx" = ["PF4"]')
        return tuple(
            FileIgnore(str(p), self.listed(str(p), codes), self.line(str(p)))
            for p, codes in value.items()
        )


def parse_share(text: str) -> float:
    """Parse ``0.1%`` or ``0.001`` as a fraction.

    Raises:
        SettingsError: neither, or outside 0 to 1.
    """
    body = text.strip()
    try:
        value = float(body.removesuffix("%")) / (100 if body.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 <= value <= 1:
        raise SettingsError(f"{text!r} is no share", hint="as in 0.1% or 0.001")
    return value
