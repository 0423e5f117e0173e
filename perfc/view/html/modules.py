"""Module tree of a model, from the names of nodes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

from perfc.ir.graphs.blocks import Path

MOST_PARTS = 12
"""Maximum depth of modules; nodes in deeper ones count for the module at this depth."""
MOST_CHILDREN = 96
"""Maximum number of children of a module; neighbors are merged beyond it."""
DOMINANT = 0.8
"""Share of all nodes above which a module is replaced by its children."""


@dataclass(eq=False, slots=True)
class ModuleTree:
    """Nodes and modules below one name, in execution order.

    Args:
        name: part of the path.
        children: positions of nodes, and nested modules.
    """

    name: str
    children: list[int | ModuleTree] = field(default_factory=list)

    @property
    def first(self) -> int:
        """Return the position of the first node in the module."""
        return self.nodes()[0]

    def nodes(self) -> list[int]:
        """Return the positions of all nodes in the module."""
        indices: list[int] = []
        waiting: list[int | ModuleTree] = [self]
        while waiting:
            child = waiting.pop()
            if isinstance(child, int):
                indices.append(child)
            else:
                waiting += child.children
        return sorted(indices)


def tree(paths: Sequence[Path], name: str) -> ModuleTree:
    """Build the module tree of nodes from their ``paths`` in execution order.

    A module with one child is replaced by it. If a module has too many children, runs of neighbors
    become modules named after the positions they span.
    """
    root = ModuleTree(name)
    modules: dict[Path, ModuleTree] = {(): root}
    for i, path in enumerate(paths):
        path = path[:MOST_PARTS]
        for depth in range(1, len(path) + 1):
            if path[:depth] not in modules:
                module = modules[path[:depth]] = ModuleTree(path[depth - 1])
                modules[path[: depth - 1]].children.append(module)
        modules[path].children.append(i)
    # inner modules first: the child that replaces a module may be the single child of the outer one
    for path in sorted(modules, key=len, reverse=True):
        simplify(modules[path])
    opened(root, len(paths))
    return root


def opened(root: ModuleTree, count: int) -> None:
    """Replace a child of ``root`` that holds most of the ``count`` nodes by its children.

    Wrappers such as ``model`` would otherwise be all that the first level shows. A numbered module
    keeps the name of the list it is in: ``h/11``.
    """
    while True:
        inside = [c for c in root.children if isinstance(c, ModuleTree)]
        wrapper = next((c for c in inside if len(c.nodes()) >= DOMINANT * count), None)
        if wrapper is None or len(root.children) + len(wrapper.children) > MOST_CHILDREN:
            return
        prefix = wrapper.name.rpartition("/")[2]
        for child in wrapper.children:
            if isinstance(child, ModuleTree) and child.name.partition("/")[0].isdecimal():
                child.name = f"{prefix}/{child.name}"
        place = root.children.index(wrapper)
        root.children[place : place + 1] = wrapper.children


def simplify(module: ModuleTree) -> None:
    """Replace children with a single child by it, and merge neighbors if there are too many.

    A module in a module keeps both names: ``encoder/layer``.
    """
    children: list[int | ModuleTree] = []
    for child in module.children:
        if isinstance(child, ModuleTree) and len(child.children) == 1:
            (only,) = child.children
            if isinstance(only, ModuleTree):
                only = ModuleTree(f"{child.name}/{only.name}", only.children)
            child = only
        children.append(child)
    if len(children) > MOST_CHILDREN:
        # as many runs as members of each: the list of runs and the list of a run are equally long
        size = math.ceil(math.sqrt(len(children)))
        runs = [children[i : i + size] for i in range(0, len(children), size)]
        children = [ModuleTree(span(run), run) for run in runs]
    module.children = children


def span(run: Sequence[int | ModuleTree]) -> str:
    """Return the name of a run of neighbors, from its positions."""
    indices = sorted(i for c in run for i in ([c] if isinstance(c, int) else c.nodes()))
    return f"nodes {indices[0]} to {indices[-1]}"
