"""What is trained: sizes of a step, its optimiser, and what is computed again."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from perfc.errors import ParseError
from perfc.ir.record import record
from perfc.passes.training.implementation import RecomputePolicy
from perfc.passes.training.optimizer import optimizer

CHECKPOINTINGS = (RecomputePolicy.NONE, RecomputePolicy.SELECTIVE, RecomputePolicy.BLOCK)
"""What a step on many devices may compute again: nothing, what costs little, every layer."""
MASTER_BYTES = 4.0
"""Of each parameter's copy in 32 bits, as mixed precision keeps it."""


@cache
def state_bytes(name: str) -> float:
    """Of each parameter beside the 16 bits that are multiplied with.

    Raises:
        PassError: no such optimiser.
    """
    return MASTER_BYTES + optimizer(name).state_bytes


@cache
def traffic_bytes(name: str) -> float:
    """Read and written for each parameter in a step: gradient, states and both copies.

    Raises:
        PassError: no such optimiser.
    """
    return GRADIENT_BYTES + 2 * state_bytes(name) + WEIGHT_BYTES


GRADIENT_BYTES = 4.0
"""Of each parameter: sums over micro-batches are kept in 32 bits."""
WEIGHT_BYTES = 2.0


@record
class Training:
    """Sizes of a step.

    Args:
        seq: tokens of a sample.
        batch: samples of a step, of all copies.
        micro_batch: samples that pass at once on each copy.
        optimizer: who changes parameters, as ``--train`` takes it.
        checkpointing: what is computed again.
        overlap: whether exchanges of gradients and parameters run beside computation.
        bucket_bytes: of gradients that are exchanged at once.
        gradient_bytes: of each parameter's gradient as it is exchanged.
        is_frozen: whether only adapters are trained, which are taken to weigh nothing.
        has_update: whether the optimiser is part of the step.
    """

    seq: int = 2048
    batch: int = 256
    micro_batch: int = 1
    optimizer: str = "adamw"
    checkpointing: RecomputePolicy = RecomputePolicy.NONE
    overlap: bool = True
    bucket_bytes: float = 25e6
    gradient_bytes: float = 2.0
    is_frozen: bool = False
    has_update: bool = True

    def divided(self, copies: int, count: int) -> Training:
        """The same with so many micro-batches on each copy.

        Raises:
            ParseError: samples do not divide so.
        """
        if self.batch % (copies * count):
            message = f"{self.batch} samples do not divide into {count} micro-batches"
            raise ParseError(f"{message} on {copies} copies", where="--micro-batches")
        return replace(self, micro_batch=self.batch // (copies * count))

    def micro_batches(self, copies: int) -> int:
        """Of each copy in a step.

        Raises:
            ParseError: samples do not divide so.
        """
        each = copies * self.micro_batch
        if self.batch % each:
            message = f"{self.batch} samples do not divide into micro-batches of {self.micro_batch}"
            raise ParseError(f"{message} on {copies} copies", where="--global-batch")
        return self.batch // each
