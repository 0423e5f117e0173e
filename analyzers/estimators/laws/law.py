"""Laws: time of a class of kernels as a sum of the resources it uses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path

from perfc.common.fitted import read_records
from perfc.ir import record

from ...estimate.interval import Interval
from .resources import KernelResources, Resource

FILE = Path(__file__).with_name("laws.toml")
BY_NAME = tuple((resource.value, resource) for resource in Resource)


@record
class KernelLaw:
    """A fitted law of one class of kernels and element type.

    Args:
        coefficients: by the name of a resource; none is negative, so that more work or a slower
            machine is never faster.
        overlap: order of the norm that joins all resources but the ramp: 1 adds them, a large one
            takes the longest.
        low: 5 % of measured kernels are below these multiples of the law, when left out of the fit:
            short ones, which are all ramp, and long ones.
        high: 5 % are above these.
        rows: number of kernels that it was fitted to.
        error: median relative error on kernels left out of the fit, one at a time.
        machines: names of the targets that ran them.
        source: where they come from.
    """

    coefficients: Mapping[str, float]
    overlap: float
    low: tuple[float, float]
    high: tuple[float, float]
    rows: int
    error: float
    machines: tuple[str, ...]
    source: str

    def parts_s(self, subject: KernelResources) -> dict[Resource, float]:
        """Return the time of each resource by itself."""
        return {
            resource: c * subject.seconds.get(resource, 0.0)
            for name, resource in BY_NAME
            if (c := self.coefficients.get(name))
        }

    def time_s(self, subject: KernelResources) -> float:
        """Return the likeliest time of one launch."""
        return self.joined_s(self.parts_s(subject))

    def joined_s(self, parts: Mapping[Resource, float]) -> float:
        """Return the likeliest time of one launch from the time of each resource by itself."""
        parts = {**parts}
        ramp = parts.pop(Resource.RAMP, 0.0)
        longest = max(parts.values(), default=0.0)
        if not longest:
            return ramp
        joined = sum((t / longest) ** self.overlap for t in parts.values())
        return ramp + longest * float(joined ** (1 / self.overlap))

    def interval(self, subject: KernelResources) -> Interval:
        """Return the time of one launch with the ends that hold nine in ten kernels."""
        parts = self.parts_s(subject)
        time_s = self.joined_s(parts)
        ramp = parts.get(Resource.RAMP, 0.0) / time_s if time_s else 0.0
        low, high = (short**ramp * long ** (1 - ramp) for short, long in (self.low, self.high))
        return Interval(time_s * low, time_s, time_s * high)


@cache
def laws() -> Mapping[str, KernelLaw]:
    """Return every law by class and element type, as `lab/perfc_lab/fits/kernel_laws.py` wrote."""
    return read_records(FILE, KernelLaw)


def law_of(subject: KernelResources) -> KernelLaw | None:
    """Return the law of a kernel; None if none was fitted to its class and type."""
    return laws().get(f"{subject.name}, {subject.dtype}")
