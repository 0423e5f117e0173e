"""Circles of imports among the modules of perfc, imports inside functions included."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from benchmarks.shape import walls

from .sources import PRODUCT, place_of, sources, tree_of

BUDGET = 0
"""Maximum number of circles. Only ever lowered."""
DOORS = 150
"""Maximum number of modules of the core that rooms above it import. Only ever lowered."""
OPEN = ("perfc.ir", "perfc.kernels", "perfc.passes")
"""Packages without a circle."""


@cache
def modules() -> dict[str, Path]:
    """Return files by dotted name."""
    files = {}
    for path in sources(*PRODUCT):
        parts = Path(place_of(path)).with_suffix("").parts
        package = () if parts[0] == "perfc" else ("perfc",)
        files[".".join((*package, *(p for p in parts if p != "__init__")))] = path
    return files


def statements(node: ast.AST) -> Iterator[ast.Import | ast.ImportFrom]:
    """Yield every import except those for type checkers."""
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import() | ast.ImportFrom():
                yield child
            case ast.If(test=ast.Name(id="TYPE_CHECKING")) | ast.expr():
                pass
            case _:
                yield from statements(child)


def imported(name: str, path: Path) -> Iterator[str]:
    """Yield the modules that a module imports."""
    package = name if path.stem == "__init__" else name.rpartition(".")[0]
    for node in statements(tree_of(path)):
        if isinstance(node, ast.Import):
            yield from (a.name for a in node.names)
            continue
        base = node.module or ""
        if node.level:
            parts = package.split(".")
            base = ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module])])
        for alias in node.names:
            inner = f"{base}.{alias.name}"
            yield inner if inner in modules() else base


@cache
def circles() -> list[list[str]]:
    """Return the strongly connected components of more than one module (Tarjan)."""
    graph = {
        m: sorted({t for t in imported(m, p) if t in modules()} - {m}) for m, p in modules().items()
    }
    order: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    components: list[list[str]] = []

    def visit(module: str) -> None:
        order[module] = low[module] = len(order)
        stack.append(module)
        for target in graph[module]:
            if target not in order:
                visit(target)
            if target in stack:
                low[module] = min(low[module], low[target])
        if low[module] == order[module]:
            at = stack.index(module)
            if len(stack) - at > 1:
                components.append(sorted(stack[at:]))
            del stack[at:]

    for module in graph:
        if module not in order:
            visit(module)
    return components


def test_circles_keep_to_their_budget() -> None:
    components = circles()
    assert len(components) <= BUDGET, components


def test_ir_passes_and_kernels_have_no_circle() -> None:
    assert [c for c in circles() if c[0].startswith(OPEN)] == []


def test_the_core_imports_no_room_above_it() -> None:
    figures = walls()
    assert figures["modules of no room"] == 0
    assert figures["imports from the core to a room above it"] == 0
    assert figures["modules of the core that rooms above import"] <= DOORS
