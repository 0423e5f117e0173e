"""Operators, one file per family; a file is loaded when one of its operators is first looked up.

There is no list to edit: the files are searched for the operators they define.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module

from ..op import BY_ONNX, REGISTRY, Op

# The four patterns are the forms in which a family names an operator: a class attribute
# `mnemonic`; a class attribute `onnx`; a call at module level that creates a class from mnemonic
# and ONNX name; a section of a TOML file next to the module.
# "\n" in place of "^": a pattern that begins with a literal is searched ten times faster.
_MNEMONIC = re.compile(r'\n    mnemonic(?::[^=\n]*)? = "([^"]+)"')
_ONNX = re.compile(r'\n    onnx = (?:\(\s+)?"((?:[^"]|"\s+")*)"')
_ROW = re.compile(r'\n[A-Z]\w+ = \w+\(\s*"(\w+)",\s*"([\w.:]+)')
_TABLE = re.compile(r'\n\["([\w.:]+)"\]\nmnemonic = "(\w+)"')
_NAME = re.compile(r"[\w.:]+")  # one of the names that `onnx` lists with blanks between


@cache
def _index() -> tuple[dict[str, str], dict[str, str]]:
    """Return the family (dotted module name) by mnemonic, and by ONNX name.

    Modules are searched as text, since importing all of them would slow down every command.
    """
    by_mnemonic: dict[str, str] = {}
    by_onnx: dict[str, str] = {}
    for family in families():
        path = os.path.join(__path__[0], *family.split("."))
        with open(f"{path}.py", encoding="utf-8") as source:
            text = source.read()
        if "\nOPERATORS = " in text:
            # the classes are created from a TOML file with the name of the module
            with open(f"{path}.toml", encoding="utf-8") as table:
                for name, mnemonic in _TABLE.findall(table.read()):
                    by_mnemonic[mnemonic] = by_onnx[name] = family
        by_mnemonic.update(dict.fromkeys(_MNEMONIC.findall(text), family))
        for mnemonic, name in _ROW.findall(text):
            by_mnemonic[mnemonic] = by_onnx[name] = family
        for names in _ONNX.findall(text):
            by_onnx.update(dict.fromkeys(_NAME.findall(names), family))
    return by_mnemonic, by_onnx


@cache
def families() -> tuple[str, ...]:
    """Return the dotted names of the modules that define operators, relative to this package."""
    return tuple(sorted(_modules(__path__[0], "")))


def _modules(folder: str, prefix: str) -> Iterator[str]:
    """Yield dotted names of public modules below a folder; names without a dot are packages."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".py") and not name.startswith("_"):
                yield prefix + name[:-3]
            elif "." not in name and not name.startswith("_"):  # skips other files, __pycache__
                yield from _modules(entry.path, f"{prefix}{name}.")


def mnemonics() -> tuple[str, ...]:
    """Return every mnemonic, without loading the operators."""
    return tuple(sorted(_index()[0]))


def operator(mnemonic: str) -> type[Op]:
    """Return the operator called ``mnemonic`` in the text form.

    Raises:
        KeyError: there is none.
    """
    if mnemonic not in REGISTRY and mnemonic in _index()[0]:
        import_module(f".{_index()[0][mnemonic]}", __name__)
    return REGISTRY[mnemonic]


def operator_for(domain: str, op_type: str) -> type[Op] | None:
    """Return the operator for an ONNX operator, None if there is none.

    >>> operator_for("", "MatMul").__name__
    'MatMul'
    """
    name = op_type if domain in ("", "ai.onnx") else f"{domain}::{op_type}"
    if name not in BY_ONNX and name in _index()[1]:
        import_module(f".{_index()[1][name]}", __name__)
    return BY_ONNX.get(name)


def load_all() -> dict[str, type[Op]]:
    """Load every family; return operators by mnemonic."""
    for family in families():
        import_module(f".{family}", __name__)
    return dict(REGISTRY)
