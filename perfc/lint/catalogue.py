"""Finds the rules: the class of each file of ``perfc/rules``; documentation is read as text."""

from __future__ import annotations

import ast
import re
from functools import cache
from importlib import import_module
from pathlib import Path

from perfc.errors import ParseError
from perfc.ir.record import record

from .rule import Rule

FOLDER = Path(__file__).parent.parent / "rules"
SECTIONS = ("What it does", "Why is this bad", "Example", "Use instead", "Source")
CODE = re.compile(r"PF\d{3}")
_HEADING = re.compile(rf"^({'|'.join(SECTIONS)}):\n", re.MULTILINE)


@record
class RuleInfo:
    """What a rule's file says of it, read without importing it.

    Args:
        code: ``PF101``.
        name: ``redundant-transpose``.
        summary: first line of the docstring.
        sections: text by heading.
        saves: what mending improves, ``time``.
        is_fixable: whether ``--fix`` can mend some findings.
        path: file that defines it.
    """

    code: str
    name: str
    summary: str
    sections: dict[str, str]
    saves: str
    is_fixable: bool
    path: Path


@cache
def infos() -> tuple[RuleInfo, ...]:
    """Every rule by code."""
    found = [describe(p) for p in sorted(FOLDER.glob("*.py")) if not p.name.startswith("_")]
    return tuple(sorted((i for i in found if i is not None), key=lambda i: i.code))


def describe(path: Path) -> RuleInfo | None:
    """What the file at ``path`` says of its rule; None where it defines none."""
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if not isinstance(node, ast.ClassDef) or node.name != _class_name(path.stem):
            continue
        fields = {
            ast.unparse(s.targets[0]): ast.unparse(s.value)
            for s in node.body
            if isinstance(s, ast.Assign)
        }
        doc = ast.get_docstring(node) or ""
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
    lines = text.rstrip().splitlines()
    margin = min((len(s) - len(s.lstrip()) for s in lines if s.strip()), default=0)
    return "\n".join(s[margin:] for s in lines)


def _class_name(stem: str) -> str:
    return "".join(part.capitalize() for part in stem.split("_"))


def load(info: RuleInfo) -> Rule:
    """An instance of a rule."""
    stem = info.path.stem
    cls = getattr(import_module(f"perfc.rules.{stem}"), _class_name(stem))
    made = cls()
    assert isinstance(made, Rule)
    return made


def find(name: str) -> RuleInfo:
    """The rule of that code or name.

    Raises:
        ParseError: there is none.
    """
    wanted = name.strip()
    for info in infos():
        if wanted.upper() == info.code or wanted.lower() == info.name:
            return info
    from difflib import get_close_matches

    names = [n for i in infos() for n in (i.code, i.name)]
    close = get_close_matches(wanted, names, 3, 0.5)
    hint = f"did you mean {' or '.join(close)}?" if close else "`perfc rule` lists all"
    raise ParseError(f"no rule {name!r}", hint=hint)
