"""Work of one rank in a training step, by part, for graphs and for configurations."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property, lru_cache, partial

from perfc.analyzers.runs.run_law import RunLaw, law_of
from perfc.errors import ModelError
from perfc.frontend.config import LanguageModel, ServingPrecision, WeightFormat, usual_sequence
from perfc.frontend.config.lowering.parts import embedding_part, head_part, layer_part
from perfc.frontend.config.model import Experts, Layer, Stack, TokenEmbedding, mixers
from perfc.ir import Module, TensorType, evaluate, record
from perfc.machine import NOTHING, Machine, Reserve, load_machine
from perfc.machine.parallel import Parallel
from perfc.passes.runtimes import TRAINER, Steps, Tf32, runtime

from ..parts import PartCost, costs
from ..recipe import MIXED, TrainingTypes

USUAL_SAMPLES = (1, 2, 4, 8)
"""Sizes of micro-batches that are estimated together, as a search needs all of them."""


@record
class RankParts:
    """The parts of a model on one rank, for one micro-batch.

    Args:
        first: the part before the first layer.
        layers: in order; equal ones are one object.
        last: the part after the last layer.
        tied_parameters: number of parameters that both the first and the last part read; a rank
            with both parts stores them once.
        tied_bytes: bytes of such parameters that are frozen.
    """

    first: PartCost
    layers: tuple[PartCost, ...]
    last: PartCost
    tied_parameters: float = 0.0
    tied_bytes: float = 0.0


class TrainingWork(ABC):
    """A model whose training step is estimated."""

    name: str
    target: str
    """Path of the target file."""
    reserve: Reserve = NOTHING
    """Memory of each device that the user reserves."""
    is_divisible: bool = True
    """True if products, sequences and layers can be divided; else only samples."""
    lora_rank: int = 0
    """Rank of the adapters that alone are trained; 0 if all parameters are."""
    runtime: str
    """Fusion rules."""
    recipe: TrainingTypes = MIXED
    """Element types of the step."""

    @abstractmethod
    def tokens(self, given: int) -> int:
        """Return the tokens of a sample: ``given``, or the model's default for 0; 1 for images."""

    def law(self, known: RunLaw, reference: RunLaw) -> RunLaw:
        """Return the run overhead of this model, after `parts` was called.

        Args:
            known: fit of the framework.
            reference: fit of the framework that runs a graph's pointwise kernels at their predicted
                times; only graphs use it.
        """
        return known

    @property
    @abstractmethod
    def depth(self) -> int:
        """Return the number of layers that a pipeline may divide."""

    @abstractmethod
    def parts(self, parallel: Parallel, samples: int, seq: int) -> RankParts:
        """Return the parts on one rank, for a micro-batch.

        Args:
            parallel: degrees of parallelism.
            samples: number of samples of the micro-batch.
            seq: tokens of each sample; context parallelism divides them among ranks.

        Raises:
            ModelError: the model cannot be divided by these degrees.
        """

    @property
    @abstractmethod
    def has_experts(self) -> bool:
        """Return True if some layers have experts."""

    @abstractmethod
    def routed(self, layer: int) -> int:
        """Return the experts that each token of a layer goes to, 0 where it has none."""

    @abstractmethod
    def kv_share(self, layer: int) -> float:
        """Return the bytes of keys and values of a token over those of the layer's input."""


class LanguageWork(TrainingWork):
    """Training work of a language model that a configuration describes.

    Args:
        model: model of one stack.
        precision: element types.
        runtime: fusion rules.
        target: path of the target file.
        framework: runtime whose kernels are estimated; "" for any.
        tf32: which f32 products may use TF32; None for the runtime's default.
        lora_rank: rank of the adapters that alone are trained; 0 if all parameters are.
        frozen: format of the other weights of linear layers then (QLoRA).
    """

    def __init__(
        self,
        model: LanguageModel,
        precision: ServingPrecision,
        runtime: str,
        target: str,
        framework: str = "",
        *,
        tf32: Tf32 | None = None,
        lora_rank: int = 0,
        frozen: WeightFormat = WeightFormat.HALF,
    ) -> None:
        self.lora_rank, self.frozen = lora_rank, frozen
        self.model, self.precision, self.runtime = model, precision, runtime
        self.tf32 = tf32
        self.name, self.target, self.framework = model.name, target, framework

    @property
    def stack(self) -> Stack:
        """Return the only stack of the model.

        Raises:
            ModelError: there are several.
        """
        if len(self.model.stacks) != 1:
            raise ModelError("models of one stack are trained so far", where=self.model.name)
        return self.model.stacks[0]

    def tokens(self, given: int) -> int:
        """Return the given tokens of a sample; for 0, 2,048 or the model's positions if fewer."""
        return given or usual_sequence(self.model)

    @property
    def depth(self) -> int:
        """Return the number of layers of the stack."""
        return len(self.stack.layers)

    @cached_property
    def has_experts(self) -> bool:
        """Return True if some layers have experts."""
        return any(self.routed(i) for i in range(self.depth))

    def routed(self, layer: int) -> int:
        """Return the experts that each token of a layer goes to, 0 where it has none."""
        return next(
            (m.chosen for m in mixers(self.stack.layers[layer]) if isinstance(m, Experts)), 0
        )

    def kv_share(self, layer: int) -> float:
        """Return the bytes of keys and values of a token over those of the layer's input.

        Layers without such attention count as 1, as if they sent their input.
        """
        from perfc.frontend.config.model import Attention

        for m in mixers(self.stack.layers[layer]):
            if isinstance(m, Attention):
                return m.kv_heads * (m.head_dim + m.values) / self.stack.hidden
        return 1.0

    def parts(self, parallel: Parallel, samples: int, seq: int) -> RankParts:
        """Return the parts on one rank.

        With context parallelism, attention reads half of the other ranks' tokens on average.

        Raises:
            ModelError: the model cannot be divided by these degrees.
        """
        if seq % parallel.context:
            message = f"{seq} tokens do not divide among {parallel.context} ranks"
            raise ModelError(message, where=self.name)
        local = seq // parallel.context
        # sizes that a search needs in any case are estimated and cached together
        several = USUAL_SAMPLES if samples in USUAL_SAMPLES else (samples,)
        share = parallel.tensor, parallel.expert
        return parts_of(self, share, several, local, (seq - local) // 2)[several.index(samples)]

    def law(self, known: RunLaw, reference: RunLaw) -> RunLaw:
        """Return the run overhead on kernels of the runtime.

        The factors correct predictions of the kernels of trainers. Another runtime has other
        kernels of attention and, unless it is eager PyTorch, other pointwise kernels: no factor
        applies to these, and the interval covers any framework.
        """
        if self.runtime == TRAINER:
            return known
        any_framework = law_of()
        low, high = min(known.low, any_framework.low), max(known.high, any_framework.high)
        pointwise = known.pointwise if runtime(self.runtime).steps is Steps.EAGER else 1.0
        return replace(known, attention=1.0, pointwise=pointwise, low=low, high=high)


@lru_cache(maxsize=512)
def parts_of(
    work: LanguageWork, share: tuple[int, int], samples: tuple[int, ...], seq: int, past: int
) -> tuple[RankParts, ...]:
    """Return the parts of a language model for several micro-batches at once.

    Args:
        work: the model, which the cache compares by identity.
        share: tensor-parallel and expert-parallel degrees.
        samples: samples of each micro-batch.
        seq: tokens of each sample on this rank.
        past: further tokens that attention reads.
    """
    envs = [{"batch": n, "seq": seq, "past": past} for n in samples]
    model, precision, plain = work.model, work.precision, Parallel(share[0])

    def cost(module: Module) -> list[PartCost]:
        return costs(module, work.runtime, work.target, envs, work.framework, tf32=work.tf32)

    # most layers of a model are equal: each distinct one is costed once, at all sizes
    kinds: dict[Layer, list[PartCost]] = {}
    for layer in dict.fromkeys(work.stack.layers):
        lowered = partial(layer_part, expert_groups=groups_of(layer, share, model.name))
        each_size = cost(lowered(model, layer, precision, plain, lora_rank=work.lora_rank))
        if work.lora_rank:
            each_size = frozen_layer(work, partial(lowered, model, layer), plain, each_size)
        kinds[layer] = each_size
    first, last = (cost(part(model, precision, plain)) for part in (embedding_part, head_part))
    tied, weight_bytes = tied_elements(work.stack, share[0]), work.recipe.weight_bytes
    if work.lora_rank:
        first, last = ([p.frozen(weight_bytes) for p in ends] for ends in (first, last))
    # a frozen table has no gradients to sum, but is stored once as well
    tied, tied_bytes = (0.0, weight_bytes * tied) if work.lora_rank else (tied, 0.0)
    last = [part.adding(tied, work.recipe.sent_bytes, load_machine(work.target)) for part in last]
    layers = [tuple(kinds[layer][i] for layer in work.stack.layers) for i in range(len(samples))]
    of_sizes = zip(first, layers, last, strict=True)
    return tuple(RankParts(*of_size, tied, tied_bytes) for of_size in of_sizes)


def frozen_layer(
    work: LanguageWork,
    lowered: Callable[..., Module],
    parallel: Parallel,
    parts: Sequence[PartCost],
) -> list[PartCost]:
    """Return the costs of a layer, at each size, with frozen weights in their stored format.

    Weights of few bits are dequantized before each product of both passes, as bitsandbytes does
    for more than one token: their codes are read, and 16 bits written.

    Source: arXiv:2305.14314; bitsandbytes, autograd/_functions.py, ``MatMul4Bit``.
    """
    halves = ServingPrecision(half=work.precision.half)
    narrow = replace(halves, weights=work.frozen, experts=WeightFormat.HALF)
    stored, wide = (_layer_bytes(work.model, lowered(p, parallel)) for p in (narrow, halves))
    # bytes that dequantization moves: codes with their scales are read, 16-bit weights written
    moved = 0.0
    for name, nbytes in wide.items():
        scope = name.removesuffix("weight")
        codes = sum(
            n
            for other, n in stored.items()
            if other in (name, f"{scope}absmax", f"{scope}scales", f"{scope}zeros")
        )
        # a weight that is stored in 16 bits as well is not dequantized
        moved += codes + nbytes if codes < nbytes else 0.0
    rate = device_bytes_per_s(load_machine(work.target))
    return [part.freezing(sum(stored.values()), moved / rate) for part in parts]


def device_bytes_per_s(machine: Machine) -> float:
    """Return the sustained bandwidth of a machine's memory; infinite if unknown."""
    level = machine.level("device")
    return (level.sustained or level.nominal).value if level is not None else math.inf


def _layer_bytes(model: LanguageModel, module: Module) -> dict[str, float]:
    """Return the bytes of each stored tensor of a lowered layer, by name."""
    # weights of a layer begin with the name of the stack; tables that layers share, such as that
    # of rotation angles, do not
    start = f"{model.stacks[0].name}."
    sizes = [
        (v.name, v.type.nbytes)
        for v in module.graph.weights
        if v.name.startswith(start) and isinstance(v.type, TensorType)
    ]
    return {name: float(evaluate(n, {})) for name, n in sizes if n is not None}


def tied_elements(stack: Stack, ranks: int) -> float:
    """Return the elements of one rank's share of the table that embedding and head share."""
    table = stack.embedding
    if not isinstance(table, TokenEmbedding) or not any(h.is_tied for h in stack.heads):
        return 0.0
    # the vocabulary is padded to a multiple of the ranks
    return float(-(-table.vocab // ranks) * table.width)


def groups_of(layer: Layer, share: tuple[int, int], name: str) -> int:
    """Return the groups of ranks among which the experts of a layer are divided; 1 without experts.

    Tokens spread evenly over experts, so that a rank receives as many as it sends: its share of the
    experts processes as many rows as all experts would process for the tokens of the rank.

    Raises:
        ModelError: the number of experts is not divisible by the groups.
    """
    tensor, ranks = share
    experts = next((m for m in mixers(layer) if isinstance(m, Experts)), None)
    groups = max(ranks // tensor, 1)
    if experts is None:
        return 1
    if experts.count % groups:
        message = f"{experts.count} experts do not divide among {ranks} ranks"
        raise ModelError(message, where=name)
    return groups
