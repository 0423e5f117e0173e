"""Pipelines as strings: ``shapes,fuse{runtime=ort},retype{dtype=f16},cost``."""

from __future__ import annotations

import ast
import json
import pkgutil
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, dataclass, fields
from enum import Enum
from functools import partial
from importlib import import_module
from math import inf, nan
from pathlib import Path

from perfc.errors import ParseError, suggestion
from perfc.ir import DType, Module, Poly, record
from perfc.ir.attributes import build

from . import Analysis, Facts, HasFacts, Pass, Transform, __path__, pass_name
from .manager import Analyses

MAX_CHARS = 10_000
"""Maximum characters of a pipeline: a name and options per pass make a few hundred."""
ENTRY_POINTS = "perfc.passes"
"""Group of entry points under which installed plug-ins name their passes."""

# a number must not run into a word, as a dtype or a path may begin with a digit
_TOKEN = re.compile(
    r"\s*(?:(?P<number>-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w./:-]))"
    r"|(?P<word>[\w./:-]+)"
    r'|(?P<string>"(?:[^"\\]|\\.)*")'
    r"|(?P<punct>[{}\[\]=,])"
    r"|(?P<end>\Z))"
)
_WORD = re.compile(r"[A-Za-z_][\w./:-]*")
"""Strings that are written without quotes."""
_VALUES: dict[str, object] = {
    "true": True,
    "false": False,
    "none": None,
    "inf": inf,
    "-inf": -inf,
    "nan": nan,
}
"""Words that stand for values; strings of the same spelling are quoted."""


@record
class Pipeline:
    """Passes in order; ``str`` returns a string that parses to an equal pipeline."""

    passes: tuple[Pass, ...]

    def __str__(self) -> str:
        return ",".join(map(spell, self.passes))

    def run(self, module: Module, am: Analyses) -> Module:
        """Apply transforms and compute analyses in order; return the last module."""
        return am.run(self.passes, module)


def spell(pass_: Pass) -> str:
    """Return a pass in pipeline syntax with the options that differ from the defaults."""
    shown: list[str] = []
    for f in fields(pass_):
        value = getattr(pass_, f.name)
        if f.default is not MISSING and value == f.default:
            continue
        key = f.name.replace("_", "-")
        shown.append(key if value is True else f"{key}={_spell_value(value)}")
    name = pass_name(pass_)
    return f"{name}{{{','.join(shown)}}}" if shown else name


def _spell_value(value: object) -> str:
    """Return an option's value so that `_Reader.value` reads an equal one."""
    match value:
        case bool():
            return "true" if value else "false"
        case None:
            return "none"
        case DType():
            return _spell_value(value.code)
        case Enum():
            return _spell_value(value.value if isinstance(value.value, str) else value.name)
        case str():
            is_plain = _WORD.fullmatch(value) and value not in _VALUES
            return value if is_plain else json.dumps(value)
        case tuple():
            return f"[{','.join(map(_spell_value, value))}]"
        case int() | float() | Poly():
            return str(value)
        case _:
            raise TypeError(f"no pipeline form for {type(value).__name__} {value!r}")


@dataclass
class _Reader:
    """Recursive descent over a pipeline's text; ``position`` is that of the next token."""

    text: str
    position: int = 0

    def peek(self) -> tuple[str, str]:
        """Return kind and text of the next token, which stays next."""
        match = _TOKEN.match(self.text, self.position)
        if match is None:
            raise self.error(f"stray {self.text[self.position :].lstrip()[:1]!r}")
        return match.lastgroup or "", match[match.lastgroup or 0]

    def next(self) -> tuple[str, str]:
        """Return the next token and move past it."""
        token = self.peek()
        match = _TOKEN.match(self.text, self.position)
        self.position = match.end() if match else len(self.text)
        return token

    def eat(self, punct: str) -> bool:
        """Move past a punctuation mark and return True, or return False if it is not next."""
        if self.peek() == ("punct", punct):
            self.next()
            return True
        return False

    def error(self, message: str, hint: str = "", *, at: int | None = None) -> ParseError:
        """Return an error at a character, by default the current one."""
        column = (self.position if at is None else at) + 1
        return ParseError(message, where=f"pipeline:1:{column}", hint=hint)

    def expect(self, kind: str, wanted: str) -> str:
        """Return the next token's text if it has this kind; ``wanted`` names it in the error."""
        token, text = self.peek()
        if token != kind:
            raise self.expected(wanted)
        self.next()
        return text

    def expected(self, wanted: str) -> ParseError:
        """Return the error for an unexpected token, or for the end of the text."""
        text = self.peek()[1]
        return self.error(f"expected {wanted}, found {text!r}" if text else f"expected {wanted}")

    def passes(self) -> Iterator[Pass]:
        """Yield the passes up to the end: ``name{options},name…``."""
        while True:
            start = self.position
            name = self.expect("word", "a pass")
            options = dict(self.options()) if self.eat("{") else {}
            yield make(name, options, partial(self.error, at=start))
            if self.peek()[0] == "end":
                return
            if not self.eat(","):
                raise self.expected("','")

    def options(self) -> Iterator[tuple[str, object]]:
        """Yield names and values up to the closing brace; a name alone is True."""
        while not self.eat("}"):
            key = self.expect("word", "an option or '}'")
            yield key.replace("-", "_"), self.value(0) if self.eat("=") else True
            if self.peek() != ("punct", "}") and not self.eat(","):
                raise self.expected("',' or '}'")

    def value(self, depth: int) -> object:
        """Return a number, string, word or list; ``depth`` counts the lists around it."""
        kind, text = self.peek()
        # no option has lists so deep, and each level is a recursive call
        if kind in ("punct", "end") and (text != "[" or depth > 8):
            raise self.expected("a value")
        start = self.position
        self.next()
        match kind:
            case "number":
                # int() refuses more than 4,300 digits
                return int(text) if text.lstrip("-").isdigit() and len(text) < 4000 else float(text)
            case "string":
                try:
                    return str(json.loads(text))
                except ValueError:
                    raise self.error("bad escape in a string", at=start) from None
            case "word":
                return _VALUES.get(text, text)
        parts: list[object] = []
        while not self.eat("]"):
            parts.append(self.value(depth + 1))
            if self.peek() != ("punct", "]") and not self.eat(","):
                raise self.expected("',' or ']'")
        return tuple(parts)


def facts_of(
    names: Sequence[str], pipeline: Pipeline, module: Module, am: Analyses
) -> dict[str, Facts]:
    """Return facts of each node from the analyses ``names``, with the pipeline's options.

    Raises:
        ParseError: a pass is unknown or has no facts of nodes.
    """
    by_name = {pass_name(p): p for p in pipeline.passes}
    facts: dict[str, Facts] = {}
    for name in names:
        requested = by_name.get(name) or make(name, {}, _plain_error)
        result = am.get(requested, module) if isinstance(requested, Analysis) else None
        if not isinstance(result, HasFacts):
            raise ParseError(f"{name} has no facts of nodes")
        facts[name] = result.facts()
    return facts


def parse_pipeline(text: str) -> Pipeline:
    """Parse a pipeline; imports only the passes that it names.

    Raises:
        ParseError: the text is malformed; the message has the column and a suggestion.
    """
    if len(text) > MAX_CHARS:
        raise ParseError(f"longer than {MAX_CHARS} characters", where="pipeline")
    reader = _Reader(text)
    return Pipeline(() if reader.peek()[0] == "end" else tuple(reader.passes()))


def make(name: str, options: dict[str, object], fail: Callable[[str, str], ParseError]) -> Pass:
    """Return the pass ``name`` with its options."""
    cls = find(name)
    if cls is None:
        raise fail(f"no pass {name}", suggestion(name, [p.name for p in list_passes()]))
    built: Pass = build(cls, options, lambda m, hint: fail(f"{name}: {m}", hint))
    return built


def _plain_error(message: str, hint: str) -> ParseError:
    """Return an error without a column, for a pass that no pipeline names."""
    return ParseError(message, hint=hint)


def _class_name(name: str) -> str:
    """Return the class of a pass: ``what-if`` is WhatIf."""
    return "".join(part.capitalize() for part in name.split("-"))


def _files() -> dict[str, tuple[str, Path]]:
    """Return all modules of this package and of its folders, by the name that a pass would have.

    Each has its dotted name relative to this package, and its file.
    """
    files: dict[str, tuple[str, Path]] = {}
    folders = [("", Path(folder)) for folder in __path__]
    # the loop adds the folders that it meets in the package, and comes to them last
    for prefix, folder in folders:
        for m in pkgutil.iter_modules([str(folder)]):
            if not m.ispkg:
                name = m.name.replace("_", "-")
                # modules of the package come before those of its folders
                files.setdefault(name, (f"{prefix}.{m.name}", folder / f"{m.name}.py"))
            elif not prefix:
                folders.append((f".{m.name}", folder / m.name))
    return files


def find(name: str) -> type[Pass] | None:
    """Return the class of the pass ``name``: from its file, or from an installed plug-in."""
    file = _files().get(name)
    if file is not None:
        module_name, _ = file
        cls = getattr(import_module(module_name, __package__), _class_name(name), None)
    else:
        from importlib.metadata import entry_points

        cls = next((e.load() for e in entry_points(group=ENTRY_POINTS, name=name)), None)
    return cls if isinstance(cls, type) and issubclass(cls, Analysis | Transform) else None


@record
class PassInfo:
    """An entry of ``perfc dev passes``: ``kind`` is transform, analysis or plug-in."""

    name: str
    kind: str
    summary: str
    options: tuple[str, ...] = ()


def list_passes() -> tuple[PassInfo, ...]:
    """Return all passes, read from the source files without importing them."""
    from importlib.metadata import entry_points

    builtin = [info for name, (_, path) in _files().items() if (info := describe(name, path))]
    plugins = [PassInfo(e.name, "plug-in", e.value) for e in entry_points(group=ENTRY_POINTS)]
    return tuple(sorted([*builtin, *plugins], key=lambda p: p.name))


def describe(name: str, path: Path) -> PassInfo | None:
    """Return the entry of the pass in the file at ``path``; None if it does not define one."""
    text = path.read_text(encoding="utf-8")
    # most files define no pass, and to parse them all takes longer than to search
    if f"class {_class_name(name)}(" not in text:
        return None
    for node in ast.parse(text).body:
        if not isinstance(node, ast.ClassDef) or node.name != _class_name(name):
            continue
        kinds = {ast.unparse(base).partition("[")[0] for base in node.bases}
        kind = next((k.lower() for k in ("Transform", "Analysis") if k in kinds), None)
        if kind is None:
            return None
        # dashes in the option's name alone: its type and default may have underscores
        options = tuple(
            ast.unparse(s).replace("_", "-", ast.unparse(s.target).count("_"))
            for s in node.body
            if isinstance(s, ast.AnnAssign) and "ClassVar" not in ast.unparse(s.annotation)
        )
        summary = (ast.get_docstring(node) or "").partition("\n")[0]
        return PassInfo(name, kind, summary, options)
    return None
