"""Find the lint rules: one class per file of ``perfc/review/rules``.

Their documentation is read from the syntax tree, so that listing rules imports none of them.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.errors import ParseError, suggestion
from perfc.ir import record

if TYPE_CHECKING:
    from .rule import Rule

FOLDER = Path(__file__).parent.parent / "rules"
"""Folder of the rules, a file each."""
SECTIONS = ("What it does", "Why is this bad", "Example", "Use instead", "Source")
"""Headings in the docstring of a rule."""
_HEADING = re.compile(rf"^({'|'.join(SECTIONS)}):\n", re.MULTILINE)
"""Line of a heading."""


@record
class RuleInfo:
    """Documentation of a rule, read without importing it.

    Args:
        code: ``PF101``.
        name: ``redundant-transpose``.
        summary: first line of the docstring.
        sections: text by heading.
        saves: what a fix improves, such as ``time``.
        is_fixable: True if ``--fix`` can fix some findings.
        path: file that defines it.
    """

    code: str
    name: str
    summary: str
    sections: dict[str, str]
    saves: str
    is_fixable: bool
    path: Path


def codes() -> tuple[str, ...]:
    """Return the code of every rule, sorted."""
    return tuple(info.code for info in infos())


@cache
def infos() -> tuple[RuleInfo, ...]:
    """Return every rule, sorted by code."""
    rules = [describe(p) for p in sorted(FOLDER.glob("*.py")) if not p.name.startswith("_")]
    return tuple(sorted((i for i in rules if i is not None), key=lambda i: i.code))


def describe(path: Path) -> RuleInfo | None:
    """Read the documentation of the rule at ``path``; None if it defines none."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ClassDef) or node.name != _class_name(path.stem):
            continue
        # fields of the class as source text; a field that is missing has the default of `Rule`
        fields = {
            ast.unparse(s.targets[0]): ast.unparse(s.value)
            for s in node.body
            if isinstance(s, ast.Assign)
        }
        doc = ast.get_docstring(node) or ""
        # text before the first heading, then headings and their texts in turn
        pieces = _HEADING.split(doc)
        sections = dict(zip(pieces[1::2], pieces[2::2], strict=True))
        return RuleInfo(
            ast.literal_eval(fields["code"]),
            path.stem.replace("_", "-"),
            pieces[0].partition("\n")[0],
            {k: _dedented(v) for k, v in sections.items()},
            fields.get("saves", "Saves.TIME").rpartition(".")[2].lower(),
            fields.get("is_fixable") == "True",
            path,
        )
    return None


def _dedented(text: str) -> str:
    """Return a text without the indentation that all of its lines have."""
    lines = text.rstrip().splitlines()
    margin = min((len(s) - len(s.lstrip()) for s in lines if s.strip()), default=0)
    return "\n".join(s[margin:] for s in lines)


def _class_name(stem: str) -> str:
    """Return the class of a rule by the stem of its file: ``DeadOutput`` of ``dead_output``."""
    return "".join(part.capitalize() for part in stem.split("_"))


def load(info: RuleInfo) -> Rule:
    """Instantiate a rule."""
    from .rule import Rule

    stem = info.path.stem
    cls = getattr(import_module(f"perfc.review.rules.{stem}"), _class_name(stem))
    result = cls()
    assert isinstance(result, Rule)
    return result


def find(name: str) -> RuleInfo:
    """Return the rule with this code or name.

    Raises:
        ParseError: an unknown rule.
    """
    wanted = name.strip()
    for info in infos():
        if wanted.upper() == info.code or wanted.lower() == info.name:
            return info
    names = [n for i in infos() for n in (i.code, i.name)]
    listed = "`perfc lint --explain all` lists them"
    hint = suggestion(wanted, names, listed, count=3, cutoff=0.5)
    raise ParseError(f"no rule {name!r}", hint=hint)
