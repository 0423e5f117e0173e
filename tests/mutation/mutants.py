"""The faults that can be put into a file, and a draw of them."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

FOLDERS = ("ir", "passes", "perfc", "analyzers")
ATTEMPTS = 50
"""Files looked at for each fault; a small tree may not have as many faults as are asked for."""


class Fault(Enum):
    """Kinds of mutants."""

    COMPARISON = "another comparison"
    OPERATOR = "another operator"
    CONSTANT = "another constant"
    CONDITION = "a condition turned round"
    EXTREMUM = "the other extremum"
    RETURN = "another result"
    STATEMENT = "a statement left out"


COMPARISONS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
}
OPERATORS: Mapping[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.FloorDiv,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.FloorDiv,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
}
EXTREMA = {"min": "max", "max": "min", "any": "all", "all": "any"}


@dataclass(frozen=True)
class Mutant:
    """One fault in one file.

    Args:
        path: of the file, from the root.
        line: where it begins.
        start: of the replaced text, in characters from the start of the file.
        stop: behind it.
        old: the replaced text.
        new: what stands there instead.
    """

    path: Path
    line: int
    fault: Fault
    start: int
    stop: int
    old: str
    new: str

    def applied(self, text: str) -> str:
        """The file with the fault in it."""
        assert text[self.start : self.stop] == self.old, self.path
        return text[: self.start] + self.new + text[self.stop :]

    def __str__(self) -> str:
        old, new = (" ".join(t.split()) for t in (self.old, self.new))
        return f"{self.path}:{self.line}: {self.fault.value}: {old[:90]}  ->  {new[:90]}"


class Sites(ast.NodeVisitor):
    """Collects every fault of one file; types, docstrings and what only checkers read stay."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.text = path, text
        self.offsets = [0]
        for line in text.splitlines(keepends=True):
            self.offsets.append(self.offsets[-1] + len(line))
        self.lines = text.splitlines(keepends=True)
        self.found: list[Mutant] = []

    def place(self, line: int, column: int) -> int:
        """Characters before a place; columns of the syntax tree count bytes."""
        prefix = self.lines[line - 1].encode()[:column].decode()
        return self.offsets[line - 1] + len(prefix)

    def add(self, node: ast.expr | ast.stmt, fault: Fault, new: str) -> None:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        start = self.place(node.lineno, node.col_offset)
        stop = self.place(node.end_lineno, node.end_col_offset)
        old = self.text[start:stop]
        if isinstance(node, ast.expr):
            new = f"({new})"
        self.found.append(Mutant(self.path, node.lineno, fault, start, stop, old, new))

    def visit(self, node: ast.AST) -> None:
        match node:
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.Assert() | ast.JoinedStr():
                return
            case ast.AnnAssign():
                if node.value is not None:
                    self.visit(node.value)
                return
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                for child in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
                    self.visit(child)
                for statement in node.body:
                    self.visit(statement)
                return
            case ast.Expr(value=ast.Constant()) | ast.arg() | ast.Import() | ast.ImportFrom():
                return
        self.mutate(node)
        self.generic_visit(node)

    def mutate(self, node: ast.AST) -> None:
        """The faults of one node."""
        match node:
            case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
                other = ast.Compare(left, [COMPARISONS[type(op)]()], [right])
                self.add(node, Fault.COMPARISON, ast.unparse(other))
            case ast.BinOp(left=left, op=op, right=right) if type(op) in OPERATORS:
                if not any(
                    isinstance(x, ast.Constant | ast.JoinedStr)
                    and not isinstance(getattr(x, "value", ""), int | float)
                    for x in (left, right)
                ):
                    other_op = OPERATORS[type(op)]()
                    self.add(node, Fault.OPERATOR, ast.unparse(ast.BinOp(left, other_op, right)))
            case ast.BoolOp(op=op, values=values):
                swapped: ast.boolop = ast.Or() if isinstance(op, ast.And) else ast.And()
                self.add(node, Fault.CONDITION, ast.unparse(ast.BoolOp(swapped, values)))
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                self.add(node, Fault.CONDITION, ast.unparse(operand))
            case ast.If(test=test) | ast.IfExp(test=test) | ast.While(test=test):
                if not isinstance(test, ast.UnaryOp | ast.BoolOp | ast.Compare):
                    self.add(test, Fault.CONDITION, f"not ({ast.unparse(test)})")
            case ast.Call(func=ast.Name(id=name)) if name in EXTREMA:
                self.add(node.func, Fault.EXTREMUM, EXTREMA[name])
            case ast.Constant(value=bool(value)):
                self.add(node, Fault.CONSTANT, str(not value))
            case ast.Constant(value=int(number)):
                self.add(node, Fault.CONSTANT, str(number + 1))
            case ast.Constant(value=float(real)):
                self.add(node, Fault.CONSTANT, repr(2 * real if real else 1.0))
            case ast.Return(value=ast.expr() as value) if not is_none(value):
                self.add(node, Fault.RETURN, "return None")
            case ast.AugAssign() | ast.Expr(value=ast.Call()):
                self.add(node, Fault.STATEMENT, "pass")


def is_none(value: ast.expr) -> bool:
    """Whether an expression is the word ``None``."""
    return isinstance(value, ast.Constant) and value.value is None


def mutants(root: Path, path: Path) -> list[Mutant]:
    """Every fault of a file; a few leave no program, as a call in a format string."""
    text = (root / path).read_text(encoding="utf-8")
    sites = Sites(path, text)
    sites.visit(ast.parse(text))
    return sites.found


def is_program(text: str) -> bool:
    """Whether it can be parsed."""
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True


def sources(root: Path, folder: str) -> Iterator[Path]:
    """Python files of a top-level folder; links to other folders are not followed."""
    for path in sorted((root / folder).rglob("*.py")):
        relative = path.relative_to(root)
        if not any((root / parent).is_symlink() for parent in relative.parents):
            yield relative


def draw(root: Path, count: int, seed: int, folders: tuple[str, ...] = FOLDERS) -> list[Mutant]:
    """As many faults of each folder, and within a folder as many of each kind, as may be.

    A folder's files are drawn by their size; the same seed draws the same from the same tree.
    """
    generator = random.Random(seed)
    drawn: list[Mutant] = []
    for i, folder in enumerate(folders):
        wanted = count // len(folders) + (i < count % len(folders))
        files = list(sources(root, folder))
        weights = [(root / p).stat().st_size for p in files]
        kinds: list[Fault] = []
        taken: set[tuple[Path, int, str]] = set()
        for _ in range(ATTEMPTS * count):
            if not wanted:
                break
            if not kinds:
                kinds = generator.sample(list(Fault), len(Fault))
            kind = kinds.pop()
            (path,) = generator.choices(files, weights)
            fitting = [m for m in mutants(root, path) if m.fault is kind]
            if not fitting:
                continue
            mutant = generator.choice(fitting)
            text = (root / path).read_text(encoding="utf-8")
            is_new = (mutant.path, mutant.start, mutant.new) not in taken
            if is_new and is_program(mutant.applied(text)):
                taken.add((mutant.path, mutant.start, mutant.new))
                drawn.append(mutant)
                wanted -= 1
    return drawn
