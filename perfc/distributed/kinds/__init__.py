"""Kinds of parallelism, one a file: what each exchanges in a step, and how much a step waits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from perfc.common.declared import modules
from perfc.ir.record import record

if TYPE_CHECKING:
    from ..stage import StageWork


@record
class Loss:
    """What a kind of parallelism costs one rank in a step.

    Args:
        exposed_s: that the step waits for.
        exchanged_s: of all exchanges, those that run beside computation included.
        nbytes: of their messages.
    """

    exposed_s: float = 0.0
    exchanged_s: float = 0.0
    nbytes: float = 0.0

    def __add__(self, other: Loss) -> Loss:
        """Both, one after the other."""
        return Loss(
            self.exposed_s + other.exposed_s,
            self.exchanged_s + other.exchanged_s,
            self.nbytes + other.nbytes,
        )

    def __mul__(self, times: float) -> Loss:
        """So often."""
        return Loss(self.exposed_s * times, self.exchanged_s * times, self.nbytes * times)


@record
class Parallelism:
    """A kind of parallelism.

    Args:
        name: as reports call its losses.
        of_micro_batch: what each micro-batch waits for, forward and backward together; None where
            nothing is exchanged for each.
        of_step: what a step waits for once; None where nothing is.
    """

    name: str
    of_micro_batch: Callable[[StageWork], Loss] | None = None
    of_step: Callable[[StageWork], Loss] | None = None


@cache
def kinds() -> tuple[Parallelism, ...]:
    """Those that the files here declare as ``KIND``, by name of file."""
    return tuple([m.KIND for m in modules(__name__)])
