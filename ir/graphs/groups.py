"""Disjoint sets of numbers (union-find). Source: Tarjan 1975.

``parent`` is the forest as a list: each number has a parent of its group, and the representative of
a group is its own parent. Callers join two groups by assigning one root to the other.
"""

from __future__ import annotations


def root(parent: list[int], i: int) -> int:
    """Return the representative of the group of ``i``; paths to it become shorter.

    >>> parent = [0, 0, 1, 2]
    >>> root(parent, 3), parent
    (0, [0, 0, 1, 1])
    """
    while parent[i] != i:
        # each node is moved to its grandparent. Python assigns the targets from left to right:
        # first parent[i] with the old i, then i
        parent[i] = i = parent[parent[i]]
    return i
