"""Energy of a kernel or a run from its time and the utilisation of each unit of the board.

The power is ``P = cap · (1 − (1 − base) · exp(−Σ aᵢ uᵢ))`` with ``uᵢ`` the time of one unit at data
sheet rates over the time of the kernel, ``cap`` the board's power limit, and ``base`` the share of
this limit that the shortest kernel draws. The power rises with every utilisation up to the limit,
at which the board lowers its clock. Short kernels draw less, as they seldom fill the board: one
``uᵢ`` rises with the time of a launch.

Fitted by ``perfc_lab.training.power`` to products and attention in recorded graphs, on boards
of one vendor; power of kernels below 0.2 ms scatters more, so that their interval is wider. Leaves
out clocks, temperature and the host.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import fields, replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from perfc.common.fitted import constants_next_to
from perfc.ir import record

from ..estimate.interval import Interval
from ..features.sheet import Sheet

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perfc.machine import Machine
    from perfc.passes.roofline.roofline import KernelBound

FILE = Path(__file__).parent / "power.toml"
"""The fitted `PowerModel`."""


@record
class PowerModel:
    """Fitted numbers of the power of a board.

    Args:
        base: share of the power limit that the shortest kernel draws.
        idle: share of the power limit between kernels, for targets without an idle power.
        rates: ``aᵢ`` by unit; ``matrix16``, ``matrix8`` and ``matrix4`` by bits of the factors,
            ``duration`` for the time of a launch.
        low_ratio: 5 % quantile of measured over predicted power on boards left out of the fit.
        high_ratio: 95 % quantile.
        short_low_ratio: 5 % quantile for kernels shorter than `LONG_S`.
        short_high_ratio: 95 % quantile for these.
    """

    base: float
    idle: float
    rates: Mapping[str, float]
    low_ratio: float
    high_ratio: float
    short_low_ratio: float
    short_high_ratio: float


LONG_S = 200e-6
"""Duration in seconds from which the power of a kernel has the narrower interval: power of shorter
kernels scatters more."""
FILLING_S = constants_next_to(__file__)["filling_s"].number
"""Duration of a launch at which half of the power that duration adds is reached."""


@record
class Energy:
    """Energy of a kernel or a run on the board, including launches and waits.

    Args:
        energy_j: predicted energy.
        low_j: lower end of the 90 % prediction interval.
        high_j: upper end.
        power_w: mean power over its time.
        low_ratio: 5 % quantile of measured over predicted power of such kernels.
        high_ratio: 95 % quantile.
    """

    energy_j: float
    low_j: float
    high_j: float
    power_w: float
    low_ratio: float
    high_ratio: float

    def scaled(self, ratio: float) -> Energy:
        """Return the energy of a run that takes another time at the same power."""
        return replace(
            self,
            energy_j=self.energy_j * ratio,
            low_j=self.low_j * ratio,
            high_j=self.high_j * ratio,
        )


@cache
def power_model() -> PowerModel:
    """Return the shipped power model."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return PowerModel(**{f.name: data[f.name] for f in fields(PowerModel)})


def matrix_key(dtype: str) -> str:
    """Return the key of the matrix unit's rate by bits of the factors; f32 and f64 count as 16."""
    if dtype in ("f4e2m1", "i4", "u4"):
        return "matrix4"
    return "matrix8" if dtype.startswith(("f8", "i8", "u8")) else "matrix16"


def share_of_cap(model: PowerModel, busy: Mapping[str, float]) -> float:
    """Return mean power over the board's power limit, from the utilization of each unit.

    >>> model = PowerModel(0.5, 0.2, {"device": 1.0}, 0.8, 1.2, 0.7, 1.3)
    >>> share_of_cap(model, {"device": 0.0}), round(share_of_cap(model, {"device": 1.0}), 3)
    (0.5, 0.816)
    """
    # idle units give `base`; units without a rate in the fit add nothing
    exponent = math.fsum(model.rates.get(unit, 0.0) * u for unit, u in busy.items())
    return 1 - (1 - model.base) * math.exp(-exponent)


def idle_w(machine: Machine, model: PowerModel) -> float:
    """Return the idle power of a board in watts, rated or as the usual share of its power limit."""
    rated = machine.device("idle_power_w")
    return rated.value if rated is not None else model.idle * Sheet(machine).power_w


def utilisation(bound: KernelBound, sheet: Sheet, busy_s: float) -> dict[str, float]:
    """Return the utilization of each unit: its time at data sheet rates over the kernel's time."""
    n, dtype, vector = bound.counts, bound.dtype, bound.vector_dtype
    # of one launch
    seconds = {
        matrix_key(dtype.code): 2 * n.mac / sheet.matrix_flop_per_s(dtype.code),
        "special": n.sfu / sheet.special_op_per_s(vector.code),
        "device": n.nbytes / sheet.device_bytes_per_s,
        "l2": n.nbytes / sheet.l2_bytes_per_s,
    }
    # at most 1: a kernel may be predicted shorter than the time of one of its units, which then is
    # busy throughout
    shares = {unit: min(t * bound.launches / busy_s, 1.0) for unit, t in seconds.items()}
    shares["duration"] = duration(busy_s / bound.launches)
    return shares


Times = TypeVar("Times", float, "NDArray[np.float64]")


def duration(launch_s: Times) -> Times:
    """Return the utilisation, from 0 to 1, that stands for the duration of a launch."""
    return launch_s / (launch_s + FILLING_S)


def energy_of(bound: KernelBound, time: Interval, wait_s: float, sheet: Sheet) -> Energy | None:
    """Return the energy of one kernel, all launches; None for machines without a power model.

    Args:
        bound: counts and launches of the kernel.
        time: time of all its launches.
        wait_s: part of that time in which the device is idle.
        sheet: data sheet of the board.
    """
    machine = sheet.machine
    if machine.kind == "cpu" or sheet.power_w <= 0 or time.mid <= 0:
        return None
    model = power_model()
    # while the device waits for its host it draws idle power
    busy_s = max(time.mid - wait_s, 0.0)
    power_w = 0.0
    if busy_s > 0:
        power_w = sheet.power_w * share_of_cap(model, utilisation(bound, sheet, busy_s))
    energy_j = busy_s * power_w + (wait_s * idle_w(machine, model) if wait_s else 0.0)
    if busy_s / bound.launches >= LONG_S:
        return with_ends(energy_j, time, model.low_ratio, model.high_ratio)
    return with_ends(energy_j, time, model.short_low_ratio, model.short_high_ratio)


def idling(wait_s: float, machine: Machine) -> Energy | None:
    """Return the energy of a board that waits for its host; None without a power model."""
    if machine.kind == "cpu" or Sheet(machine).power_w <= 0:
        return None
    model = power_model()
    time, energy_j = Interval.exactly(wait_s), wait_s * idle_w(machine, model)
    return with_ends(energy_j, time, model.short_low_ratio, model.short_high_ratio)


def with_ends(energy_j: float, time: Interval, low_ratio: float, high_ratio: float) -> Energy:
    """Return an energy with the interval that follows from those of time and power."""
    # `ends` is the size of an error, a factor of at least 1: the lower end divides by it, the upper
    # end multiplies
    low = ends(time.low / time.mid, low_ratio)
    high = ends(time.high / time.mid, high_ratio)
    power_w = energy_j / time.mid
    return Energy(energy_j, energy_j / low, energy_j * high, power_w, low_ratio, high_ratio)


def ends(time_ratio: float, power_ratio: float) -> float:
    """Return the combined ratio of two independent errors: their logarithms add in quadrature."""
    # 1e-9: a time may have a lower end of 0
    return math.exp(math.hypot(math.log(max(time_ratio, 1e-9)), math.log(power_ratio)))


def summed(parts: Iterable[Energy | None], time: Interval) -> Energy | None:
    """Return the energy of a run; None unless every kernel has one.

    Errors of the power model are fully correlated between kernels of a board. The run's time has a
    separate interval.
    """
    every = list(parts)
    energies = [e for e in every if e is not None]
    if not every or len(energies) != len(every) or time.mid <= 0:
        return None
    energy_j = math.fsum(e.energy_j for e in energies)
    if energy_j <= 0:
        return None
    # fully correlated errors add linearly: the mean of the ratios, weighted by energy
    low_ratio = math.fsum(e.energy_j * e.low_ratio for e in energies) / energy_j
    high_ratio = math.fsum(e.energy_j * e.high_ratio for e in energies) / energy_j
    return with_ends(energy_j, time, low_ratio, high_ratio)
