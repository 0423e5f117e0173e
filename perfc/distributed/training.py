"""Sizes of a training step, its optimizer and its activation checkpointing."""

from __future__ import annotations

from dataclasses import replace

from perfc.errors import ParseError
from perfc.ir import record
from perfc.passes.training.implementation import RecomputePolicy

from .recipe import MIXED, TrainingTypes

CHECKPOINTINGS = (RecomputePolicy.NONE, RecomputePolicy.SELECTIVE, RecomputePolicy.BLOCK)
"""Checkpointing policies of a step on many devices: none, cheap operators, every layer."""


@record
class Training:
    """Sizes of a step.

    Args:
        seq: tokens of a sample.
        batch: samples of a step, on all copies.
        micro_batch: samples in one forward and backward pass of a copy.
        optimizer: name as for ``--train``.
        checkpointing: policy of recomputation.
        overlap: whether communication of gradients and parameters overlaps with computation.
        bucket_bytes: gradients that are reduced at once; bucket_cap_mb of PyTorch's
            DistributedDataParallel.
        recipe: element types.
        is_frozen: whether only adapters are trained, whose size is neglected.
        has_update: whether the optimizer is part of the step.
    """

    seq: int = 2048
    batch: int = 256
    micro_batch: int = 1
    optimizer: str = "adamw"
    checkpointing: RecomputePolicy = RecomputePolicy.NONE
    overlap: bool = True
    bucket_bytes: float = 25e6
    recipe: TrainingTypes = MIXED
    is_frozen: bool = False
    has_update: bool = True

    def divided(self, copies: int, count: int) -> Training:
        """Return the sizes with ``count`` micro-batches on each copy.

        Raises:
            ParseError: the samples are not divisible by them.
        """
        if self.batch % (copies * count):
            message = f"{self.batch} samples do not divide into {count} micro-batches"
            raise ParseError(f"{message} on {copies} copies", where="--micro-batches")
        return replace(self, micro_batch=self.batch // (copies * count))

    def micro_batches(self, copies: int) -> int:
        """Return the number of micro-batches of each copy in a step.

        Raises:
            ParseError: the samples are not divisible by them.
        """
        # samples of one forward and backward pass of all copies
        pass_samples = copies * self.micro_batch
        if self.batch % pass_samples:
            message = f"{self.batch} samples do not divide into micro-batches of {self.micro_batch}"
            raise ParseError(f"{message} on {copies} copies", where="--global-batch")
        return self.batch // pass_samples
