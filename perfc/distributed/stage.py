"""One stage of the model on one rank: its parts, who exchanges with whom, and its memory."""

from __future__ import annotations

import math
from functools import cached_property

from perfc.ir.record import frozen
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
        model: that is trained.
        parts: of all its layers.
        stage: from 0.
        parallel: how it is divided.
        training: sizes of the step.
        fabric: what joins the ranks.
        micro_batches: of each copy.
    """

    model: TrainingWork
    parts: RankParts
    stage: int
    parallel: Parallel
    training: Training
    fabric: Fabric
    micro_batches: int

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @cached_property
    def layers(self) -> tuple[tuple[int, PartCost], ...]:
        """Its layers with their numbers."""
        return self.parallel.of_stage(tuple(enumerate(self.parts.layers)), self.stage)

    @cached_property
    def every_part(self) -> tuple[PartCost, ...]:
        """Its layers, and what is before the first or behind the last of the model."""
        first = (self.parts.first,) if self.stage == 0 else ()
        last = (self.parts.last,) if self.stage == self.parallel.pipeline - 1 else ()
        return (*first, *[p for _, p in self.layers], *last)

    @cached_property
    def schedule(self) -> Schedule:
        """Of the pipeline."""
        return schedule_named(self.parallel.schedule)

    @property
    def copies(self) -> RankGroup:
        """Ranks that hold the same parameters: copies, and ranks that share sequences."""
        p = self.parallel
        return RankGroup(p.data * p.context, p.tensor)

    @property
    def expert_copies(self) -> RankGroup:
        """Ranks that hold the same experts."""
        p = self.parallel
        ranks = p.tensor * p.data * p.context
        return RankGroup(ranks // p.expert, p.expert) if p.expert > 1 else self.copies

    @cached_property
    def parameters(self) -> float:
        """Of one rank, experts left out; a table that embedding and head share counts once."""
        held = math.fsum([p.parameters for p in self.every_part])
        return held - self.parts.tied_parameters * (self.parallel.pipeline == 1)

    @cached_property
    def expert_parameters(self) -> float:
        """Of the experts of one rank."""
        return math.fsum([p.expert_parameters for p in self.every_part])

    @cached_property
    def forward_s(self) -> float:
        """Of one micro-batch, exchanges left out."""
        return math.fsum([p.forward_s for p in self.every_part])

    @cached_property
    def input_s(self) -> float:
        """Backward, what the stage before waits for, what is computed again included."""
        return math.fsum([p.input_s for p in self.every_part]) + self.again_s

    @cached_property
    def weight_s(self) -> float:
        """Backward, gradients of parameters."""
        return math.fsum([p.weight_s for p in self.every_part])

    @cached_property
    def again_s(self) -> float:
        """Of the forward pass, computed again."""
        return math.fsum([self._again_s(p) for _, p in self.layers])

    def backward_s(self, part: PartCost) -> float:
        """Of a part, with what it computes again."""
        is_layer = part is not self.parts.first and part is not self.parts.last
        return part.backward_s + (self._again_s(part) if is_layer else 0.0)

    def _again_s(self, part: PartCost) -> float:
        match self.training.checkpointing:
            case RecomputePolicy.NONE:
                return 0.0
            case RecomputePolicy.SELECTIVE:
                return part.cheap_s
            case _:
                return part.forward_s

    @cached_property
    def boundary_bytes(self) -> float:
        """What one stage hands to the next for a micro-batch."""
        return max([p.boundary_bytes for p in self.parts.layers], default=0.0)

    @cached_property
    def pipeline(self) -> Stage:
        """As schedules see it, exchanges left out."""
        p = self.parallel
        virtual = p.virtual_stages if self.schedule.is_interleaved else 1
        return Stage(
            self.forward_s, self.input_s, self.weight_s, p.pipeline, self.micro_batches, virtual
        )
