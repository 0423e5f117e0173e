"""What measured graphs took beyond their estimate, for the same graph on another machine.

A hierarchy of random effects: of a graph, of a graph run one way, of that at one batch; each mean
is pulled towards that above it as if one more row had said so. Graphs that nobody measured have
none. Left out: what like graphs have in common, which the forests learn.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array
    from ..graph.model_graph import OpGraph
    from ..graph.rows import GraphRow, Measurements

PULL = 1.0
"""Rows that the mean above counts as."""


@dataclass(frozen=True, eq=False)
class OffsetMemory:
    """Offsets of the logarithm.

    Args:
        keys: of graphs, ways and batches, ``[known]``, u64, sorted.
        offsets: ``[known]``, f32.
    """

    keys: NDArray[np.uint64]
    offsets: NDArray[np.float32]

    @property
    def is_sound(self) -> bool:
        """Whether keys are sorted, and each has an offset."""
        ordered = bool((self.keys[1:] > self.keys[:-1]).all())
        return ordered and self.keys.shape == self.offsets.shape and self.keys.dtype.kind == "u"

    @classmethod
    def learned(cls, data: Measurements, left: Array) -> OffsetMemory:
        """From rows and what is left of each, ``log(measured / estimated)``."""
        sums: dict[int, list[float]] = {}
        above: dict[int, int] = {}
        for row, value in zip(data.rows, left.tolist(), strict=True):
            upper = 0
            for key in levels(data.graph(row).ops, row):
                sums.setdefault(key, []).append(value)
                above.setdefault(key, upper)
                upper = key
        found: dict[int, float] = {0: 0.0}
        # a level is met after the one above it
        for key, values in sums.items():
            found[key] = (sum(values) + PULL * found[above[key]]) / (len(values) + PULL)
        del found[0]
        order = sorted(found)
        return cls(np.array(order, np.uint64), np.array([found[k] for k in order], np.float32))

    def __call__(self, data: Measurements) -> Array:
        """Of every row, that of the lowest level that is known; 0 for an unknown graph."""
        wanted = np.array([[*levels(data.graph(r).ops, r)] for r in data.rows], np.uint64)
        if not len(self.keys) or not len(wanted):
            return np.zeros(len(wanted))
        at = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        # a level is known only where those above it are
        depth = (self.keys[at] == wanted).sum(axis=1)
        lowest = at[np.arange(len(at)), np.maximum(depth - 1, 0)]
        return np.where(depth > 0, self.offsets[lowest].astype(np.float64), 0.0)


def levels(ops: OpGraph, row: GraphRow) -> Iterator[int]:
    """Keys of a row from the graph down."""
    parts = [fingerprint(ops)]
    yield key_of(parts)
    parts.append(row.part)
    yield key_of(parts)
    parts.append(str(row.batch))
    yield key_of(parts)


def key_of(parts: Sequence[str]) -> int:
    """Eight bytes of a digest, none of them 0 as a whole."""
    digest = hashlib.blake2b("\n".join(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") or 1


@lru_cache(maxsize=8192)
def fingerprint(ops: OpGraph) -> str:
    """Of operators, tensors and sizes; names do not count."""
    digest = hashlib.blake2b("\n".join(ops.ops).encode(), digest_size=16)
    for table in (ops.fixed, ops.scaled, ops.edges, ops.whole):
        # in single precision, as data sets keep them
        digest.update(np.asarray(table, np.float32).astype(np.float64).tobytes())
    return digest.hexdigest()
