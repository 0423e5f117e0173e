"""Memory of one rank in a training step, by kind, with ZeRO's division among copies."""

from __future__ import annotations

from perfc.ir import record
from perfc.machine.capacity import CONTEXT_BYTES
from perfc.passes.memory.allocators.trainers import FRAGMENTS
from perfc.passes.training.implementation import RecomputePolicy

from ..stage import StageWork

COLLECTIVE_BYTES = 0.9 * (1 << 30)
"""Buffers of collectives; with the context of a process 1.5 GiB, the same as `perfc llm` assumes.
"""


@record
class MemoryParts:
    """Bytes of one rank.

    Args:
        parameters: in the type of matrix products; frozen ones as they are stored. With ZeRO 3 a
            rank's share is its master copy, as in FSDP.
        gradients: sums over micro-batches.
        optimizer: states, and the master copy.
        activations: saved for the backward pass, of all micro-batches in flight.
        working: temporary memory of the running layer: recomputed activations, gathered
            parameters.
        overhead: context, libraries, fragments.
    """

    parameters: float
    gradients: float
    optimizer: float
    activations: float
    working: float
    overhead: float

    @property
    def total(self) -> float:
        """Return the sum."""
        held = self.parameters + self.gradients + self.optimizer + self.activations + self.working
        return held + self.overhead


def memory_of(work: StageWork) -> MemoryParts:
    """Return the memory of a rank; that of the first stage has the most micro-batches in flight."""
    zero = work.parallel.zero
    dense = work.parameters, max(work.copies.size, 1)
    experts = work.expert_parameters, max(work.expert_copies.size, 1)

    def share(from_stage: int, item: float) -> float:
        """Return the bytes of a state that ZeRO divides from a given stage on."""
        return sum([n / (c if zero >= from_stage else 1) * item for n, c in (dense, experts)])

    in_flight = work.schedule.in_flight(work.pipeline) if work.parallel.pipeline > 1 else 1.0
    # later stages have fewer in flight
    ahead = max(in_flight - work.stage, 1.0)
    saved = sum([_saved(work, i) for i in range(len(work.layers))]) * ahead
    is_frozen, recipe = work.training.is_frozen, work.training.recipe
    if work.stage == 0:
        saved += work.parts.first.saved_bytes
    if work.stage == work.parallel.pipeline - 1:
        saved += work.parts.last.saved_bytes
    summed = work.parts.last.summed_bytes
    # a tied table's two gradients: the head's while activations are held, both at the end
    working = max(_working(work), summed, 2 * summed - saved)
    gradients = 0.0 if is_frozen else share(2, recipe.gradient_bytes)
    states = 0.0 if is_frozen else share(1, recipe.state_bytes(work.training.optimizer))
    frozen = work.frozen_bytes / (dense[1] if zero >= 3 else 1)
    is_copy = zero >= 3 and recipe.master_bytes > 0 and not is_frozen
    weights = frozen + (0.0 if is_copy else share(3, recipe.weight_bytes))
    held = weights + gradients + states + saved + working
    return MemoryParts(
        weights,
        gradients,
        states,
        saved,
        working,
        CONTEXT_BYTES + COLLECTIVE_BYTES * (work.parallel.devices > 1) + (FRAGMENTS - 1) * held,
    )


def _saved(work: StageWork, at: int) -> float:
    """Return the bytes that one layer saves for one micro-batch."""
    part = work.layers[at][1]
    match work.training.checkpointing:
        case RecomputePolicy.BLOCK:
            saved = part.boundary_bytes
        case RecomputePolicy.SELECTIVE:
            saved = part.products_bytes
        case _:
            saved = part.saved_bytes
    if work.parallel.sequence and work.parallel.tensor > 1:
        # V. Korthikanti et al., 2022, equation 2
        every = min(part.replicated_bytes, saved)
        saved -= every * (1 - 1 / work.parallel.tensor)
    return saved


def _working(work: StageWork) -> float:
    """Return the temporary bytes of the largest layer."""
    largest = max([p for _, p in work.layers], key=lambda p: p.saved_bytes, default=None)
    again = largest.saved_bytes if largest is not None else 0.0
    if work.training.checkpointing is RecomputePolicy.NONE:
        again = largest.boundary_bytes * 2 if largest is not None else 0.0
    gathered = 0.0
    if work.parallel.zero > 2:
        recipe = work.training.recipe
        each = recipe.weight_bytes + recipe.sent_bytes
        held = [
            (p.parameters + p.expert_parameters) * each + p.frozen_bytes for p in work.every_part
        ]
        # the one that runs and the next one
        gathered = 2 * max(held, default=0.0)
    return again + gathered
