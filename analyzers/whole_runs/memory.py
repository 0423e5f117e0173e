"""Residuals of measured graphs (log of measured over predicted), for the same graphs elsewhere.

A residual corrects predictions of its graph on other machines.

They form a hierarchy of random effects: a graph, the graph in one execution mode, and the graph in
this mode at one batch. Each mean is shrunk towards the mean of the level above, which counts as one
more row. Unmeasured graphs have no offset; forests learn effects that similar graphs share.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from perfc.ir import entity

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..features.classes import Array
    from ..graph.model_graph import OpGraph
    from ..graph.rows import GraphRow, Measurements


@entity
class OffsetMemory:
    """Offsets of the logarithm of a run's quantity, by graph, execution mode and batch.

    Args:
        keys: keys of the levels (`levels`), ``[known]``, u64, sorted.
        offsets: offset of each key, ``[known]``, f32.
    """

    keys: NDArray[np.uint64]
    offsets: NDArray[np.float32]

    @property
    def is_sound(self) -> bool:
        """Return True if keys are sorted, and each has an offset."""
        ordered = bool((self.keys[1:] > self.keys[:-1]).all())
        return ordered and self.keys.shape == self.offsets.shape and self.keys.dtype.kind == "u"

    def __call__(self, data: Measurements) -> Array:
        """Return the offset of every row at its most specific known level; 0 if none is known."""
        wanted = np.array([[*levels(data.graph(r).ops, r)] for r in data.rows], np.uint64)
        if not len(self.keys) or not len(wanted):
            return np.zeros(len(wanted))
        # searchsorted gives one past the end for keys above all stored ones: any index will do,
        # since the comparison below rejects it
        index = np.minimum(np.searchsorted(self.keys, wanted), len(self.keys) - 1)
        # a level is stored only if those above it are, so that the count of matches is the depth
        depth = (self.keys[index] == wanted).sum(axis=1)
        # at depth 0 the column -1 is replaced by any valid one; the last line drops its offset
        deepest = index[np.arange(len(index)), np.maximum(depth - 1, 0)]
        return np.where(depth > 0, self.offsets[deepest].astype(np.float64), 0.0)


def levels(ops: OpGraph, row: GraphRow) -> Iterator[int]:
    """Yield the keys of a row from the top: its graph, with the execution mode, with the batch."""
    parts = [fingerprint(ops)]
    yield key_of(parts)
    parts.append(row.part)  # the execution mode
    yield key_of(parts)
    parts.append(str(row.batch))
    yield key_of(parts)


def key_of(parts: Sequence[str]) -> int:
    """Return a 64-bit digest of texts."""
    digest = hashlib.blake2b("\n".join(parts).encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little")


@lru_cache(maxsize=8192)
def fingerprint(ops: OpGraph) -> str:
    """Return the digest of a graph's operators, tensors and sizes, without names."""
    digest = hashlib.blake2b("\n".join(ops.ops).encode(), digest_size=16)
    for table in (ops.fixed, ops.scaled, ops.edges, ops.whole):
        # rounded to single precision, as data sets store tables, so that a graph that is encoded
        # now has the digest of its stored form; the bytes hashed are those of doubles, the type of
        # a graph's tables, as in the keys of shipped weights
        digest.update(np.asarray(table, np.float32).astype(np.float64).tobytes())
    return digest.hexdigest()
