"""Describe one way to run a model, and search the largest batch that fits on a device.

Modules of ``changes`` yield a `Way` each; `search.py` tabulates them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from perfc.analyzers.estimate.interval import Interval
from perfc.deployment.extents import keyed, require_ranges
from perfc.errors import ParseError
from perfc.ir import frozen
from perfc.passes.memory.storage import BufferRole, StorageTable
from perfc.view.report import Verdict
from perfc.view.report.memory_sections.footprint import Footprint, footprint, holds, table_of

if TYPE_CHECKING:
    from perfc.api import Report

BATCH = "batch"
"""Name by which the batch axis of any model is set."""
MOST_BATCH = 1 << 24
"""Batch at which the search ends where every batch fits, as on a device of unknown memory."""
NEAR = 1.02
"""Factor by which the extrapolated batch is exceeded, so that it is most likely too large."""


@frozen
class Way:
    """One way to run a model: a report, with sharding over devices.

    Args:
        title: name of the change.
        report: report of the run.
        shards: number of devices that share the buffers of each role.
        more_bytes: additional workspace of the change.
        more_s: additional time per run, for any batch.
        note: what is not modeled.
    """

    title: str
    report: Report
    shards: Mapping[BufferRole, int] | None = None
    more_bytes: int = 0
    more_s: float = 0.0
    note: str = ""

    @cached_property
    def table(self) -> StorageTable:
        """Return the buffers on one device."""
        return replace(table_of(self.report), shards=dict(self.shards or {}))

    @property
    def batch(self) -> int | None:
        """Return the batch of the report; None if the batch of the model is fixed."""
        names = self._keys(1)
        return self.report.env[next(iter(names))] if names else None

    def _keys(self, batch: int) -> dict[str, int]:
        """Return the symbols of a batch that the report has; empty if the batch is fixed."""
        keys = keyed(self.report.source, {BATCH: batch}) or {}
        return {k: n for k, n in keys.items() if k in self.report.env}

    def env(self, batch: int | None) -> Mapping[str, int]:
        """Return the values of the symbols at a batch."""
        return {**self.report.env, **({} if batch is None else self._keys(batch))}

    def allows(self, batch: int) -> bool:
        """Return True if the model can be run at a batch."""
        try:
            require_ranges(self.report.source, self._keys(batch))
        except ParseError:
            return False
        return True

    def holds(self, batch: int | None) -> bool:
        """Return True if a run of that batch fits."""
        if batch is not None and not self.allows(batch):
            return False
        return holds(self.report, self.env(batch), table=self.table, more_bytes=self.more_bytes)

    def footprint(self, batch: int | None) -> Footprint:
        """Return the footprint of a run of that batch."""
        return footprint(self.report, self.env(batch), table=self.table, more_bytes=self.more_bytes)

    def largest(self) -> int:
        """Return the largest batch that fits; 0 if none does.

        Raises:
            ParseError: if the batch of the model is fixed.
        """
        if self.batch is None:
            hint = "export it with a symbolic first dimension"
            raise ParseError("the batch of the model is fixed", where="--batch", hint=hint)
        # a batch of `low` fits; `high` grows until it does not fit, then bisection. A model that
        # refuses a batch of 1 starts at the batch of the report.
        low, high = 0, 1 if self.allows(1) else self.batch
        while self.holds(high):
            low, high = high, self._further(high)
            if low >= MOST_BATCH:
                return low
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.holds(middle) else (low, middle)
        return low

    def _further(self, batch: int) -> int:
        """Return the next batch to try, where linearly extrapolated live bytes fill the device."""
        # twice the batch is beyond the range of the model: `largest` bisects below it
        if not self.allows(2 * batch):
            return 2 * batch
        capacity = self.report.deployment.capacity(self.report.machine)
        # live bytes are nearly linear in the batch: two sizes give the slope
        small, large = (self._live(b) for b in (batch, 2 * batch))
        slope = (large - small) / batch
        # nothing to extrapolate: larger steps than doubling save analyses
        if capacity is None or slope <= 0:
            return 8 * batch
        guess = int((capacity.tensor_bytes - small) / slope) + batch
        # bounded, as allocator and rounding can make the extrapolation wrong by any factor
        return min(max(batch + 1, int(guess * NEAR)), 64 * batch)

    def _live(self, batch: int) -> int:
        """Return the most bytes that are live at once."""
        return max(self.table.live_bytes(self.env(batch)), default=0)

    def at(self, batch: int | None) -> Report:
        """Return the report at a batch."""
        return self.report if batch is None else self.report.at({BATCH: batch})

    def time_s(self, report: Report, *, predict: bool) -> Interval:
        """Return the time of a run, including the additional time of the change.

        Args:
            report: result of `at`.
            predict: predict the time; otherwise use measured rates.
        """
        expected = Verdict.of(report, predict=predict).expected
        return expected + Interval.exactly(self.more_s)
