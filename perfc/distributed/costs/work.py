"""What one rank computes in a step, part by part, whatever the model was read from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from perfc.errors import ModelError
from perfc.frontend.config import LanguageModel, ServingPrecision, usual_sequence
from perfc.frontend.config.lowering.parts import embedding_part, head_part, layer_part
from perfc.frontend.config.model import Experts, Layer, Stack, TokenEmbedding, mixers
from perfc.ir.graph import Module
from perfc.ir.record import record
from perfc.machine import NOTHING, Reserve
from perfc.machine.parallel import Parallel
from perfc.passes.runtimes import Tf32

from ..parts import Doing, PartCost, costs
from .part_memory import memories

if TYPE_CHECKING:
    from ..law import RunLaw

USUAL_SAMPLES = (1, 2, 4, 8)
"""Of a micro-batch, that are estimated together: a search asks for all of them."""


@record
class RankParts:
    """The parts of a model on one rank, for one micro-batch.

    Args:
        first: what is before the first layer.
        layers: in order; equal ones are one object.
        last: what is behind the last one.
        tied_parameters: that both the first and the last part read; one rank that has both parts
            stores them once.
    """

    first: PartCost
    layers: tuple[PartCost, ...]
    last: PartCost
    tied_parameters: float = 0.0


class TrainingWork(ABC):
    """A model as a training step sees it."""

    name: str
    target: str
    """Path of the file of the machine."""
    reserve: Reserve = NOTHING
    """Memory of each device that is held back."""
    is_divisible: bool = True
    """Whether products, sequences and layers may be divided; else samples alone."""

    @abstractmethod
    def tokens(self, stated: int) -> int:
        """Of a sample: as stated, if 0 what is usual; 1 of what is no sequence."""

    def law(self, known: RunLaw) -> RunLaw:
        """What runs take beside this model's kernels, once it has told its parts."""
        return known

    @property
    @abstractmethod
    def depth(self) -> int:
        """Layers that a pipeline may divide."""

    @abstractmethod
    def parts(self, parallel: Parallel, samples: int, seq: int) -> RankParts:
        """On one rank, for a micro-batch.

        Args:
            parallel: how the model is divided.
            samples: of the micro-batch.
            seq: tokens of each; a rank has its part with context parallelism.

        Raises:
            ModelError: it does not divide so.
        """

    @property
    @abstractmethod
    def has_experts(self) -> bool:
        """Whether some layers have experts."""

    @abstractmethod
    def routed(self, layer: int) -> int:
        """Experts that each token of a layer goes to, 0 where it has none."""

    @abstractmethod
    def kv_share(self, layer: int) -> float:
        """Bytes of keys and values of a token over those of the layer's input."""


class LanguageWork(TrainingWork):
    """A language model that a configuration describes.

    Args:
        model: of one stack.
        precision: element types.
        runtime: fusion table.
        target: path of the file of the machine.
        framework: whose kernels; "" where any may be meant.
        tf32: which f32 products may use TF32; None for those that the runtime lets.
    """

    def __init__(
        self, model: LanguageModel, precision: ServingPrecision, runtime: str, target: str,
        framework: str = "", *, tf32: Tf32 | None = None,
    ) -> None:  # fmt: skip
        self.model, self.precision, self.runtime = model, precision, runtime
        self.tf32 = tf32
        self.name, self.target, self.framework = model.name, target, framework

    @property
    def stack(self) -> Stack:
        """The only one.

        Raises:
            ModelError: there are several.
        """
        if len(self.model.stacks) != 1:
            raise ModelError("models of one stack are trained so far", where=self.model.name)
        return self.model.stacks[0]

    def tokens(self, stated: int) -> int:
        """Of a sample: as stated, if 0 usually 2,048, or as many as the model has positions for."""
        return stated or usual_sequence(self.model)

    @property
    def depth(self) -> int:
        """Layers of the stack."""
        return len(self.stack.layers)

    @cached_property
    def has_experts(self) -> bool:
        """Whether some layers have experts."""
        return any(self.routed(i) for i in range(self.depth))

    def routed(self, layer: int) -> int:
        """Experts that each token of a layer goes to, 0 where it has none."""
        return routed_of(self.stack.layers[layer])

    def kv_share(self, layer: int) -> float:
        """Bytes of keys and values of a token over those of the layer's input."""
        from perfc.frontend.config.model import Attention

        for m in mixers(self.stack.layers[layer]):
            if isinstance(m, Attention):
                return m.kv_heads * (m.head_dim + m.values) / self.stack.hidden
        return 1.0

    def parts(self, parallel: Parallel, samples: int, seq: int) -> RankParts:
        """On one rank; attention sees what other ranks hold of the sequence, half of it on average.

        Raises:
            ModelError: it does not divide so.
        """
        if seq % parallel.context:
            message = f"{seq} tokens do not divide among {parallel.context} ranks"
            raise ModelError(message, where=self.name)
        own = seq // parallel.context
        several = USUAL_SAMPLES if samples in USUAL_SAMPLES else (samples,)
        share = parallel.tensor, parallel.expert
        return parts_of(self, share, several, own, (seq - own) // 2)[several.index(samples)]

    # a model's work is itself alone
    __hash__ = object.__hash__


@lru_cache(maxsize=512)
def parts_of(
    work: LanguageWork, share: tuple[int, int], samples: tuple[int, ...], seq: int, past: int
) -> tuple[RankParts, ...]:
    """The parts of a language model for several micro-batches at once.

    Args:
        work: the model.
        share: ranks that share products, and those that experts are divided among.
        samples: of each micro-batch.
        seq: tokens of each sample on this rank.
        past: further ones that attention sees.
    """
    envs = [{"batch": n, "seq": seq, "past": past} for n in samples]
    model, precision, plain = work.model, work.precision, Parallel(share[0])
    in_halves = ServingPrecision(half=precision.half)

    def cost(module: Module) -> Sequence[PartCost]:
        return costs(module, work.runtime, work.target, envs, work.framework, tf32=work.tf32)

    def both(lowered: Callable[..., Module], *what: object) -> list[PartCost]:
        """Times of a part's kernels, and what it keeps where it is written out."""
        each = cost(lowered(model, *what, precision, plain))
        module = lowered(model, *what, in_halves, plain, writes_out=True)
        kept = memories(module, envs, work.stack.hidden)
        return [part.keeping(memory) for part, memory in zip(each, kept, strict=True)]

    kinds: dict[Layer, list[PartCost]] = {}
    for layer in dict.fromkeys(work.stack.layers):
        own, times = divided(layer, share, model.name)
        found = both(layer_part, own)
        kinds[layer] = [part.repeated(Doing.EXPERTS, times) for part in found]
    first, last = both(embedding_part), both(head_part)
    tied = tied_elements(work.stack, share[0])
    return tuple(
        [
            RankParts(
                first[i], tuple([kinds[layer][i] for layer in work.stack.layers]), last[i], tied
            )
            for i in range(len(samples))
        ]
    )


def tied_elements(stack: Stack, ranks: int) -> float:
    """Elements of one rank's share of the table that the embedding and a head have in common."""
    table = stack.embedding
    if not isinstance(table, TokenEmbedding) or not any(h.is_tied for h in stack.heads):
        return 0.0
    return float(-(-table.vocab // ranks) * table.width)


def divided(layer: Layer, share: tuple[int, int], name: str) -> tuple[Layer, float]:
    """A layer with the experts of one rank, and how often its kernel runs for all tokens.

    As many tokens come from other ranks as go there, so that a rank's experts see as many rows as
    before. Where a rank has fewer experts than a token chooses, each sees more of them.

    Raises:
        ModelError: experts do not divide so.
    """
    tensor, ranks = share
    found = next((m for m in mixers(layer) if isinstance(m, Experts)), None)
    if found is None or ranks == 1:
        return layer, 1.0
    groups = ranks // tensor
    if found.count % groups:
        message = f"{found.count} experts do not divide among {ranks} ranks"
        raise ModelError(message, where=name)
    count = found.count // groups
    chosen = min(found.chosen, count)
    own = replace(found, count=count, chosen=chosen)
    changed = tuple(
        [
            replace(
                residual,
                branches=tuple(
                    [replace(b, mixer=own) if b.mixer is found else b for b in residual.branches]
                ),
            )
            for residual in layer
        ]
    )
    return changed, found.chosen / chosen


def routed_of(layer: Layer) -> int:
    """Experts that each token goes to, 0 where the layer has none."""
    return next((m.chosen for m in mixers(layer) if isinstance(m, Experts)), 0)
