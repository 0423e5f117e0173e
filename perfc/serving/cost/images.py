"""Estimate vision towers and encoders, which run in the step that computes a prompt's first tokens.

`Engine.cost` uses `ImagedCost` in place of `StepCost` for prompts with images and for models with
an encoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

from perfc.errors import ParseError
from perfc.frontend.config import (
    LanguageModel,
    Parallel,
    ServingPrecision,
    lower,
    lower_images,
)
from perfc.ir import evaluate, record
from perfc.machine import Machine, load_machine

from ..simulation.scheduler import Chunk
from .grid import Parts, Surface, octaves
from .memory import MemoryDemand
from .program import Program, estimated
from .step import StepCost

COUNTS = octaves(1, 32, between=2)
"""Numbers of images at which a pass of the tower is estimated."""
AT_ONCE = 32
"""Images per pass of a tower; assumed. Engines limit the encoder tokens of a step."""
MOST_IMAGES = 1024
"""Maximum images of a prompt."""


@record
class ImageTimes:
    """Images of each prompt as a report shows them.

    Args:
        count: images per prompt.
        edge: edge length of the tower's input in pixels.
        tiles: tiles per image.
        tokens: tokens per image.
    """

    count: int
    edge: int
    tiles: int
    tokens: int

    @classmethod
    def of(cls, model: LanguageModel, count: int) -> ImageTimes | None:
        """Return the view of ``count`` images per prompt; None for none."""
        tower = model.tower
        if not count or tower is None:
            return None
        return cls(count, tower.patches.image, tower.tiles, tower.tokens)


def checked(count: int, edge: int, has_trace: bool) -> int:
    """Return the number of images per prompt if it is valid.

    Raises:
        ParseError: it is out of range, or another option excludes it.
    """
    if not 0 <= count <= MOST_IMAGES:
        hint = f"{MOST_IMAGES} at most"
        raise ParseError(f"{count} images in a prompt", where="--images", hint=hint)
    if edge and not count:
        raise ParseError("there are no images to size", where="--image-size", hint="--images 1")
    if count and has_trace:
        hint = "count them as input_tokens"
        raise ParseError("a trace states its tokens", where="--images", hint=hint)
    return count


class TowerCost:
    """Cost of a vision tower by the number of images.

    Args:
        program: its pass.
        machine: target machine of each rank.
        framework: runtime whose kernels are estimated.
    """

    def __init__(self, program: Program, machine: Machine, framework: str) -> None:
        self.program, self.machine, self.framework = program, machine, framework

    def at(self, quantity: str, images: int) -> Parts:
        """Return one of ``QUANTITIES`` of ``images`` images, in passes of `AT_ONCE`."""
        # full passes, and one with the images that remain
        whole, rest = divmod(images, AT_ONCE)
        kernels = exchanges = 0.0
        for passes, size in ((whole, AT_ONCE), (1, rest)):
            if passes and size:
                kernels += passes * self._kernels.at(quantity, size)
                exchanges += passes * self._exchanges.at(quantity, size)
        return Parts(kernels, exchanges)

    @cached_property
    def _kernels(self) -> Surface:
        """Return the cost of all kernels but the collectives, by images."""
        every = range(len(self.program.counts))
        return self._surface([i for i in every if i not in self.program.exchanges])

    @cached_property
    def _exchanges(self) -> Surface:
        """Return the cost of the collectives, by images."""
        return self._surface(sorted(self.program.exchanges))

    def _surface(self, wanted: Sequence[int]) -> Surface:
        """Return the cost of some kernels of the pass, by index, over the numbers of images."""
        envs = [{"batch": int(n)} for n in COUNTS]
        costs = estimated(self.program, wanted, envs, self.machine, self.framework)
        return Surface.of((COUNTS,), costs)

    @property
    def weight_bytes(self) -> float:
        """Return the weight bytes on one rank."""
        return float(evaluate(self.program.liveness.weight_bytes, {}))

    @property
    def activation_bytes(self) -> float:
        """Return the activation bytes of a pass with one image."""
        live_bytes, _ = self.program.liveness.peak({"batch": 1})
        return float(live_bytes)


@lru_cache(maxsize=64)
def tower_cost(
    model: LanguageModel,
    precision: ServingPrecision,
    parallel: Parallel,
    runtime: str,
    target: str,
    framework: str,
) -> TowerCost:
    """Return the cost of a model's tower or encoder on a target, by the path of the target's file.

    Raises:
        ModelError: the model reads no images, or its tower cannot be divided so.
    """
    # the prefill pass of an encoder–decoder model has both parts and cannot be cut here
    if model.encoders:
        module = lower(model, precision=precision, parallel=parallel)
    else:
        module = lower_images(model, precision, parallel)
    return TowerCost(Program.of(module, runtime), load_machine(target), framework)


class ImagedCost(StepCost):
    """Cost of steps whose prompts have images, which the first chunk of each prompt needs.

    A chunk after cached tokens has no images: the cache holds them with the tokens.

    Args:
        language: cost of the language model.
        tower: cost of its vision tower.
        images: images per prompt.
        is_whole: True if the tower is an encoder, whose pass includes the decoder's first token.
    """

    def __init__(
        self, language: StepCost, tower: TowerCost, images: int, *, is_whole: bool = False
    ) -> None:
        # super().__init__ would estimate the stages again, which `language` already has
        self.share_stages(language)
        self.is_whole = is_whole
        self.language, self.tower, self.images = language, tower, images

    def _begun(self, chunks: Sequence[Chunk]) -> int:
        """Return the number of images of a step, which are those of the prompts that it starts."""
        return self.images * sum([c.context == 0 for c in chunks])

    def step_s(self, chunks: Sequence[Chunk], decodes: int, context: float) -> float:
        """Return the seconds of a step, as `Clock` requires."""
        # `StepCost.step_s` counts chunks of one token as decodes, which would drop their images
        duration = self._step_s if self._begun(chunks) else super().step_s
        return duration(chunks, decodes, context)

    def parts(self, quantity: str, chunks: Sequence[Chunk], decodes: int, context: float) -> Parts:
        """Return one of ``QUANTITIES`` of a step: the language model's and the tower's."""
        parts = self.language.parts(quantity, chunks, decodes, context)
        images = self._begun(chunks)
        if not images:
            return parts
        tower_parts = self.tower.at(quantity, images)
        return Parts(parts.kernels + tower_parts.kernels, parts.exchanges + tower_parts.exchanges)

    def launches(self, chunks: Sequence[Chunk], decodes: int) -> int:
        """Return the launches of a step; a step that starts a prompt includes the tower's."""
        starts_prompt = bool(self._begun(chunks))
        return super().launches(chunks, decodes) + len(self.tower.program.whole) * starts_prompt

    def demand(self, tokens: int, budget: int, sequences: int) -> MemoryDemand:
        """Return the memory demand of the fullest rank, the tower included.

        The pass of an encoder has the weights of its decoder too.
        """
        demand = self.language.demand(tokens, budget, sequences)
        weight_bytes = self.tower.weight_bytes
        return replace(
            demand,
            weight_bytes=weight_bytes if self.is_whole else weight_bytes + demand.weight_bytes,
            # tower and language model run one after the other
            activation_bytes=max(demand.activation_bytes, self.tower.activation_bytes),
        )
