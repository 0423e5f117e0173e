"""Disjoint sets of numbers (union-find). Source: Tarjan 1975."""

from __future__ import annotations


def root(parent: list[int], i: int) -> int:
    """Return the representative of the group of ``i``; paths to it become shorter.

    >>> parent = [0, 0, 1, 2]
    >>> root(parent, 3), parent
    (0, [0, 0, 1, 1])
    """
    while parent[i] != i:
        # targets are assigned from left to right: parent[i] of the old i first
        parent[i] = i = parent[parent[i]]
    return i
