"""Default scheduling and memory shares of runtimes that serve language models, by release."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from enum import Enum
from functools import cache
from typing import Any

from perfc.common.fitted import data_next_to
from perfc.ir import record


class Batching(Enum):
    """Whose tokens a step of a serving engine may have."""

    MIXED = "mixed"
    """Decodes first, then chunks of prompts in the rest of the token budget."""
    WHOLE_PROMPTS = "whole-prompts"
    """Decodes first, then whole prompts; a prompt beyond the budget waits, except the first one."""
    PROMPTS_FIRST = "prompts-first"
    """Prompts in separate steps as long as any may start, else decodes."""


class PoolOf(Enum):
    """Memory that the share of an engine refers to, and what the share must hold."""

    DEVICE = "device"
    """Share of device memory: weights, activations, contexts and the KV cache pool."""
    STATIC = "static"
    """Share of memory that is free before loading: weights and the pool, without activations."""
    FREE = "free"
    """Share of memory left by weights, activations and contexts: the pool alone."""


@record
class StaticShare:
    """Default memory share of an engine, by one of three rules of SGLang's releases.

    Either a table of shares (``ranks`` and ``above``), or the memory less GiB that it reserves
    (``reserve``), or the memory less MiB for its largest steps (all other fields).

    Args:
        ranks: shares by the least number of ranks, descending.
        above: ``above, most, least`` in GiB: devices with more memory than ``above`` leave free
            (1 − share)·(memory − ``most``), but no less than ``least``.
        reserve: rows of memory in GiB below which the row holds, GiB that are reserved for any
            model, and GiB for each rank; ascending.
        constant: MiB for any model.
        token: MiB for each token of the largest step with prompts.
        graph: MiB for each sequence of the largest recorded step.
        rank: MiB for each rank of an engine.
        data: three numbers for data-parallel attention: MiB for each of its ranks and each sequence
            of the largest recorded step, the most sequences at which this holds, and the MiB that
            hold at more sequences.
        least: MiB that are reserved at least, on devices with more memory than ``least_from``.
        least_from: memory in MiB.
        sizes: rows of memory in MiB below which the row holds, ascending; tokens of the largest
            step with prompts; sequences of the largest recorded step for fewer than 4 ranks, and
            for more.
    """

    ranks: Sequence[tuple[int, float]] = ()
    above: tuple[float, float, float] = (math.inf, 0, 0)
    reserve: Sequence[tuple[float, float, float]] = ()
    constant: float = 0
    token: float = 0
    graph: float = 0
    rank: float = 0
    data: tuple[float, float, float] = (0, 0, 0)
    least: float = 0
    least_from: float = math.inf
    sizes: Sequence[tuple[float, int, int, int]] = ()

    def share(self, memory_mib: float, tokens: int, ranks: int, data: int = 1) -> float:
        """Return the share of a device's memory, from 0 to 1.

        Args:
            memory_mib: memory of the device in MiB.
            tokens: number of tokens of the largest step with prompts; 0 for those of ``sizes``.
            ranks: number of ranks of the engine.
            data: ranks of data-parallel attention; 1 if there is none.
        """
        memory_gib = memory_mib / 1024
        if self.ranks:
            share = next(share for least, share in self.ranks if ranks >= least)
            above, most, least_gib = self.above
            # a smaller part of a large memory is left free, but no less than ``least_gib``
            if memory_gib > above:
                share = min(share + most * (1 - share) / memory_gib, 1 - least_gib / memory_gib)
            return share
        if self.reserve:
            fixed, each = next(s for below, *s in self.reserve if memory_gib < below)
            # rounded as SGLang's server_args.py does
            return max(round(1 - (fixed + each * ranks) / memory_gib, 3), 0.0)
        # what the largest steps need, in MiB
        usual, few, many = next(s for below, *s in self.sizes if memory_mib < below)
        steps = self.constant + self.token * (tokens or usual) + self.rank * ranks
        # sequences of the largest recorded step
        recorded = few if ranks < 4 else many
        each, most, beyond = self.data
        per_sequence = self.graph
        # attention that is not data-parallel needs nothing more
        if data > 1:
            per_sequence += (each if recorded <= most else beyond) * data
        steps += per_sequence * recorded
        if memory_mib > self.least_from:
            steps = max(steps, self.least)
        return max(round(1 - steps / memory_mib, 3), 0.0)


@record
class RecordedSteps:
    """Which steps of language models a runtime records as graphs, each launched as one.

    Args:
        tokens: tokens of the largest recorded step, by family of models, "" for any other; empty if
            every step of decoding is recorded, and no step with prompts.
        of_decode: limit of the tokens of a recorded step, as a multiple of those of the largest
            decode step.
        around_attention: launches for each attention of a recorded step with prompts, as one graph
            ends before the attention and the next begins after it.
    """

    tokens: Mapping[str, int] = field(default_factory=dict)
    of_decode: int = 0
    around_attention: int = 0

    def most(self, family: str, decode_tokens: int) -> float:
        """Return the tokens of the largest step that is recorded.

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
    """Defaults of a runtime that serves language models: its steps, its memory, its kernels.

    Wherever a field says "it", that is the engine.

    Args:
        batching: policy that decides which requests share a step.
        token_budget: maximum tokens of one step.
        max_num_seqs: maximum sequences in flight.
        utilization: share of the memory named by ``pool_of`` that it takes, from 0 to 1.
        reserves_output: whether a request starts only when its whole answer has room.
        source: document or code with these defaults.
        pool_of: memory that ``utilization`` is a share of.
        static: rule for the share if the user gives none; None for ``utilization``.
        assumed: version whose rules hold if none is given.
        rewritten: first version of a rewritten engine; hosts that were measured under earlier
            versions do not count for it.
        budgets: rows of least memory of a GPU in GiB, tokens of a step, and maximum sequences in
            flight; descending.
        small: beginnings of the names of GPUs that have the last row of ``budgets``.
        items: by family of models, the tokens of the largest image or video, which a step must hold
            whole, and the budget to which a smaller default is raised; `on` empties it where the
            default is large enough.
        counts_graphs: whether the share of a device includes recorded graphs.
        context_bytes: bytes of a context and its libraries that the share of a device includes.
        logit_bytes: bytes for each logit of the largest step of decoding when memory is profiled.
        similar: layers of the kind of cache with the most over those of the kind with the fewest,
            below which the smaller kind is padded to one group of the larger's size.
        prints_concurrency: whether it prints the size of its cache as a number of users of the
            longest sequence.
        extra_states: further states of a sequence, so that an earlier state may be read again.
        steps_ahead: number of steps whose tokens are stored in addition to a sliding window.
        padding: multiples to which 4-bit experts widen the inner columns of a rank and the hidden
            columns, by GPU: its architecture (``sm10``), else its maker, "" for all others.
        state: element type of recurrent states of a family without an entry in ``states``; "" for
            that of the model.
        states: element type of recurrent states by family of models; "config" for the type in the
            model's configuration.
        checks_longest: whether it starts only if one sequence of all positions has room.
        caches: default type of caches by formats of weights whose files name one, and of sparse
            attention; any other cache has the type of activations.
        fuses_attention: whether prompts attend in one kernel where ``converts`` has two products.
        evicts: whether it starts requests as soon as their prompts have room, and when the pool is
            full puts the last ones back, which start again.
        attends_jointly: whether prompts and decodes of a step attend in one kernel.
        adapters: its option for the number of adapters in a batch; "" if it serves no more than one
            at once.
        is_ahead: whether it schedules a step while the step before runs.
        looks_every: steps of decoding after which a busy engine looks for new requests.
        longest: tokens of the longest sequence that an engine is made for; 0 for any.
        minor_kernels: kernels of each layer that move little and count as part of others.
        minor_kernels_quantized: further minor kernels if weights are quantised.
        launched: kernels that its host launches for an operator in steps that are not recorded, by
            mnemonic; one for any other operator.
        recording: rule for recorded steps; None if the engine records none.
        recorded_tokens: tokens of the largest recorded step; 0 for those by ``recording``.
        is_compiled: whether a step with prompts is launched as one; other engines launch its
            kernels one by one in Python.
        held: number of tensors of the model's width that stay allocated after a step.
        multiplies: codes of the only element types that it multiplies; empty for all types of the
            machine.
        converts: whether activations are of 32 bits between products, converted around each, and
            prompts attend as two products and a softmax.
        sums_halves: whether products of 16 bits of prompts add up in 16 bits.
        widens_beyond: tokens of a step beyond which quantised weights are written in 16 bits before
            their products; 0 if products always read quantised weights.
        overlaps_prompts: whether stages of a pipeline compute successive chunks of one prompt at
            the same time.
        groups_caches: whether caches of layers of several kinds share the blocks of one pool.
        joins_ranks: whether ranks communicate through NCCL, which has buffers on each rank.
        offloaded_bytes: bytes of a rank's weights that stay in host memory and are read every step.
        reads_chosen: whether kernels read these weights over the link, and so of experts only the
            chosen ones.
        hosted_layers: layers whose experts are in the memory of ``hosted_by``, which multiplies
            them in small steps.
        hosted_by: name of the host's processor.
        host: processor that computes attention, with the cache in its memory; "" if the device
            does, None if the engine offers no such choice.
    """

    batching: Batching
    token_budget: int
    max_num_seqs: int
    utilization: float
    reserves_output: bool
    source: str
    pool_of: PoolOf = PoolOf.DEVICE
    static: StaticShare | None = None
    assumed: str = ""
    rewritten: str = "0"
    budgets: Sequence[tuple[float, int, int]] = ()
    small: Sequence[str] = ()
    items: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    counts_graphs: bool = True
    context_bytes: float | None = None
    logit_bytes: float = 0
    similar: float = 1
    prints_concurrency: bool = False
    extra_states: int = 0
    steps_ahead: int = 1
    padding: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    state: str = ""
    states: Mapping[str, str] = field(default_factory=dict)
    checks_longest: bool = False
    caches: Mapping[str, str] = field(default_factory=dict)
    fuses_attention: bool = False
    evicts: bool = False
    attends_jointly: bool = False
    adapters: str = ""
    is_ahead: bool = False
    looks_every: int = 1
    longest: int = 0
    minor_kernels: int = 0
    minor_kernels_quantized: int = 0
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
    offloaded_bytes: float = 0.0
    reads_chosen: bool = False
    hosted_layers: int = 0
    hosted_by: str = ""
    host: str | None = None

    @classmethod
    @cache
    def of(cls, name: str, version: str = "") -> EngineKind:
        """Return the kind of a runtime under a version; by default the version ``assumed``."""
        rules = dict(_RULES[name])
        version = version or rules.get("assumed", "")
        for later in rules.pop("versions", ()):
            # infinity: a version without a patch number has the rules of its last patch
            if release(later["from"]) <= (*release(version), math.inf):
                rules |= {key: v for key, v in later.items() if key not in ("from", "source")}
        for key, read in _READERS.items():
            if key in rules:
                rules[key] = read(rules[key])
        return cls(**rules)

    def on(self, name: str, memory_bytes: float, family: str = "") -> EngineKind:
        """Return the kind with the token budget and maximum sequences of a GPU.

        Args:
            name: name of the GPU.
            memory_bytes: memory of the GPU; 0 if unknown.
            family: family of the model.
        """
        if not self.budgets or not memory_bytes:
            return self
        is_small = name.startswith(tuple(self.small)) if self.small else False
        fitting = (b for b in self.budgets if memory_bytes >= b[0] * (1 << 30) and not is_small)
        _, tokens, seqs = next(fitting, self.budgets[-1])
        # a step must hold the largest image or video whole
        least, raised = self.items.get(family, (0, 0))
        if tokens >= least:
            return replace(self, token_budget=tokens, max_num_seqs=seqs, items={})
        return replace(self, token_budget=raised, max_num_seqs=seqs)

    def most_recorded(self, family: str, drafted: int = 0) -> float:
        """Return the tokens of the largest recorded step of a family of models; 0 if none is.

        Args:
            family: family of the model.
            drafted: draft tokens that a step verifies for each sequence, besides the next token.
        """
        if self.recording is None:
            return 0
        return self.recorded_tokens or self.recording.most(
            family, self.max_num_seqs * (1 + drafted)
        )


def release(version: str) -> tuple[float, ...]:
    """Return the numbers of a version, at most three.

    >>> release("v0.5.3rc1"), release("b6325")
    ((0, 5, 3), (6325,))
    """
    return tuple(int(n) for n in re.findall(r"\d+", version)[:3])


def changes(name: str, newest: str) -> list[str]:
    """Return the versions, up to ``newest``, from which on a rule of a runtime differs."""
    versions = [later["from"] for later in _RULES[name].get("versions", ())]
    return [version for version in versions if release(version) <= release(newest)]


_RULES = data_next_to(__file__)
"""Fields of each runtime's kind by name; changes of later releases under ``versions``."""
_READERS: Mapping[str, Any] = {
    "batching": Batching,
    "pool_of": PoolOf,
    "static": lambda table: StaticShare(**table),
    "recording": lambda table: RecordedSteps(**table) if table else None,
    "multiplies": frozenset,
}
"""Functions that make the values of fields whose types TOML lacks."""
