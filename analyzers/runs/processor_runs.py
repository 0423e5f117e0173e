"""Time of a whole run on a processor from the sum of its kernels, fitted to published runs.

``T = factor · Σ kernels + launch · kernels + group · groups``: an engine on many cores wakes and
joins its threads for every kernel, and eager PyTorch before 2 calls a convolution for each of its
groups (source: aten/src/ATen/native/Convolution.cpp, PyTorch 1.8). The interval is that of graphs
or machines left out of the fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.fitted import constants_next_to, read_records
from perfc.ir import record
from perfc.ir.problem import SlidingWindow

from ..estimate.estimate import Predictor
from ..estimate.interval import Interval
from ..estimators.laws.processor_resources import is_rated
from ..intervals.conformal import UNMEASURED_WIDENING

if TYPE_CHECKING:
    from perfc.machine import Machine
    from perfc.passes.roofline.ceilings import KernelBound

    from ..estimators import Execution
    from .prediction import PredictionTable

FILE = Path(__file__).with_suffix(".toml")
CLOCK_HZ = constants_next_to(__file__)["launching_clock"].number
"""Maximum core clock at which fitted launch times hold; other clocks scale them (`slowdown`)."""
GROUPED = (2, 0)
"""First version of PyTorch that computes all groups of a convolution in one call on processors."""


@record
class ProcessorLaw:
    """Fit of whole runs under one runtime.

    Args:
        targets: machines of the fitted runs.
        factor: multiplier of the sum of the kernels.
        launch_s: time added per kernel.
        reach: half-width of the 90 % interval of the logarithm, for held-out graphs.
        runs: number of fitted runs.
        has_held_out_machines: True if ``reach`` is of machines that were left out of the fit, each
            in turn; then it holds on unmeasured machines too.
        group_s: time added per group of grouped convolutions in versions before `GROUPED`.
    """

    targets: Sequence[str]
    factor: float
    launch_s: float
    reach: float
    runs: int
    has_held_out_machines: bool = False
    group_s: float = 0.0

    def time_s(self, kernels_s: float, launches: float, groups: float = 0.0) -> float:
        """Return the time of a run in seconds.

        Args:
            kernels_s: sum of the kernels' estimates.
            launches: number of kernel launches.
            groups: number of groups of grouped convolutions.

        >>> ProcessorLaw(("x",), 2.0, 1e-5, 0.5, 9).time_s(1e-3, 100)
        0.003
        """
        return self.factor * kernels_s + self.launch_s * launches + self.group_s * groups


@cache
def laws() -> Mapping[str, ProcessorLaw]:
    """Return the shipped fits by runtime.

    ``lab/perfc_lab/fits/processor_runs.py`` and ``processor_laws.py`` write them.
    """
    return read_records(FILE, ProcessorLaw)


def slowdown(machine: Machine) -> float:
    """Return the factor of launch times by the core clock; 1 for machines with measured rates."""
    # at measured rates the kernels' sum, which includes launches, contains the clock already
    clock = None if is_rated(machine) else machine.device("clock_max_hz")
    return 1.0 if clock is None else CLOCK_HZ / clock.value


def groups_of(bounds: Iterable[KernelBound]) -> float:
    """Return the number of groups of grouped convolutions."""
    pairs = ((b.launches, b.kernel.problem) for b in bounds)
    return math.fsum(
        n * w.groups for n, w in pairs if isinstance(w, SlidingWindow) and w.groups > 1
    )


def is_plain(table: PredictionTable) -> bool:
    """Return True if all kernels follow laws, or rooflines without a correction.

    Fits of whole runs were made on sums of such estimates.
    """
    law, plain = Predictor.LAW, (Predictor.ROOFLINE, 1.0)
    return all(k.predictor is law or (k.predictor, k.correction) == plain for k in table.launched)


def run_time(
    law: ProcessorLaw,
    execution: Execution,
    table: PredictionTable,
    version: tuple[int, int] | None = None,
) -> tuple[Interval, bool]:
    """Return the time of a run, and True if the fitted runs are of this machine."""
    bounds, machine = execution.bounds, execution.machine
    launches = math.fsum(b.launches for b in bounds.kernels)
    slow = slowdown(machine)
    # an unknown version counts as a new one
    groups = groups_of(bounds.kernels) if version and version < GROUPED else 0.0
    time_s = law.time_s(table.timeline.time_s, slow * launches, slow * groups)
    # fits without targets have sums of laws of kernels, which hold on all machines with measured
    # rates; kernels that were measured to correct the machine (`adapt`) count as well
    is_own = machine.name in law.targets if law.targets else is_rated(machine)
    is_own = is_own or any(k.correction != 1.0 for k in table.launched)
    reach = law.reach * (1.0 if is_own or law.has_held_out_machines else UNMEASURED_WIDENING)
    time = Interval(time_s * math.exp(-reach), time_s, time_s * math.exp(reach))
    return time.at_least(bounds.floor_s), is_own
