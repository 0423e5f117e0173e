"""Images in prompts: a tower reads them in the step that computes a prompt's first tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property, lru_cache

from perfc.errors import ParseError
from perfc.frontend.config import LanguageModel, Parallel, Precision, lower_images
from perfc.ir.evaluate import evaluate
from perfc.ir.record import record
from perfc.machine import Machine, load_machine

from ..simulation.scheduler import Chunk
from .grid import octaves
from .memory import Demand
from .program import Program, estimated
from .step import StepCost
from .surface import Parts, Surface

COUNTS = octaves(1, 32, between=2)
AT_ONCE = 32
"""Images of one pass of a tower; assumed. Engines limit the tokens that encoders give a step."""
MOST_IMAGES = 1024


@record
class ImagesView:
    """Images of each prompt as a report shows them.

    Args:
        count: of a prompt.
        edge: pixels along an edge of what the tower reads.
        tiles: that it reads of one image.
        tokens: that one image becomes.
    """

    count: int
    edge: int
    tiles: int
    tokens: int

    @classmethod
    def of(cls, model: LanguageModel, count: int) -> ImagesView | None:
        """Of so many images a prompt; None for none."""
        tower = model.tower
        if not count or tower is None:
            return None
        return cls(count, tower.patches.image, tower.tiles, tower.tokens)


def checked(count: int, edge: int, has_trace: bool) -> int:
    """The number of images of a prompt.

    Raises:
        ParseError: it is none, or goes with something else that is not there.
    """
    if not 0 <= count <= MOST_IMAGES:
        hint = f"{MOST_IMAGES} at most"
        raise ParseError(f"{count} images in a prompt", where="--images", hint=hint)
    if edge and not count:
        raise ParseError("a size of no images", where="--image-size", hint="--images 1")
    if count and has_trace:
        hint = "count them as input_tokens"
        raise ParseError("a trace states its tokens", where="--images", hint=hint)
    return count


class TowerCost:
    """What a tower takes for images, by how many of them.

    Args:
        program: its pass.
        machine: each rank.
        framework: whose kernels run.
    """

    def __init__(self, program: Program, machine: Machine, framework: str) -> None:
        self.program, self.machine, self.framework = program, machine, framework

    def at(self, quantity: str, images: int) -> Parts:
        """One of ``QUANTITIES`` of so many images, in passes of `AT_ONCE`."""
        whole, rest = divmod(images, AT_ONCE)
        kernels = exchanges = 0.0
        for passes, size in ((whole, AT_ONCE), (1, rest)):
            if passes and size:
                kernels += passes * self._kernels.at(quantity, size)
                exchanges += passes * self._exchanges.at(quantity, size)
        return Parts(kernels, exchanges)

    @cached_property
    def _kernels(self) -> Surface:
        every = range(len(self.program.counts))
        return self._surface([i for i in every if i not in self.program.exchanges])

    @cached_property
    def _exchanges(self) -> Surface:
        return self._surface(sorted(self.program.exchanges))

    def _surface(self, wanted: Sequence[int]) -> Surface:
        envs = [{"batch": int(n)} for n in COUNTS]
        costs = estimated(self.program, wanted, envs, self.machine, self.framework)
        return Surface.of((COUNTS,), costs)

    @property
    def weight_bytes(self) -> float:
        """Stored on one rank."""
        return float(evaluate(self.program.liveness.weight_bytes, {}))

    @property
    def activation_bytes(self) -> float:
        """Of the pass of one image."""
        return float(self.program.liveness.peak({"batch": 1})[0])


@lru_cache(maxsize=64)
def tower_cost(
    model: LanguageModel, precision: Precision, parallel: Parallel, runtime: str, target: str,
    framework: str,
) -> TowerCost:  # fmt: skip
    """The cost of a model's tower on a target, by the path of its file.

    Raises:
        ModelError: the model reads no images, or its tower does not divide so.
    """
    program = Program.of(lower_images(model, precision, parallel), runtime)
    return TowerCost(program, load_machine(target), framework)


class ImagedCost(StepCost):
    """What steps cost where each prompt has images, which its first chunk needs.

    A chunk behind cached tokens has no images of its own: those are cached with what they became.

    Args:
        language: of the language model.
        tower: of its tower.
        images: of each prompt.
    """

    def __init__(self, language: StepCost, tower: TowerCost, images: int) -> None:
        self.law, self.stages, self.recorded = language.law, language.stages, language.recorded
        self.language, self.tower, self.images = language, tower, images

    def parts(self, quantity: str, chunks: Sequence[Chunk], decodes: int, context: float) -> Parts:
        """One of ``QUANTITIES`` of a step: the language model's, and the tower's before it."""
        found = self.language.parts(quantity, chunks, decodes, context)
        images = self.images * sum([c.context == 0 for c in chunks])
        if not images:
            return found
        more = self.tower.at(quantity, images)
        return Parts(found.kernels + more.kernels, found.exchanges + more.exchanges)

    def launches(self, chunks: Sequence[Chunk], decodes: int) -> int:
        """Those of the tower, too, where a prompt begins."""
        begins = any(c.context == 0 for c in chunks)
        return super().launches(chunks, decodes) + len(self.tower.program.whole) * begins

    def demand(self, tokens: int, budget: int, sequences: int) -> Demand:
        """Memory of the rank that holds the most, the tower on it."""
        own = self.language.demand(tokens, budget, sequences)
        return replace(
            own, weight_bytes=own.weight_bytes + self.tower.weight_bytes,
            activation_bytes=max(own.activation_bytes, self.tower.activation_bytes),
        )  # fmt: skip
