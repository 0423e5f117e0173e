"""One pipeline stage of a model on one rank: its parts, times and groups of ranks.

Kinds of parallelism and the memory of a rank read the step through `StageWork`.
"""

from __future__ import annotations

import math
from functools import cached_property

from perfc.ir import frozen
from perfc.machine.parallel import Parallel
from perfc.passes.training.implementation import RecomputePolicy

from .costs.work import RankParts, TrainingWork
from .fabric import Fabric, RankGroup
from .parts import PartCost
from .schedules import Schedule, Stage, schedule_named
from .training import Training


@frozen
class StageWork:
    """A stage.

    Args:
        model: the trained model.
        parts: parts of the whole model.
        stage: index from 0.
        parallel: degrees of parallelism.
        training: sizes of the step.
        fabric: links between ranks.
        micro_batches: number of micro-batches of each copy.
    """

    model: TrainingWork
    parts: RankParts
    stage: int
    parallel: Parallel
    training: Training
    fabric: Fabric
    micro_batches: int

    # by identity: comparing or hashing all parts would take longer than a step's prediction
    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @cached_property
    def layers(self) -> tuple[tuple[int, PartCost], ...]:
        """Return the layers of the stage with their indices."""
        return self.parallel.of_stage(tuple(enumerate(self.parts.layers)), self.stage)

    @cached_property
    def every_part(self) -> tuple[PartCost, ...]:
        """Return the layers, and the model's first or last part if the stage has it."""
        first = (self.parts.first,) if self.stage == 0 else ()
        last = (self.parts.last,) if self.stage == self.parallel.pipeline - 1 else ()
        return (*first, *[p for _, p in self.layers], *last)

    @cached_property
    def schedule(self) -> Schedule:
        """Return the schedule of the pipeline."""
        return schedule_named(self.parallel.schedule)

    @property
    def copies(self) -> RankGroup:
        """Return the group of ranks with the same parameters: data and context parallel."""
        # neighbors share products (tensor parallelism): the distance of copies is their number
        p = self.parallel
        return RankGroup(p.data * p.context, p.tensor)

    @property
    def expert_copies(self) -> RankGroup:
        """Return the group of ranks with the same experts."""
        p = self.parallel
        # neighboring ranks hold different experts: the distance of copies is their number
        ranks = p.tensor * p.data * p.context
        return RankGroup(ranks // p.expert, p.expert) if p.expert > 1 else self.copies

    def _sum(self, name: str) -> float:
        """Return the sum of a field of `PartCost` over the parts of the stage."""
        return math.fsum([getattr(p, name) for p in self.every_part])

    @cached_property
    def parameters(self) -> float:
        """Return the parameters of one rank without experts; a tied embedding counts once."""
        total = self._sum("parameters")
        # with several stages, embedding and head are on different ranks: both store the table
        return total - self.parts.tied_parameters * (self.parallel.pipeline == 1)

    @cached_property
    def expert_parameters(self) -> float:
        """Return the parameters of the experts of one rank."""
        return self._sum("expert_parameters")

    @cached_property
    def frozen_bytes(self) -> float:
        """Return the bytes of one rank's parameters that are not trained."""
        total = self._sum("frozen_bytes")
        return total - self.parts.tied_bytes * (self.parallel.pipeline == 1)

    @cached_property
    def forward_s(self) -> float:
        """Return the forward time of one micro-batch, without communication."""
        return self._sum("forward_s")

    @cached_property
    def input_s(self) -> float:
        """Return the backward time that the previous stage waits for, with recomputation."""
        return self._sum("input_s") + self.again_s

    @cached_property
    def weight_s(self) -> float:
        """Return the backward time of gradients of parameters."""
        return self._sum("weight_s")

    @cached_property
    def again_s(self) -> float:
        """Return the time of recomputing the forward pass."""
        return math.fsum([self._again_s(p) for _, p in self.layers])

    @cached_property
    def floor_s(self) -> float:
        """Return the lower bound of both passes of one micro-batch, with recomputation."""
        # frozen parameters have no gradients, and recomputed blocks repeat their forward kernels;
        # kernels that selective checkpointing repeats are left out, which only lowers the bound
        least_s = self._sum("floor_s")
        if self.training.is_frozen:
            least_s -= math.fsum([p.floors.weight_s for p in self.every_part])
        if self.training.checkpointing is RecomputePolicy.BLOCK:
            least_s += math.fsum([p.again_floor_s for _, p in self.layers])
        return least_s

    def backward_s(self, part: PartCost) -> float:
        """Return the backward time of a part, with its recomputation."""
        # only layers are checkpointed
        is_layer = part is not self.parts.first and part is not self.parts.last
        return part.backward_s + (self._again_s(part) if is_layer else 0.0)

    def _again_s(self, part: PartCost) -> float:
        """Return the time of recomputing a layer in its backward pass."""
        match self.training.checkpointing:
            case RecomputePolicy.NONE:
                return 0.0
            case RecomputePolicy.SELECTIVE:
                return part.cheap_s
            case _:
                return part.forward_s

    @cached_property
    def boundary_bytes(self) -> float:
        """Return the bytes that one stage sends to the next per micro-batch."""
        return max([p.boundary_bytes for p in self.parts.layers], default=0.0)

    @cached_property
    def pipeline(self) -> Stage:
        """Return the stage in the form that schedules take, without communication."""
        p = self.parallel
        virtual = p.virtual_stages if self.schedule.is_interleaved else 1
        return Stage(
            self.forward_s,
            self.input_s,
            self.weight_s,
            stages=p.pipeline,
            micro_batches=self.micro_batches,
            virtual=virtual,
        )
