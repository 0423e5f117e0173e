"""Paths of tree ensembles: comparisons and additions of a row, from the trees in attributes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from math import inf
from typing import TypeVar

from ...record import record


@record
class Paths:
    """Comparisons, and additions of leaf values, of one row through all trees.

    Args:
        expected: mean over leaves, weighted by how often each was reached where a file says so.
        least: on the shortest paths.
        most: on the longest paths; None if some path is unknown.
    """

    expected: int = 0
    least: int = 0
    most: int | None = 0


@record
class Ensemble:
    """Trees as lists over nodes.

    Args:
        children: numbers of the child nodes of each node, none for a leaf.
        roots: numbers of the roots.
        additions: values that each leaf adds to scores; unused for branches.
        weights: how often each node was reached; empty if unknown.
    """

    children: Sequence[tuple[int, ...]]
    roots: Sequence[int]
    additions: Sequence[int]
    weights: Sequence[float] = ()

    def paths(self) -> Paths:
        """Return the steps of a row: a path of each tree, and what its leaf adds."""
        children, reached = self.children, bytearray(len(self.children))
        mean, least, most, is_whole = 0.0, 0, 0, True
        for root in self.roots:
            steps: list[int] = []
            weights: list[float] = []
            ahead = [(root, 0)]
            while ahead:
                node, depth = ahead.pop()
                # a damaged file may have children that do not exist, or cycles
                if not 0 <= node < len(children) or (children[node] and reached[node]):
                    is_whole = False
                    continue
                reached[node] = 1
                if children[node]:
                    ahead += [(child, depth + 1) for child in children[node]]
                    continue
                steps.append(depth + self.additions[node])
                weights.append(self.weights[node] if self.weights else 1.0)
            if steps:
                if not (min(weights) >= 0 and 0 < sum(weights) < inf):
                    weights = [1.0] * len(steps)
                paths = zip(steps, weights, strict=True)
                mean += sum(n * weight for n, weight in paths) / sum(weights)
                least, most = least + min(steps), most + max(steps)
        if is_whole and reached and all(reached):
            return Paths(round(mean), least, most)
        return Paths(least, least, None)


T = TypeVar("T", int, float, str)


def _list(attrs: Mapping[str, object], name: str, kind: type[T]) -> tuple[T, ...]:
    """Return a list attribute, () if it is missing or not of elements of this type."""
    value = attrs.get(name)
    return tuple(v for v in value if isinstance(v, kind)) if isinstance(value, tuple) else ()


def forest(attrs: Mapping[str, object], leaf: str) -> Ensemble | None:
    """Return the trees that attributes list node by node; None if lists differ in length.

    A node has the number of its tree and a number within the tree, by which others name it.

    Args:
        attrs: attributes of TreeEnsembleRegressor or TreeEnsembleClassifier.
        leaf: start of the names of the lists of leaf values: ``target`` or ``class``.
    """
    names = ("treeids", "nodeids", "truenodeids", "falsenodeids")
    trees, nodes, yes, no = (_list(attrs, f"nodes_{name}", int) for name in names)
    modes = _list(attrs, "nodes_modes", str)
    if len({len(c) for c in (trees, nodes, yes, no, modes)}) > 1:
        return None
    keys = list(zip(trees, nodes, strict=True))
    index_of = {key: i for i, key in enumerate(keys)}
    children = [
        # -1 stands for a child that is missing
        () if mode == "LEAF" else (index_of.get((tree, a), -1), index_of.get((tree, b), -1))
        for tree, a, b, mode in zip(trees, yes, no, modes, strict=True)
    ]
    of_leaves = (_list(attrs, f"{leaf}_{name}", int) for name in ("treeids", "nodeids"))
    added = Counter(zip(*of_leaves, strict=False))
    roots = set(range(len(children))).difference(*children)
    rates = _list(attrs, "nodes_hitrates", float)
    # converters write 1 for every node where they know no rates
    is_weighted = len(rates) == len(keys) and len(set(rates)) > 1
    additions = [added[key] for key in keys]
    return Ensemble(children, sorted(roots), additions, rates if is_weighted else ())


def forest_of_branches(attrs: Mapping[str, object]) -> Ensemble | None:
    """Return the trees of a TreeEnsemble, whose leaves are in lists of their own.

    None if lists differ in length.
    """
    sides = [
        [_list(attrs, f"nodes_{side}{what}", int) for what in ("nodeids", "leafs")]
        for side in ("true", "false")
    ]
    if len({len(c) for side in sides for c in side}) > 1:
        return None
    branches, leaves = len(sides[0][0]), len(_list(attrs, "leaf_targetids", int))
    below = [[v + branches * flag for v, flag in zip(*side, strict=True)] for side in sides]
    roots = tuple(dict.fromkeys(_list(attrs, "tree_roots", int)))
    children = [*zip(*below, strict=True), *[()] * leaves]
    return Ensemble(children, roots, [1] * (branches + leaves))
