"""Disjoint groups of numbers. Source: Tarjan 1975."""

from __future__ import annotations


def root(parent: list[int], i: int) -> int:
    """Return the representative of the group of ``i``; paths to it become shorter."""
    while parent[i] != i:
        i = parent[i] = parent[parent[i]]
    return i
