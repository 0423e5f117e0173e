"""Memory of one rank in a training step, by kind, with ZeRO's division among copies.

`memory_of` is called for each stage of a step; the largest is that of the step.
"""

from __future__ import annotations

from dataclasses import astuple

from perfc.ir import record
from perfc.machine.capacity import CONTEXT_BYTES
from perfc.passes.memory.allocators.trainers import FRAGMENTS
from perfc.passes.training.implementation import RecomputePolicy

from ..parts import PartCost
from ..stage import StageWork

COLLECTIVE_BYTES = 0.9 * (1 << 30)
"""Buffers of collectives: with the context of a process they have 1.5 GiB, as in `perfc llm`."""


@record
class MemoryParts:
    """Bytes of one rank.

    Args:
        parameters: weights in the type of matrix products; frozen weights as they are stored. With
            ZeRO 3 a rank's share is its master copy, as in FSDP.
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
        return float(sum(astuple(self)))


def memory_of(work: StageWork) -> MemoryParts:
    """Return the memory of a rank; the first stage has the most micro-batches in flight."""
    # parameters, and the number of copies among which ZeRO divides their states
    zero, copies = work.parallel.zero, work.copies.size
    dense = work.parameters, copies
    experts = work.expert_parameters, work.expert_copies.size

    def share(from_stage: int, item: float) -> float:
        """Return the bytes of a state that ZeRO divides from a given stage on.

        ZeRO 1 divides optimizer states, 2 gradients too, 3 parameters too.
        """
        return sum([n / (c if zero >= from_stage else 1) * item for n, c in (dense, experts)])

    in_flight = work.schedule.in_flight(work.pipeline) if work.parallel.pipeline > 1 else 1.0
    # 1F1B: each stage begins its backward passes one micro-batch earlier than the one before it
    in_flight = max(in_flight - work.stage, 1.0)
    saved = sum([_saved(work, part) for _, part in work.layers]) * in_flight
    is_frozen, recipe = work.training.is_frozen, work.training.recipe
    if work.stage == 0:
        saved += work.parts.first.saved_bytes
    if work.stage == work.parallel.pipeline - 1:
        saved += work.parts.last.saved_bytes
    summed = work.parts.last.summed_bytes
    # The gradients of embedding and head are summed if both have one weight. The head's is computed
    # while all activations are saved; they have been freed when the embedding's is computed.
    working = max(_working(work), summed, 2 * summed - saved)
    gradients = 0.0 if is_frozen else share(2, recipe.gradient_bytes)
    states = 0.0 if is_frozen else share(1, recipe.state_bytes(work.training.optimizer))
    frozen = work.frozen_bytes / (copies if zero >= 3 else 1)
    # the sharded master copy, counted with the states, is then the only copy of the weights
    is_copy = zero >= 3 and recipe.master_bytes > 0 and not is_frozen
    weights = frozen + (0.0 if is_copy else share(3, recipe.weight_bytes))
    used = weights + gradients + states + saved + working
    return MemoryParts(
        weights,
        gradients,
        optimizer=states,
        activations=saved,
        working=working,
        # FRAGMENTS is the ratio of reserved to allocated memory of PyTorch's allocator
        overhead=CONTEXT_BYTES
        + COLLECTIVE_BYTES * (work.parallel.devices > 1)
        + (FRAGMENTS - 1) * used,
    )


def _saved(work: StageWork, part: PartCost) -> float:
    """Return the bytes that one layer saves for one micro-batch."""
    match work.training.checkpointing:
        case RecomputePolicy.BLOCK:
            saved = part.boundary_bytes
        case RecomputePolicy.SELECTIVE:
            saved = part.products_bytes
        case _:
            saved = part.saved_bytes
    if work.parallel.sequence and work.parallel.tensor > 1:
        # sequence parallelism divides what tensor parallelism replicates, such as inputs of norms
        # (V. Korthikanti et al., 2022, Reducing activation recomputation, equations 2 and 4)
        replicated = min(part.replicated_bytes, saved)
        saved -= replicated * (1 - 1 / work.parallel.tensor)
    return saved


def _working(work: StageWork) -> float:
    """Return the temporary bytes of the largest layer: activations and, with ZeRO 3, weights."""
    largest = max([p for _, p in work.layers], key=lambda p: p.saved_bytes, default=None)
    activations = largest.saved_bytes if largest is not None else 0.0
    # a checkpointed layer is recomputed as a whole; else the backward pass of a layer needs the
    # gradients of its result and of its operand
    if work.training.checkpointing is RecomputePolicy.NONE:
        activations = largest.boundary_bytes * 2 if largest is not None else 0.0
    gathered = 0.0
    if work.parallel.zero > 2:
        recipe = work.training.recipe
        item_bytes = recipe.weight_bytes + recipe.sent_bytes
        by_part = [
            (p.parameters + p.expert_parameters) * item_bytes + p.frozen_bytes
            for p in work.every_part
        ]
        # weights of the layer that runs, and weights of the next layer, gathered ahead
        gathered = 2 * max(by_part, default=0.0)
    return activations + gathered
