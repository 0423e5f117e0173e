"""Kinds of parallelism, one a file: what each exchanges in a step, and how much a step waits."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

from perfc.common.declared import modules
from perfc.ir import record

if TYPE_CHECKING:
    from ..stage import StageWork


@record
class Loss:
    """Communication of one kind of parallelism, on one rank.

    Args:
        exposed_s: time that the step waits for.
        exchanged_s: time of all communication, overlapped one included.
    """

    exposed_s: float = 0.0
    exchanged_s: float = 0.0

    def __add__(self, other: Loss) -> Loss:
        """Return the sum of two losses."""
        return Loss(self.exposed_s + other.exposed_s, self.exchanged_s + other.exchanged_s)


@record
class Parallelism:
    """A kind of parallelism.

    Args:
        name: name of its losses in reports.
        of_micro_batch: communication of each micro-batch, both passes; None without any.
        of_step: communication once per step; None without any.
    """

    name: str
    of_micro_batch: Callable[[StageWork], Loss] | None = None
    of_step: Callable[[StageWork], Loss] | None = None


@cache
def kinds() -> tuple[Parallelism, ...]:
    """Return the ``KIND`` of every file here, by name of file."""
    return tuple(m.KIND for m in modules(__name__))
