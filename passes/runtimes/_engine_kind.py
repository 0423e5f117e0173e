"""Scheduling of steps by runtimes that serve language models."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import field, replace
from enum import Enum

from perfc.ir import record


class Batching(Enum):
    """Whose tokens a step of a serving engine may have."""

    MIXED = "mixed"
    """Decodes first, then chunks of prompts in the rest of the token budget."""
    WHOLE_PROMPTS = "whole-prompts"
    """The same, but a prompt that does not fit waits for the next step, unless it is the first."""
    PROMPTS_FIRST = "prompts-first"
    """Prompts in steps of their own as long as any may start, decodes else."""


class PoolOf(Enum):
    """Memory that the share of an engine is of, and what that part must hold."""

    DEVICE = "device"
    """Share of device memory: weights, activations, contexts and the KV cache pool."""
    STATIC = "static"
    """Share of memory that is free before loading: weights and the pool, without activations."""
    FREE = "free"
    """Share of memory left by weights, activations and contexts: the pool alone."""


@record
class StaticShare:
    """Default memory share of an engine, from the MiB it reserves for steps.

    Args:
        constant: for any model.
        token: for each token of the largest step with prompts.
        graph: for each sequence of the largest recorded step.
        rank: for each rank of an engine.
        least: from ``least_from`` of memory on.
        least_from: see ``least``.
        sizes: tokens of the largest step with prompts, and sequences of the largest recorded one
            for fewer than 4 ranks and for others, by the memory below which they hold, ascending.
    """

    constant: float
    token: float
    graph: float
    rank: float
    least: float
    least_from: float
    sizes: tuple[tuple[float, int, int, int], ...]

    def share(self, memory_mib: float, tokens: int, ranks: int) -> float:
        """The share on a device.

        Args:
            memory_mib: memory of the device in MiB.
            tokens: number of tokens of the largest step with prompts; 0 for those of ``sizes``.
            ranks: number of ranks of the engine.
        """
        usual, few, many = next(s for below, *s in self.sizes if memory_mib < below)
        steps = self.constant + self.token * (tokens or usual) + self.rank * ranks
        steps += self.graph * (few if ranks < 4 else many)
        if memory_mib > self.least_from:
            steps = max(steps, self.least)
        return max(round(1 - steps / memory_mib, 3), 0.0)


@record
class RecordedSteps:
    """Which steps of language models a runtime records as graphs, each launched as one.

    Args:
        tokens: tokens of the largest step, by family of models, "" for any other; empty where every
            step of decoding is recorded, and none with prompts.
        of_decode: how many times the largest step of decoding a recorded step may be, at most.
        around_attention: launches for each attention of a recorded step with prompts: graphs end
            before it and begin behind it.
    """

    tokens: Mapping[str, int] = field(default_factory=dict)
    of_decode: int = 0
    around_attention: int = 0

    def most(self, family: str, decode_tokens: int) -> float:
        """Tokens of the largest step that is recorded.

        Args:
            family: family of the model.
            decode_tokens: tokens of the largest possible decode step.

        >>> RecordedSteps({"": 512}, of_decode=2).most("llama", 64)
        128
        """
        if not self.tokens:
            return math.inf
        if family in self.tokens:
            return self.tokens[family]
        return min(self.tokens[""], self.of_decode * decode_tokens)


@record
class EngineKind:
    """Default scheduling of a runtime that serves language models.

    Args:
        batching: whose tokens a step may have.
        token_budget: tokens of one step.
        max_num_seqs: sequences under way.
        utilization: share of memory that it takes, of what ``pool_of`` names.
        reserves_output: whether a request starts only when its whole answer has room.
        source: whose defaults these are.
        pool_of: what the share is of.
        static: how it chooses the share where nobody states one; None where ``utilization`` is it.
        utilization_from: shares of later versions, by the first that has them.
        evicts: whether it starts requests all the same, when their prompts have room, and puts the
            last ones back where the pool is full: those begin anew.
        attends_jointly: whether prompts and decodes of a step attend in one kernel.
        adapters: what it calls the number of adapters that a batch may have; "" where it serves no
            more than one at once.
        is_ahead: whether it schedules a step while the one before it runs.
        looks_every: steps of decoding after which it looks for requests again, while it is busy.
        longest: tokens of the longest sequence that an engine is made for; 0 for any.
        beside: kernels of each layer that move little and are told as part of others.
        beside_quantized: further ones where weights are quantised.
        launched: kernels that its host launches for an operator, by mnemonic, one for any other, in
            steps that are not recorded.
        recording: rule for recorded steps; None if the engine records none.
        recorded_tokens: tokens of the largest recorded step; 0 for what ``recording`` says.
        is_compiled: whether a step with prompts is launched as one, where others launch its kernels
            one by one in Python.
        held: tensors as wide as the model that it refers to longer than a step needs them.
        multiplies: codes of the only element types that it multiplies; empty for all that the
            machine does.
        converts: whether activations are of 32 bits between products, converted around each, and
            prompts attend as two products and a softmax.
        sums_halves: whether products of 16 bits of prompts add up in 16 bits.
        widens_beyond: tokens of a step beyond which quantised weights are written in 16 bits before
            their products; 0 where products read them as they are.
        overlaps_prompts: whether stages of a pipeline compute successive chunks of one prompt at
            the same time.
        groups_caches: whether caches of layers of several kinds share the blocks of one pool.
        joins_ranks: whether ranks communicate through NCCL, which has buffers on each.
    """

    batching: Batching
    token_budget: int
    max_num_seqs: int
    utilization: float
    reserves_output: bool
    source: str
    pool_of: PoolOf = PoolOf.DEVICE
    static: StaticShare | None = None
    utilization_from: Mapping[tuple[int, ...], float] = field(default_factory=dict)
    evicts: bool = False
    attends_jointly: bool = False
    adapters: str = ""
    is_ahead: bool = False
    looks_every: int = 1
    longest: int = 0
    beside: int = 0
    beside_quantized: int = 0
    launched: Mapping[str, int] = field(default_factory=dict)
    recording: RecordedSteps | None = RecordedSteps()
    recorded_tokens: int = 0
    is_compiled: bool = False
    held: int = 0
    multiplies: frozenset[str] = frozenset()
    converts: bool = False
    sums_halves: bool = False
    widens_beyond: int = 0
    overlaps_prompts: bool = False
    groups_caches: bool = False
    joins_ranks: bool = False

    def of_version(self, version: tuple[int, ...]) -> EngineKind:
        """The kind with the share of a version; of the measured one where ``version`` is empty."""
        shares = [(v, s) for v, s in self.utilization_from.items() if version and v <= version]
        return replace(self, utilization=max(shares)[1]) if shares else self

    def most_recorded(self, family: str, drafted: int = 0) -> float:
        """Tokens of the largest step of a family of models that is recorded, 0 where none is.

        Args:
            family: family of the model.
            drafted: tokens that a step verifies for each sequence beside the next one.
        """
        if self.recording is None:
            return 0
        return self.recorded_tokens or self.recording.most(
            family, self.max_num_seqs * (1 + drafted)
        )
