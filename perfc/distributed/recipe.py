"""Element types of a training step, and the bytes of a parameter in memory and communication."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

from perfc.frontend.config.precision import MIXED_TYPES, SINGLE_TYPES
from perfc.ir import record
from perfc.passes.training.optimizer import optimizer


@record
class TrainingTypes:
    """Types of a step; by default 16-bit weights with an f32 master copy (mixed precision).

    Args:
        dtype: type of matrix products, as for ``--dtype``.
        weight_bytes: bytes of each weight that both passes read.
        gradient_bytes: bytes of its gradient; sums over micro-batches are in 32 bits.
        master_bytes: bytes of its master copy; 0 if the weight itself is in f32.
        sent_bytes: bytes of its gradient as the backward pass writes it and ranks exchange it.
    """

    dtype: str = MIXED_TYPES[0]
    weight_bytes: float = 2.0
    gradient_bytes: float = 4.0
    master_bytes: float = 4.0
    sent_bytes: float = 2.0

    def of_trainer(self, framework: str) -> TrainingTypes:
        """Return the types of a framework's published runs."""
        # weights in f32, which have no master copy, have f32 gradients in every framework
        sums = SUMMED_BYTES.get(framework) if self.master_bytes else None
        return replace(self, gradient_bytes=sums or self.gradient_bytes)

    def state_bytes(self, name: str) -> float:
        """Return the bytes of optimizer state and master copy per parameter.

        Raises:
            PassError: an unknown optimizer.
        """
        return self.master_bytes + optimizer_bytes(name)

    def traffic_bytes(self, name: str) -> float:
        """Return the bytes that the optimizer reads and writes per parameter and step.

        It reads the gradient as the backward pass writes it, reads and writes states and the master
        copy, and writes the weight, which it also reads if there is no master copy.

        Raises:
            PassError: an unknown optimizer.
        """
        reads = 0.0 if self.master_bytes else self.weight_bytes
        return self.sent_bytes + 2 * self.state_bytes(name) + self.weight_bytes + reads


SUMMED_BYTES = {"megatron": 2.0}
"""Bytes of a gradient that is summed over micro-batches, by framework: Megatron-Bridge's recipes of
published runs reduce in 16 bits (perf_recipes/_common.py, grad_reduce_in_fp32)."""
MIXED = TrainingTypes()
"""bf16 with f32 master weights."""


@cache
def optimizer_bytes(name: str) -> float:
    """Return the bytes of optimizer state per parameter.

    Raises:
        PassError: an unknown optimizer.
    """
    return optimizer(name).state_bytes


def recipe_of(dtype: str) -> TrainingTypes:
    """Return the element types of a step by the type of its products.

    In f32, TF32 and autocast the weights and the sent gradients are f32.

    >>> recipe_of("tf32").state_bytes("adamw"), recipe_of("f16").state_bytes("adamw")
    (8.0, 12.0)
    """
    if dtype in SINGLE_TYPES or dtype.startswith("amp-"):
        return TrainingTypes(
            dtype, weight_bytes=4.0, gradient_bytes=4.0, master_bytes=0.0, sent_bytes=4.0
        )
    return TrainingTypes(dtype)


def autocast(dtype: str) -> str:
    """Return the autocast to a type: how PyTorch trains models of other data than text.

    >>> autocast("bf16"), autocast("f32")
    ('amp-bf16', 'f32')
    """
    return f"amp-{dtype}" if dtype in MIXED_TYPES else dtype
