"""Divide the memory of a serving GPU: the KV cache pool and the sequences that it holds."""

from __future__ import annotations

import math

from perfc.common.fitted import constants_next_to
from perfc.frontend.config import LanguageModel, Parallel, ServingPrecision
from perfc.frontend.config.facts import cache_rates
from perfc.ir import record
from perfc.machine import CONTEXT_BYTES
from perfc.passes.runtimes import EngineKind, PoolOf

GIB = 1 << 30
"""Bytes of a gibibyte."""
GRAPH_BYTES = constants_next_to(__file__)["graph_bytes"].number
"""Memory of the CUDA graphs of decode steps."""
COLLECTIVE_BYTES = constants_next_to(__file__)["collective_bytes"].number
"""Memory of NCCL on each rank, if there are several."""
BLOCK_TOKENS = 16
"""Tokens per page of the KV cache, as in vLLM."""


@record
class MemoryDemand:
    """Memory that a model needs on each GPU.

    Args:
        weight_bytes: weights on one GPU.
        kv_bytes: KV cache of one token on one GPU.
        state_bytes: states of one sequence on one GPU, whatever its length.
        activation_bytes: activations of the largest step.
        hosted_bytes: activations of that step in host memory.
        caches: pairs of a length in tokens and the bytes that each token adds to a sequence up to
            this length, as a window stops growing. Empty if every token adds ``kv_bytes``.
    """

    weight_bytes: float
    kv_bytes: float
    state_bytes: float = 0.0
    activation_bytes: float = 0.0
    hosted_bytes: float = 0.0
    caches: tuple[tuple[float, float], ...] = ()


@record
class MemoryPlan:
    """Division of one GPU's memory.

    Args:
        capacity_bytes: memory of the device as its driver reports it, less the reserve.
        utilization: share that the engine may take of what ``pool_of`` names.
        demand: demand of the model.
        overhead_bytes: contexts, libraries, recorded graphs and buffers of collectives.
        block_tokens: tokens per page.
        pool_of: memory that the share applies to.
        outside_bytes: part of ``overhead_bytes`` that lies outside a share of the device.
        host_bytes: host memory that is the pool of a rank; None if the device has the pool.
    """

    capacity_bytes: float
    utilization: float
    demand: MemoryDemand
    overhead_bytes: float = CONTEXT_BYTES + GRAPH_BYTES
    block_tokens: int = BLOCK_TOKENS
    pool_of: PoolOf = PoolOf.DEVICE
    outside_bytes: float = 0.0
    host_bytes: float | None = None

    @property
    def pool_bytes(self) -> float:
        """Return the bytes left for the KV cache and states; negative if the weights do not fit."""
        free_bytes = self._left_bytes
        return free_bytes if free_bytes < 0 or self.host_bytes is None else self.host_bytes

    @property
    def _left_bytes(self) -> float:
        """Return the bytes of the device for a pool; negative if weights and overhead exceed it."""
        demand = self.demand
        used_bytes = demand.weight_bytes + demand.activation_bytes + self.overhead_bytes
        free_bytes = self.capacity_bytes - used_bytes
        match self.pool_of:
            case PoolOf.DEVICE:
                # what lies outside of the share does not reduce it, but still takes memory
                share = self.capacity_bytes * self.utilization - used_bytes + self.outside_bytes
                return min(share, free_bytes) if self.outside_bytes else share
            case PoolOf.STATIC:
                # measured before weights are loaded and graphs recorded
                unloaded_bytes = self.capacity_bytes - (self.overhead_bytes - GRAPH_BYTES)
                return min(unloaded_bytes * self.utilization - demand.weight_bytes, free_bytes)
            case PoolOf.FREE:
                # a share of a negative rest would hide how much is missing
                return free_bytes * self.utilization if free_bytes > 0 else free_bytes

    @property
    def kv_tokens(self) -> int:
        """Return the tokens of the KV cache, in whole pages, if states take none of it."""
        if self.demand.kv_bytes <= 0:
            # a model without a cache: more tokens than any load has
            return 1 << 40 if self.pool_bytes > 0 else 0
        blocks = self.pool_bytes // (self.demand.kv_bytes * self.block_tokens)
        return max(0, int(blocks)) * self.block_tokens

    def sequences(self, tokens: int, shared: int = 0, share: float = 1.0) -> int:
        """Return the number of sequences that the pool holds at once, with their states.

        Args:
            tokens: length of each.
            shared: shared prefix, whose whole pages are stored once.
            share: share of the sequences that have this prefix.
        """
        # the last page of a sequence is partly empty, and only whole pages can be shared
        blocks, shared_blocks = -(-tokens // self.block_tokens), shared // self.block_tokens
        page = self.block_tokens * self.demand.kv_bytes
        sequence_bytes = (blocks - shared_blocks * share) * page + self.demand.state_bytes
        free_bytes = self.pool_bytes - (shared_blocks * page if share else 0.0)
        if free_bytes <= 0:
            return 0
        # nothing to store per sequence: more sequences than any engine runs
        return int(free_bytes // sequence_bytes) if sequence_bytes > 0 else 1 << 20

    def longest(self, most: int) -> int:
        """Return the tokens of the longest single sequence that the pool holds, up to ``most``.

        One page is free for the token after the last.
        """
        caches = self.demand.caches or ((math.inf, self.demand.kv_bytes),)
        free_bytes, tokens = self.pool_bytes - self.demand.state_bytes, 0.0
        if free_bytes <= 0:
            return 0
        # full windows stop growing: from one limit to the next, only the longer caches take bytes
        for limit, _ in sorted(caches):
            per_token = math.fsum([nbytes for end, nbytes in caches if end >= limit])
            reached = min(limit, tokens + free_bytes / per_token if per_token else math.inf)
            free_bytes -= per_token * (reached - tokens) if per_token else 0.0
            tokens = reached
            if tokens < limit:
                break
        if math.isinf(tokens) or self.demand.kv_bytes <= 0:
            return most
        return min(max(int(tokens // self.block_tokens) - 1, 0) * self.block_tokens, most)

    def fits(self, tokens: int) -> bool:
        """Return True if the pool holds at least one sequence of ``tokens`` tokens."""
        return self.sequences(tokens) >= 1


def caches_of(
    model: LanguageModel, precision: ServingPrecision, parallel: Parallel, stage: int
) -> tuple[tuple[float, float], ...]:
    """Return the caches of one rank as `MemoryDemand` has them.

    With --kv-bytes-per-token they are one cache without an end.
    """
    if not model.cached_bytes or model.decoder is None:
        return cache_rates(model, precision, parallel, stage)
    layers = model.decoder.layers
    share = len(parallel.of_stage(layers, stage)) / max(len(layers), 1)
    # the given bytes are of all layers and ranks
    return ((math.inf, model.cached_bytes * share / parallel.tensor),)


def held_bytes(model: LanguageModel, precision: ServingPrecision, kind: EngineKind | None) -> float:
    """Return the bytes per token of a step in tensors that the engine refers to longer than needed.

    `EngineKind.held` is their number; each is as wide as the model.
    """
    if kind is None or model.decoder is None:
        return 0.0
    return kind.held * model.decoder.hidden * precision.half.bits / 8
