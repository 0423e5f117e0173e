"""Summarise training rows in cells, so that an estimate can name its nearest rows without them.

A cell is a machine, an element type, a framework and each parameter rounded to a power of two.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from perfc.analyzers.artefacts.artefact import Cells
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of, complete
from perfc.machine import load_machine

from ..data.rows import Rows


def summarise(blocks: Sequence[Rows], most: int) -> Cells:
    """Return the number of rows of each cell and how near they come to their lower bound.

    Of more than ``most`` cells those of most rows stay.
    """
    kind = class_of(blocks[0].class_name)
    names = (*kind.parameters, *kind.optional)
    configurations = sorted({(b.target, b.dtype, b.framework) for b in blocks})
    keys, logs = [], []
    for block in blocks:
        columns = complete(kind, block.columns)
        floor = kind.floor_s(columns, block.dtype, Sheet(load_machine(block.target)))
        stacked = np.stack([columns[n] for n in names], axis=1)
        # exponents of powers of two; -8 stands for zero and what is not given
        rounded = np.where(stacked > 0, np.rint(np.log2(np.maximum(stacked, 0.25))), -8)
        number = configurations.index((block.target, block.dtype, block.framework))
        keys.append(np.column_stack([np.full(len(block), number), rounded]).astype(np.int16))
        logs.append(np.log(np.maximum(floor, 1e-15) / block.time_s))
    unique, back, count = np.unique(
        np.concatenate(keys), axis=0, return_inverse=True, return_counts=True
    )
    # geometric mean of lower bound over time
    mean = np.bincount(back.reshape(-1), np.concatenate(logs)) / count
    largest = np.sort(np.argsort(-count, kind="stable")[:most])
    return Cells(
        names,
        unique[largest, 0],
        unique[largest, 1:].astype(np.int8),
        count[largest].astype(np.int32),
        np.exp(mean[largest]).astype(np.float32),
    )
