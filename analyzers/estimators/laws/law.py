"""Fitted laws: time of a class of kernels as a norm of the times of the resources it uses.

A `Resource` has physical seconds on a machine; a law multiplies each by a fitted coefficient.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from perfc.common.fitted import read_records
from perfc.ir import frozen, record

from ...estimate.interval import Interval
from ...features.power_limit import ORDER
from .resource import KernelResources, Resource

if TYPE_CHECKING:
    from ...features.classes import Array

RESOURCES = tuple(Resource)
NOTHING = (0.0,) * len(RESOURCES)
"""Defaults of resources that a kernel does not use."""
FILE = Path(__file__).with_name("laws.toml")
"""Laws of GPUs, by class and element type."""


@frozen
class KernelLaw:
    """A law that was fitted to one class of kernels and element type.

    Args:
        coefficients: factor of each resource by name; none is negative, so that more work or a
            slower machine is never faster.
        overlap: order of the norm that joins the times of all resources but the ramp, which is the
            start and end of a launch: 1 adds them, a large order takes the longest.
        low: two 5 % quantiles of measured over predicted time of held-out kernels: of short ones,
            whose time is the ramp alone, and of long ones, whose ramp is negligible.
        high: 95 % quantiles of short and of long kernels.
        rows: number of kernels that it was fitted to.
        error: median relative error on kernels left out of the fit, one at a time.
        machines: names of the targets that ran the kernels.
        source: tables of the rows.
    """

    coefficients: Mapping[str, float]
    overlap: float
    low: tuple[float, float]
    high: tuple[float, float]
    rows: int
    error: float
    machines: tuple[str, ...]
    source: str

    @cached_property
    def row(self) -> Array:
        """Return the coefficient of each resource, in the order of `Resource`."""
        return np.array([self.coefficients.get(resource.value, 0.0) for resource in Resource])

    def parts_s(self, subject: KernelResources) -> dict[Resource, float]:
        """Return the time of each resource with a coefficient, without overlap."""
        coefficients = zip(Resource, self.row.tolist(), strict=True)
        return {r: c * subject.seconds.get(r, 0.0) for r, c in coefficients if c}

    def time_s(self, subject: KernelResources) -> float:
        """Return the likeliest time of one launch."""
        return self.interval(subject).mid

    def interval(self, subject: KernelResources) -> Interval:
        """Return the time of one launch with its 90 % prediction interval."""
        return intervals_of([(self, subject)])[0]


@record
class Nearness:
    """Distance of the rows of a law from a machine.

    Args:
        width: logarithmic width of intervals relative to that of machines with rows.
        is_measured: True if the law has rows of this machine or a similar one.
        is_own: True if it has rows of this machine, or the rates of the machine were measured.
    """

    width: float
    is_measured: bool
    is_own: bool


def intervals_of(kernels: Sequence[tuple[KernelLaw, KernelResources]]) -> list[Interval]:
    """Return times of one launch with 90 % prediction intervals, each kernel by its law.

    The time is the ramp plus the norm of the times of all other resources, limited by the power of
    the board.
    """
    if not kernels:
        return []
    laws = [law for law, _ in kernels]
    seconds = np.array([[*map(s.seconds.get, RESOURCES, NOTHING)] for _, s in kernels])
    power = seconds[:, RESOURCES.index(Resource.POWER)]
    parts = seconds * np.array([law.row for law in laws])
    ramp, others = parts[:, 0], parts[:, 1:]  # the ramp is the first `Resource`
    order = np.array([law.overlap for law in laws])
    # times in seconds would underflow if raised to the order: they are divided by the longest
    # first. `tiny` stands for a kernel without any part
    longest = np.maximum(others.max(axis=1), np.finfo(np.float64).tiny)
    joined = ((others / longest[:, None]) ** order[:, None]).sum(axis=1) ** (1 / order)
    time_s = within_power(ramp + longest * joined, power)
    share = ramp / np.maximum(time_s, np.finfo(np.float64).tiny)
    # axes: short or long, low or high, kernel. A kernel between short and long has a geometric mean
    # with the share of the ramp in its time as weight
    short, long = np.array([(law.low, law.high) for law in laws]).transpose(2, 1, 0)
    low, high = short**share * long ** (1 - share)
    ends = np.stack([time_s * low, time_s, time_s * high], axis=1)
    return [Interval(*low_mid_high) for low_mid_high in ends.tolist()]


def within_power(time_s: Array, power_s: Array) -> Array:
    """Return times of kernels on a board whose power limit lowers the clock: a smooth maximum.

    ``power_s`` is the time that their energy takes at the power limit.
    """
    joined: Array = (time_s**ORDER + power_s**ORDER) ** (1 / ORDER)
    return joined


@cache
def laws(file: Path = FILE) -> Mapping[str, KernelLaw]:
    """Return every law of a file that the laboratory wrote, by class and element type."""
    return read_records(file, KernelLaw)


def law_of(subject: KernelResources) -> KernelLaw | None:
    """Return the law of a kernel; None if none was fitted to its class and type."""
    return laws().get(f"{subject.name}, {subject.dtype}")
