"""Estimator of last resort: sustained roofline time of a kernel times a measured ratio.

The ratio is that of kernels of the same kind, measured over sustained time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from perfc.common.fitted import data_next_to
from perfc.ir import Kind, record

from ..estimate.estimate import Estimate, Predictor
from ..estimate.interval import Interval
from .estimator import Estimator, Execution

ANY = "any"
"""Key of the ratio of all kinds of kernels together."""


@record
class SustainedShare:
    """Sustained time of a kernel, and the ratio of measured to sustained time of its kind.

    The sustained time is the roofline time at measured rates, or at rated ones if none were
    measured.
    """

    sustained_s: float
    ratio: Interval


class SustainedRoofline(Estimator):
    """Estimates every kernel on every machine, with wide intervals."""

    predictor = Predictor.ROOFLINE

    def estimate(self, execution: Execution, wanted: Sequence[int]) -> dict[int, Estimate]:
        """Return the sustained times of all kernels, times the ratio of their kind."""
        result: dict[int, Estimate] = {}
        for i in wanted:
            floor_s, reason = execution.bounds.kernels[i].floor_s, self.why(execution, i)
            time = reason.ratio * reason.sustained_s
            kind = execution.bounds.kernels[i].kernel.kind
            result[i] = Estimate.bounded(
                floor_s, time, self.predictor, kind.value, is_measured=False
            )
        return result

    def why(self, execution: Execution, index: int) -> SustainedShare:
        """Return the sustained time and the ratio that multiplies it."""
        bound = execution.bounds.kernels[index]
        return SustainedShare(
            bound.sustained_s, measured_share(execution.machine.kind, bound.kernel.kind)
        )


@cache
def measured_shares() -> Mapping[str, Mapping[str, Interval]]:
    """Return measured over sustained time by kinds of machines and of kernels.

    Each is an interval of the quantiles 5, 50 and 95 %, in ``roofline.toml``, which
    ``lab/perfc_lab/fits/roofline_spread.py`` writes.
    """
    data = data_next_to(__file__)
    return {
        machine: {
            kind: Interval(entry["low"], entry["mid"], entry["high"])
            for kind, entry in kinds.items()
        }
        for machine, kinds in data.items()
        if isinstance(kinds, dict)  # the schema and the title of the file are no tables
    }


def measured_share(machine: str, kind: Kind) -> Interval:
    """Return the measured over sustained time of kernels of a kind.

    A kind of kernels without rows takes the ratio of all kinds, a kind of machines without rows
    that of NVIDIA GPUs (``cuda``).
    """
    known = measured_shares().get(machine, measured_shares()["cuda"])
    return known.get(kind.value, known[ANY])
