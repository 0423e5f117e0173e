"""Catalogue of operators: sections of their docstrings, formulas and ONNX names."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import field
from functools import cache

from perfc.ir import Op, record

SECTIONS = ("Shapes", "Work", "Traffic", "Source")
_COUNT = re.compile(r"``(\w+_per_\w+)``")
"""Names of counts in docstrings, which pages show as numbers."""
_HEADING = re.compile(rf"(?:^|(?<=\s))({'|'.join(SECTIONS)}):\s*", re.MULTILINE)
"""Headings of sections, at the start of a line or within a paragraph."""


@record
class OpDoc:
    """The documentation of one operator.

    Args:
        summary: description in one or two sentences.
        sections: text by heading; missing ones are inherited.
    """

    summary: str
    sections: Mapping[str, str] = field(default_factory=dict)


def documentation(cls: type[Op]) -> OpDoc:
    """Return the documentation of an operator, with inherited sections and filled counts."""
    summary, sections = _parts(cls.__doc__ or "")
    # the nearest class that has a section provides it
    for parent in cls.__mro__[1:]:
        if parent is Op or not issubclass(parent, Op):
            continue
        for name, text in _parts(parent.__doc__ or "")[1].items():
            sections.setdefault(name, text)
    present = [name for name in SECTIONS if name in sections]
    return OpDoc(summary, {name: _filled(sections[name], cls) for name in present})


def _filled(text: str, cls: type[Op]) -> str:
    """Fill counts of a class into the text: operations per element."""

    def number(name: re.Match[str]) -> str:
        count = getattr(cls, name[1], None)
        return f"{name[0]} = {count}" if isinstance(count, int) else name[0]

    return _COUNT.sub(number, text)


def _parts(doc: str) -> tuple[str, dict[str, str]]:
    """Return the summary of a docstring, and the text of each section by heading."""
    pieces = _HEADING.split(doc)  # the summary, then headings and texts in turn
    texts = {name: _flowed(text) for name, text in zip(pieces[1::2], pieces[2::2], strict=True)}
    return _flowed(pieces[0]), texts


def _flowed(text: str) -> str:
    """Join the lines of a text."""
    return " ".join(text.split())


@cache
def operators() -> tuple[type[Op], ...]:
    """Return every operator class with ONNX names, by mnemonic."""
    from perfc.ir.op import REGISTRY
    from perfc.ir.ops import load_all

    load_all()
    return tuple(REGISTRY[name] for name in sorted(REGISTRY) if REGISTRY[name].onnx)


def find_operator(name: str) -> type[Op] | None:
    """Return the operator of a mnemonic or an ONNX name, with or without its domain."""
    wanted = name.lower()
    # exact names first: an ONNX name may exist in several domains
    for cls in operators():
        if wanted == cls.mnemonic or wanted in (n.lower() for n in cls.onnx.split()):
            return cls
    for cls in operators():
        if wanted in (n.rpartition("::")[2].lower() for n in cls.onnx.split()):
            return cls
    return None


def module_file(cls: type[Op]) -> str:
    """Return the file that defines an operator, relative to the root of the repository."""
    return cls.__module__.removeprefix("perfc.").replace(".", "/") + ".py"
