"""Summarize training rows in cells, by which an estimate names the rows nearest to a kernel.

An artefact has the cells in place of the rows. A cell is a machine, an element type, a framework
and each parameter rounded to a power of two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfc.analyzers.artefacts.artefact import Cells
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of, complete
from perfc.machine import load_machine

from ..data.rows import Rows


def summarize(blocks: Sequence[Rows], most: int) -> Cells:
    """Return the cells, with their numbers of rows and how near rows come to their lower bound.

    Only the ``most`` cells with the most rows are returned. ``blocks`` are of one kernel class.
    """
    kind = class_of(blocks[0].class_name)
    names = (*kind.parameters, *kind.optional)
    # first number of a cell: machine, element type and framework together
    configurations = sorted({(b.target, b.dtype, b.framework) for b in blocks})
    keys, logs = [], []
    for block in blocks:
        columns = complete(kind, block.columns)
        floor = kind.floor_s(columns, block.dtype, Sheet(load_machine(block.target)))
        stacked = np.stack([columns[n] for n in names], axis=1)
        # exponents of powers of two, at least -2; -8 stands for 0, which is also a missing
        # parameter
        rounded = np.where(stacked > 0, np.rint(np.log2(np.maximum(stacked, 0.25))), -8)
        number = configurations.index((block.target, block.dtype, block.framework))
        keys.append(np.column_stack([np.full(len(block), number), rounded]).astype(np.int16))
        # 1e-15 s stands for a lower bound of 0, which has no logarithm
        logs.append(np.log(np.maximum(floor, 1e-15) / block.time_s))
    unique, back, count = np.unique(
        np.concatenate(keys), axis=0, return_inverse=True, return_counts=True
    )
    # geometric mean of lower bound over time in each cell
    mean = np.bincount(back.reshape(-1), np.concatenate(logs)) / count
    # `unique` is sorted, and the largest cells stay in that order
    largest = np.sort(np.argsort(-count, kind="stable")[:most])
    return Cells(
        names,
        unique[largest, 0],
        unique[largest, 1:].astype(np.int8),
        count[largest].astype(np.int32),
        np.exp(mean[largest]).astype(np.float32),
    )
