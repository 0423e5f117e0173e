"""Boosted trees as arrays: evaluated with NumPy alone, written and read without pickle."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from perfc.ir import entity

ARRAYS = ("feature", "cut", "cuts", "cut_counts", "leaf", "sizes")
"""Arrays of a stored forest, as `Forest.arrays` writes them."""
LEAF_STEP = 2.0**-16
"""Leaves are stored as integers of two bytes, multiples of this step; f32 takes twice that. Sums of
trees are logarithms of times: rounding by half a step has random signs, and in a thousand trees
adds up to about 1 / 4000 of a time."""
ROWS = 512
"""Rows that are evaluated at a time: their positions in all trees fit into a cache."""
FEW_WALK_ON = 0.5
"""Share of the pairs of row and tree that have not reached a leaf. Below it, only these pairs are
moved on; above it, moving all pairs is faster than selecting some."""
NODES = 32_768
"""Nodes that are decoded at a time, in whole trees: allocating temporary arrays for all nodes takes
longer than the computation."""


@entity
class Forest:
    """A sum of trees; a row goes left where its feature is below the threshold.

    Args:
        names: names of the features, in the order of columns.
        feature: feature of each node, i8 or i16; -1 at a leaf.
        threshold: threshold of each inner node, f32; at a leaf its value.
        left: left child of each node, i32; the right child is the node behind it.
        roots: first node of each tree, i32.
        base: constant that is added to the sum of the trees.
    """

    names: tuple[str, ...]
    feature: NDArray[np.int8] | NDArray[np.int16]
    threshold: NDArray[np.float32]
    left: NDArray[np.int32]
    roots: NDArray[np.int32]
    base: float

    def __call__(self, table: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the sum for every row of ``table[rows, features]``."""
        parts = [self._walk(table[i : i + ROWS]) for i in range(0, len(table), ROWS)]
        return np.concatenate(parts) if parts else np.zeros(0)

    def first(self, count: int) -> Forest:
        """Return the forest of the first ``count`` trees."""
        # trees are stored one after the other
        end = int(self.roots[count]) if count < len(self.roots) else len(self.feature)
        return replace(
            self,
            feature=self.feature[:end],
            threshold=self.threshold[:end],
            left=self.left[:end],
            roots=self.roots[:count],
        )

    def _walk(self, table: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return the sums for at most `ROWS` rows.

        All rows move through all trees at once: ``node`` has their positions, ``[trees, rows]``.
        """
        flat = np.ascontiguousarray(table).reshape(-1)
        row = np.arange(len(table), dtype=np.int32) * table.shape[1]
        node = np.repeat(self.roots[:, None], len(table), axis=1)
        while True:
            feature = self.feature.take(node)
            inner = feature >= 0
            if np.count_nonzero(inner) <= FEW_WALK_ON * node.size:
                break
            # a leaf has feature -1 and takes an element before the row; `where` ignores the result
            goes_right = flat.take(feature + row) >= self.threshold.take(node)
            node = np.where(inner, self.left.take(node) + goes_right, node)
        self._walk_on(flat, np.broadcast_to(row, node.shape)[inner], node, np.flatnonzero(inner))
        # all nodes are leaves now, whose thresholds are their values
        total: NDArray[np.float64] = self.threshold.take(node).sum(axis=0, dtype=np.float64)
        return total + self.base

    def _walk_on(
        self,
        flat: NDArray[np.float32],
        row: NDArray[np.int32],
        node: NDArray[np.int32],
        walking: NDArray[np.int64],
    ) -> None:
        """Move some entries of ``node`` to their leaves.

        Trees that were grown leaf by leaf have a few deep branches, which few rows reach.

        Args:
            flat: features of all rows, one row after the other.
            row: for each entry, the index in ``flat`` at which the features of its row begin.
            node: positions, ``[trees, rows]``; changed.
            walking: indices of the entries in the flat array of positions.
        """
        node_flat = node.reshape(-1)
        current = node_flat[walking]
        while len(walking):
            goes_right = flat.take(self.feature.take(current) + row) >= self.threshold.take(current)
            current = self.left.take(current) + goes_right
            node_flat[walking] = current
            inner = self.feature.take(current) >= 0
            walking, current, row = walking[inner], current[inner], row[inner]

    def arrays(self) -> dict[str, Any]:
        """Return the arrays that ``from_arrays`` reads; the order of nodes determines the children.

        Training splits a feature at few different values: an inner node stores the number of its
        cut in two bytes, and a table per feature has the values.
        """
        inner = self.feature >= 0
        feature, threshold = self.feature[inner], self.threshold[inner]
        # `unique` sorts, so that a search gives the number of a cut
        thresholds = [np.unique(threshold[feature == i]) for i in range(len(self.names))]
        number = np.zeros(len(feature), np.uint16)
        for i, cuts in enumerate(thresholds):
            number[feature == i] = np.searchsorted(cuts, threshold[feature == i])
        ends = np.append(self.roots[1:], len(self.feature))
        return {
            "feature": self.feature.astype(np.int8 if len(self.names) <= 127 else np.int16),
            "cut": number,
            "cuts": np.concatenate([np.zeros(0, np.float32), *thresholds]),
            "cut_counts": np.array([len(cuts) for cuts in thresholds], np.int32),
            "leaf": leaf_steps(self.threshold[~inner]),
            "sizes": (ends - self.roots).astype(np.int32),
        }

    @classmethod
    def from_arrays(cls, names: tuple[str, ...], arrays: Mapping[str, Any], base: float) -> Forest:
        """Return the forest of stored arrays; every index is checked, as a file may be damaged.

        Raises:
            ValueError: arrays that are no forest.
        """
        feature, cut, cuts, counts, leaf, sizes = (np.asarray(arrays[name]) for name in ARRAYS)
        if (
            any(array.ndim != 1 for array in (feature, cut, cuts, counts, leaf, sizes))
            or any(array.dtype.kind not in "iu" for array in (feature, cut, counts, leaf, sizes))
            or len(sizes) == 0
            or (sizes < 1).any()
            or int(sizes.sum(dtype=np.int64)) != len(feature)
            or int(feature.max()) >= len(names)
        ):
            raise ValueError("arrays that are no forest")
        inner = feature >= 0
        if len(cut) != np.count_nonzero(inner) or len(cut) + len(leaf) != len(feature):
            raise ValueError("arrays that are no forest")
        if counts.shape != (len(names),) or (counts < 0).any() or int(counts.sum()) != len(cuts):
            raise ValueError("cuts of another number of features")
        if (cut.dtype.kind == "i" and (cut < 0).any()) or not np.isfinite(cuts).all():
            raise ValueError("a cut that is none")
        roots = np.concatenate(([0], np.cumsum(sizes)[:-1])).astype(np.int32)
        of_feature = (np.cumsum(counts) - counts).astype(np.int32), counts
        threshold, left = np.empty(len(feature), np.float32), np.empty(len(feature), np.int32)
        # trees at which batches of about NODES nodes begin; dict.fromkeys drops empty batches
        edges = dict.fromkeys((*np.searchsorted(roots, range(0, len(feature), NODES)), len(sizes)))
        inner_before = 0
        for first, last in pairwise(map(int, edges)):
            start = int(roots[first])
            part = slice(start, int(roots[last]) if last < len(roots) else len(feature))
            threshold[part] = _thresholds(
                feature[part], cut[inner_before:], cuts, leaf[start - inner_before :], of_feature
            )
            left[part] = start + _lefts(inner[part], sizes[first:last])
            inner_before += int(np.count_nonzero(inner[part]))
        if feature.dtype != np.int8:
            feature = feature.astype(np.int16)
        return cls(names, feature, threshold, left, roots, float(base))


def _thresholds(
    feature: NDArray[Any],
    cut: NDArray[Any],
    cuts: NDArray[np.float32],
    leaf: NDArray[Any],
    of_feature: tuple[NDArray[Any], NDArray[Any]],
) -> NDArray[np.float32]:
    """Return one number per node of some trees: thresholds of inner nodes, values of leaves.

    Args:
        feature: feature of each node; -1 at a leaf.
        cut: numbers of the cuts of inner nodes; further ones of later trees are ignored.
        cuts: cuts of all features, one after the other.
        leaf: values of leaves in steps; further ones of later trees are ignored.
        of_feature: index in ``cuts`` at which the cuts of each feature begin, and their number.

    Raises:
        ValueError: a cut that its feature does not have.
    """
    inner, leaves = np.flatnonzero(feature >= 0), np.flatnonzero(feature < 0)
    begin, counts = of_feature
    inner_feature, cut = feature.take(inner), cut[: len(inner)]
    if (cut >= counts.take(inner_feature)).any():
        raise ValueError("a cut that is none")
    threshold = np.empty(len(feature), np.float32)
    threshold[inner] = cuts.take(begin.take(inner_feature) + cut)
    threshold[leaves] = leaf[: len(leaves)] * LEAF_STEP
    return threshold


def _lefts(inner: NDArray[np.bool_], sizes: NDArray[Any]) -> NDArray[np.int32]:
    """Return the left child of each node of some trees; the first of these nodes has the index 0.

    Nodes of a tree are stored breadth first, so that the two children of a node are adjacent. The
    children of the n-th inner node of a tree (n from 0) are the nodes 2n + 1 and 2n + 2 of the
    tree.

    Raises:
        ValueError: trees of another number of inner nodes, or with a child before its parent.
    """
    roots = (np.cumsum(sizes) - sizes).astype(np.int32)
    # number of inner nodes up to and including each node, and before it
    until = np.cumsum(inner, dtype=np.int32)
    before = until - inner
    # root + 1 + 2n, where n is the number of inner nodes of the same tree before the node
    left: NDArray[np.int32] = np.repeat(roots + 1 - 2 * before[roots], sizes) + 2 * before
    inner_count = until[roots + sizes - 1] - before[roots]
    # a child behind its parent rules out endless walks; a binary tree has one leaf more than inner
    # nodes
    is_after = left > np.arange(len(inner), dtype=np.int32)
    if (2 * inner_count + 1 != sizes).any() or not bool((is_after | ~inner).all()):
        raise ValueError("arrays that are no forest")
    return left


def leaf_steps(leaf: NDArray[np.float32]) -> NDArray[np.signedinteger[Any]]:
    """Return the values of leaves in steps of `LEAF_STEP`, in the fewest bytes that hold all."""
    steps = np.rint(leaf.astype(np.float64) / LEAF_STEP)
    int16 = np.iinfo(np.int16)
    fits = len(steps) == 0 or bool(steps.min() >= int16.min and steps.max() <= int16.max)
    return steps.astype(np.int16 if fits else np.int32)
