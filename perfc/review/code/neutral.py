"""Compare two versions of a source by their syntax trees, so that layout changes do not count.

A source is a list of units (functions, and statements outside of them); `changed_lines` drops
diff lines whose unit the other version has too.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Container, Iterable, Iterator

Unit = tuple[int, int, str]
"""First and last line of a function or a statement outside of functions, with its content."""


def units(body: Iterable[ast.stmt], used: Container[str], place: str = "") -> Iterator[Unit]:
    """Yield the functions of a source and its statements outside of them.

    Docstrings are left out, as they do nothing, and so are functions of a module whose name is not
    in ``used``. ``place`` are the classes around the statements, with a dot behind each.
    """
    for node in body:
        first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", ()))])
        match node:
            # docstrings
            case ast.Expr(value=ast.Constant(value=str())):
                continue
            case ast.FunctionDef(name=name) if not place and name not in used:
                continue
            case ast.ClassDef(name=name, body=inner):
                yield from units(inner, used, f"{place}{name}.")
                # a change of the bases or decorators changes the class; its body is compared by
                # function
                head = ast.ClassDef(name, node.bases, node.keywords, [], node.decorator_list)
                yield first, max(first, inner[0].lineno - 1), place + ast.dump(head)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                yield first, node.end_lineno or first, place + content_of(node)
            case _:
                yield first, node.end_lineno or first, place + ast.dump(node)


def content_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """Return the syntax of a function without docstrings, annotations and names of variables."""
    function = copy.deepcopy(function)
    nodes = [*ast.walk(function)]
    stored = (n.id for n in nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store))
    variables = {name: f"v{i}" for i, name in enumerate(dict.fromkeys(stored))}
    for node in nodes:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                node.returns = None
                if ast.get_docstring(node, clean=False) is not None:
                    del node.body[0]
            case ast.Name():
                node.id = variables.get(node.id, node.id)
            case ast.arg():
                node.annotation = None
    return ast.dump(function)


def changed(units: list[Unit], other: list[Unit], lines: tuple[int, int]) -> list[int]:
    """Return the lines whose function or statement the other version does not have."""
    their_content = {content for _, _, content in other}
    spans = [(a, b) for a, b, content in units if content not in their_content]
    return [n for n in range(lines[0], lines[1] + 1) if any(a <= n <= b for a, b in spans)]
