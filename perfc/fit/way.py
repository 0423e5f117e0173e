"""One way of running a model, and the batches that a device holds of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from perfc.analyzers.estimate.interval import Interval
from perfc.errors import ParseError
from perfc.extents import keyed
from perfc.ir.record import frozen
from perfc.passes.storage import Role, StorageTable
from perfc.report import Verdict
from perfc.report.footprint import Footprint, footprint, holds, table_of

if TYPE_CHECKING:
    from perfc.api import Report

BATCH = "batch"
MOST_BATCH = 1 << 24
"""No run has more; a model that does not grow with its batch ends here."""
NEAR = 1.02
"""Ratio of batches within which the search goes on one by one at most a few times."""


@frozen
class Way:
    """A report, with what is divided among devices.

    Args:
        title: what it changes.
        report: of the run.
        shards: among how many devices buffers of a role are divided.
        more_bytes: of workspace that the change needs.
        more_s: that the change adds to a run whatever its batch.
        note: what is left out.
    """

    title: str
    report: Report
    shards: Mapping[Role, int] | None = None
    more_bytes: int = 0
    more_s: float = 0.0
    note: str = ""

    @cached_property
    def table(self) -> StorageTable:
        """Its buffers on one device."""
        return replace(table_of(self.report), shards=dict(self.shards or {}))

    @property
    def batch(self) -> int | None:
        """Of the report; None where the model's inputs have none that may change."""
        names = self._keys(1)
        return self.report.env[next(iter(names))] if names else None

    def _keys(self, batch: int) -> dict[str, int]:
        keys = keyed(self.report.source, {BATCH: batch}) or {}
        return {k: n for k, n in keys.items() if k in self.report.env}

    def env(self, batch: int | None) -> Mapping[str, int]:
        """Values of the symbols at a batch."""
        return {**self.report.env, **({} if batch is None else self._keys(batch))}

    def holds(self, batch: int | None) -> bool:
        """Whether the device holds a run of that batch."""
        return holds(self.report, self.env(batch), table=self.table, more_bytes=self.more_bytes)

    def footprint(self, batch: int | None) -> Footprint:
        """Of a run of that batch."""
        return footprint(self.report, self.env(batch), table=self.table, more_bytes=self.more_bytes)

    def largest(self) -> int:
        """The largest batch that the device holds; 0 where it holds none.

        Raises:
            ParseError: the model has no batch that may change.
        """
        if self.batch is None:
            hint = "export it with a symbolic first dimension"
            raise ParseError("the batch of the model is fixed", where="--batch", hint=hint)
        low, high = 0, 1
        while self.holds(high):
            low, high = high, self._further(high)
            if low >= MOST_BATCH:
                return low
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.holds(middle) else (low, middle)
        return low

    def _further(self, batch: int) -> int:
        """A batch to try next: where bytes that live, straight on, would fill the device."""
        capacity = self.report.deployment.capacity(self.report.machine)
        small, large = (self._live(b) for b in (batch, 2 * batch))
        slope = (large - small) / batch
        if capacity is None or slope <= 0:
            return 8 * batch
        guess = int((capacity.tensor_bytes - small) / slope) + batch
        return min(max(batch + 1, int(guess * NEAR)), 64 * batch)

    def _live(self, batch: int) -> int:
        return max((sum(r.values()) for r in self.table.live(self.env(batch))), default=0)

    def at(self, batch: int | None) -> Report:
        """The report at a batch."""
        return self.report if batch is None else self.report.at({BATCH: batch})

    def time_s(self, report: Report, *, predict: bool) -> Interval:
        """What a run takes, with what the change adds.

        Args:
            report: of `at`.
            predict: whether the time is predicted; else it is at measured rates.
        """
        expected = Verdict.of(report, predict=predict).expected
        return expected + Interval.exactly(self.more_s)
