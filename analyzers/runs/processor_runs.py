"""A whole run on a processor, from the sum of its kernels, by a law that published runs taught.

``T = factor · Σ kernels + launch · kernels``: an engine on many cores wakes and joins its threads
for every kernel, which rooflines do not know. Of so few runs two numbers are all that can be
learned; each graph left out tells how far the law reaches.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.ir.record import record

from ..estimate.estimate import Predictor
from ..estimate.interval import Interval
from ..intervals.conformal import UNMEASURED_WIDENING

if TYPE_CHECKING:
    from ..estimators import Execution
    from .prediction import PredictionTable

FILE = Path(__file__).with_suffix(".toml")


@record
class ProcessorLaw:
    """What runs take under one runtime.

    Args:
        target: the machine whose runs taught it.
        factor: of the kernels' own sum.
        launch_s: of each kernel.
        reach: logarithm that nine in ten runs of unseen graphs are within, either way.
        runs: how many taught it.
    """

    target: str
    factor: float
    launch_s: float
    reach: float
    runs: int

    def time_s(self, kernels_s: float, launches: float) -> float:
        """Of a run.

        Args:
            kernels_s: sum of the kernels' estimates.
            launches: how many kernels run.

        >>> ProcessorLaw("x", 2.0, 1e-5, 0.5, 9).time_s(1e-3, 100)
        0.003
        """
        return self.factor * kernels_s + self.launch_s * launches


@cache
def laws() -> Mapping[str, ProcessorLaw]:
    """By runtime. Made by ``lab/perfc_lab/fits/processor_runs.py``."""
    data = tomllib.loads(FILE.read_text(encoding="utf-8"))
    return {name: ProcessorLaw(**entry) for name, entry in data.items()}


def is_plain(table: PredictionTable) -> bool:
    """Whether nothing but rooflines speaks: neither fitted rates nor corrections of a machine."""
    return all(k.predictor is Predictor.ROOFLINE and k.correction == 1.0 for k in table.kernels)


def told(law: ProcessorLaw, execution: Execution, table: PredictionTable) -> tuple[Interval, bool]:
    """What a run takes, and whether runs of this very machine say so.

    On another processor the interval is as wide as where no machine was ever left out.
    """
    launches = math.fsum(b.launches for b in execution.bounds.kernels)
    time_s = max(law.time_s(table.total.time_s, launches), execution.bounds.floor_s)
    is_own = execution.machine.name == law.target
    reach = law.reach * (1.0 if is_own else UNMEASURED_WIDENING)
    time = Interval(time_s * math.exp(-reach), time_s, time_s * math.exp(reach))
    return time.at_least(execution.bounds.floor_s), is_own
