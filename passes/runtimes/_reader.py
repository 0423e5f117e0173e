"""Reader of the tables of runtimes: one TOML file each, named as ``--runtime`` has it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, partial
from importlib import import_module
from pathlib import Path
from typing import Any

from perfc.common.toml_file import remembered
from perfc.ir import DType, Kind

from . import _list_limits
from ._engine_kind import EngineKind
from ._launch_rules import rules
from ._modes import AttentionKernels, Framework, LaunchMode, Layout, Serving, Steps, Tf32

FOLDER = Path(__file__).parent
"""Folder of the tables; files that begin with an underscore are no tables."""
STRIDED = frozenset({"transpose", "slice", "split", "expand", "identity"})
"""Movements that frameworks with strides express as a view of the operand; "strided" in files."""
IDENTITY = {"title", "aliases", "stands_for", "formats"}
"""Fields that a table does not take from its ``base``."""
THOSE_OF_BASE = "..."
"""Stands for the patterns, or the source, of the base."""


@cache
def files() -> Mapping[str, Mapping[str, Any]]:
    """Return the content of every table, by name."""
    paths = [path for path in FOLDER.glob("*.toml") if not path.name.startswith("_")]
    # one text, since each entry of the cache is a file to open
    texts = [f"[{path.stem}]\n{path.read_text(encoding='utf-8')}" for path in paths]
    return dict(sorted(remembered("\n".join(sorted(texts))).items()))


def fields_of(name: str) -> dict[str, Any]:
    """Return the fields of a table, with those of its base where it has none."""
    table = dict(files()[name])
    base = fields_of(table.pop("base")) if "base" in table else {}
    # the order counts: earlier patterns are preferred, so the base's stand where "..." does
    patterns = [[p] if p != THOSE_OF_BASE else base["patterns"] for p in table.get("patterns", ())]
    if patterns:
        table["patterns"] = [p for group in patterns for p in group]
    source = table["source"].replace(THOSE_OF_BASE, base.get("source", ""))
    read = {key: _READERS[key](value) if key in _READERS else value for key, value in table.items()}
    inherited = {key: value for key, value in base.items() if key not in IDENTITY}
    return inherited | read | {"source": source}


def _by_kind(read: Callable[[str], object]) -> Callable[[Mapping[str, str]], Mapping[Kind, Any]]:
    """Return a reader of words by kinds of kernels, several of which may share a key."""
    return lambda rows: {
        kind: read(words) for kinds, words in rows.items() for kind in _kinds(kinds)
    }


def _kinds(words: str) -> frozenset[Kind]:
    """Return kinds of kernels from their names, as in ``"conv matmul"``."""
    return frozenset([Kind[word.upper()] for word in words.split()])


def _views(words: Iterable[str]) -> frozenset[str]:
    """Return mnemonics of operators; "strided" stands for ``STRIDED``."""
    return frozenset().union(*(STRIDED if word == "strided" else {word} for word in words))


def _called(function: str, *args: object) -> Any:
    """Call a function of this folder, ``module.name``; its module is imported at first use."""
    module, _, name = function.partition(".")
    return getattr(import_module(f".{module}", __package__), name)(*args)


def _launches(value: str | list[str]) -> Callable[[], Any]:
    """Return what gives the rules: of groups of ``_launch_rules.toml``, or of a function."""
    return partial(_called, value) if isinstance(value, str) else partial(rules, *value)


_READERS: Mapping[str, Callable[[Any], object]] = {
    "launch": LaunchMode,
    "epilogue": _by_kind(_kinds),
    "epilogue_tags": _by_kind(lambda words: frozenset(words.split())),
    "epilogue_types": lambda names: frozenset([DType[name.upper()] for name in names]),
    "patterns": tuple,
    "attention": lambda limits: AttentionKernels(**limits),
    "views": _views,
    "framework": Framework,
    "serving": Serving,
    "engine": lambda kind: EngineKind.of(*kind),
    "tf32": Tf32,
    "stands_for": frozenset,
    "devices": lambda makers: {kind: frozenset(names) for kind, names in makers.items()},
    "steps": lambda name: Steps(name) if name else None,
    "before": tuple,
    "layouts": lambda names: tuple(map(Layout, names)),
    "launches": _launches,
    "puts_last": lambda function: partial(_called, function),
    "lists": lambda name: getattr(_list_limits, name),
    "formats": frozenset,
    "aliases": tuple,
}
"""Types of the values that TOML has none of."""
