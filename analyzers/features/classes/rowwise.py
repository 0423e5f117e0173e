"""Shared code of softmax and normalization classes: a block passes over its row several times.

A row is one kernel, columns are its parameters. A forest predicts measured time over the physical
estimate ``scale_s`` from the features here, in logarithms.
"""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

import numpy as np

from perfc.common.fitted import FILE_NAME, read_constants
from perfc.ir import bits_of

from .. import reach
from ..sheet import Sheet
from . import Array, Columns
from .called import Called

_ROWS_KEPT = read_constants(Path(__file__).parents[1] / FILE_NAME)["rows_kept"].by_name
HALF_KEPT = _ROWS_KEPT["half"]
"""Share of the caches that resident rows fill when half of them are lost between passes."""
STEEPNESS = _ROWS_KEPT["steepness"]
"""Slope of the logistic function that gives the lost share from the logarithm of pressure."""


def pressure(rows: Columns, threads: Array, dtype: str, sheet: Sheet) -> Array:
    """Return the log of the bytes of all concurrent rows over those at which half are lost."""
    # rows of one multiprocessor: as many blocks as its threads allow, or as there are
    resident = np.minimum(
        sheet.threads_per_sm / threads, np.maximum(rows["rows"] / sheet.sm_count, 1)
    )
    nbytes = sheet.sm_count * resident * rows["cols"] * bits_of(dtype) / 8
    log_pressure: Array = np.log(nbytes / reach.read_cache_bytes(sheet) / HALF_KEPT)
    return log_pressure


class Rowwise(Called):
    """``rows`` of ``cols`` elements; one block of threads computes each row."""

    parameters = ("rows", "cols")
    is_own = True
    increasing = ("log_flop",)  # features with which time only rises

    @abstractmethod
    def threads(self, rows: Columns) -> Array:
        """Return the number of threads of a block."""

    @abstractmethod
    def again(self, rows: Columns) -> Array:
        """Return the number of passes beyond a read and a write.

        The data of these passes come from caches, or from memory if they were evicted.
        """

    def features(self, rows: Columns, dtype: str, sheet: Sheet) -> dict[str, Array]:
        """Return features of the body against the call, of waves of blocks, and of caches."""
        threads, body = self.threads(rows), self.body_s(rows, dtype, sheet)
        # the call hides a body shorter than half of it: features of its rates would be noise, so
        # that they are 0. Half is the border with which the shipped weights were fitted
        large = body > self.eager_s / 2
        waves = rows["rows"] / (sheet.sm_count * sheet.threads_per_sm / threads)
        flop_s = rows["rows"] * rows["cols"] / sheet.vector_flop_per_s("f32")
        return {
            "log_body": np.log(body / self.eager_s),
            "log_cols": np.log2(rows["cols"]),
            # beyond 16 waves, and below a sixteenth of one, their number has no further effect
            "waves": np.clip(np.log2(waves), -4, 4),
            # idle share of the last wave: of 20 waves and more it is below 5 %
            "tail": (np.ceil(waves) / waves - 1) * (large & (waves < 20)),
            # beyond e³ = 20 times, practically all rows are in caches or lost
            "pressure": np.clip(pressure(rows, threads, dtype, sheet), -3, 3) * large,
            # threads load vectors of four f32 elements (16 bytes)
            "aligned": (rows["cols"] % 4 == 0).astype(float),
            "log_flop": np.log(flop_s / body) * large,
            "iterations": np.ceil(rows["cols"] / 4 / threads),
        }

    def body_s(self, rows: Columns, dtype: str, sheet: Sheet) -> Array:
        """Return the traffic of the passes at the bandwidth that kernels reach."""
        nbytes = rows["rows"] * rows["cols"] * bits_of(dtype) / 8
        log_pressure = pressure(rows, self.threads(rows), dtype, sheet)
        # share of the data that caches lost before a further pass, a logistic function; one read
        # and one write (2) always go to memory
        lost = 1 / (1 + np.exp(-STEEPNESS * log_pressure))
        body: Array = nbytes * (2.0 + self.again(rows) * lost) / reach.memory_bytes_per_s(sheet)
        return body
