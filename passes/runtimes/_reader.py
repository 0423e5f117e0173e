"""Reader of the tables of runtimes: one TOML file each, named like the value of ``--runtime``.

A table may build on another, its ``base``. In lists of words, ``...`` stands for the words of the
base and ``-word`` removes a word. Rows of ``epilogue`` and ``epilogue_tags`` replace rows of the
same kinds in the base, and an empty row removes them. Files have dotted keys and no ``[section]``,
since their texts are joined.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
"""Stands for the words, or the source, of the base."""
BY_KIND = {"epilogue", "epilogue_tags"}
"""Fields with a row of words for each kind of kernel; one row may name several kinds."""


@cache
def files() -> Mapping[str, Mapping[str, Any]]:
    """Return the content of every table, by name."""
    paths = [path for path in FOLDER.glob("*.toml") if not path.name.startswith("_")]
    # one text for all tables, as each entry of the cache is a file to open
    texts = [f"[{path.stem}]\n{path.read_text(encoding='utf-8')}" for path in paths]
    return dict(sorted(remembered("\n".join(sorted(texts))).items()))


def fields_of(name: str) -> dict[str, Any]:
    """Return the fields of a table, with those of its base where it has none."""
    content = merged(name)
    return {
        key: _READERS[key](value) if key in _READERS else value for key, value in content.items()
    }


def merged(name: str) -> dict[str, Any]:
    """Return the content of a table over that of its base, as files have it."""
    table = dict(files()[name])
    base = merged(table.pop("base")) if "base" in table else {}
    table["source"] = table["source"].replace(THOSE_OF_BASE, base.get("source", ""))
    if "patterns" in table:
        table["patterns"] = joined(table["patterns"], base.get("patterns", ()))
    for key in BY_KIND & table.keys():
        rows = dict(base.get(key, {}))
        for kinds, words in table[key].items():
            rows |= {kind: joined(words.split(), rows.get(kind, ())) for kind in kinds.split()}
        table[key] = {kind: words for kind, words in rows.items() if words}
    return {key: value for key, value in base.items() if key not in IDENTITY} | table


def joined(words: Sequence[str], base: Sequence[str]) -> list[str]:
    """Return words in order, with those of the base for ``...``, without ``-word`` and ``word``."""
    removed = {word[1:] for word in words if word.startswith("-")}
    every = (part for word in words for part in (base if word == THOSE_OF_BASE else (word,)))
    return [word for word in every if word not in removed and not word.startswith("-")]


def _kinds(words: Iterable[str]) -> frozenset[Kind]:
    """Return kinds of kernels from their names, as in ``"conv matmul"``."""
    return frozenset([Kind[word.upper()] for word in words])


def _views(words: Iterable[str]) -> frozenset[str]:
    """Return mnemonics of operators; "strided" stands for ``STRIDED``."""
    return frozenset().union(*(STRIDED if word == "strided" else {word} for word in words))


def _called(function: str, *args: object) -> Any:
    """Call a function of this folder, ``module.name``; its module is imported at first use."""
    module, _, name = function.partition(".")
    return getattr(import_module(f".{module}", __package__), name)(*args)


def _launches(value: str | list[str]) -> Callable[[], Any] | None:
    """Return a function that returns rules: a named one, or that of named groups of rules."""
    if not value:
        return None
    return partial(_called, value) if isinstance(value, str) else partial(rules, *value)


_READERS: Mapping[str, Callable[[Any], object]] = {
    "launch": LaunchMode,
    "epilogue": lambda rows: {Kind[k.upper()]: _kinds(words) for k, words in rows.items()},
    "epilogue_tags": lambda rows: {Kind[k.upper()]: frozenset(v) for k, v in rows.items()},
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
"""Functions that make the values of fields whose types TOML lacks."""
