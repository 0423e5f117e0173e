"""Memory of a serving GPU: size of the KV cache pool and the sequences that it holds."""

from __future__ import annotations

import math

from perfc.common.fitted import constants_next_to
from perfc.frontend.config import LanguageModel, Parallel, ServingPrecision
from perfc.frontend.config.facts import cache_rates
from perfc.ir import record
from perfc.machine import CONTEXT_BYTES
from perfc.passes.runtimes import EngineKind, PoolOf

GIB = 1 << 30
GRAPH_BYTES = constants_next_to(__file__)["graph_bytes"].number
"""CUDA graphs of decode steps."""
COLLECTIVE_BYTES = constants_next_to(__file__)["collective_bytes"].number
"""NCCL on each of several ranks."""
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
        hosted_bytes: activations of the same in host memory.
        caches: bytes of a token by the tokens up to which they add up; empty for ``kv_bytes``
            without an end.
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
        left = self._left_bytes
        return left if left < 0 or self.host_bytes is None else self.host_bytes

    @property
    def _left_bytes(self) -> float:
        """Return the bytes of the device that nothing else takes; negative if too few."""
        d = self.demand
        taken = d.weight_bytes + d.activation_bytes + self.overhead_bytes
        left = self.capacity_bytes - taken
        match self.pool_of:
            case PoolOf.DEVICE:
                share = self.capacity_bytes * self.utilization - taken + self.outside_bytes
                return min(share, left) if self.outside_bytes else share
            case PoolOf.STATIC:
                free = self.capacity_bytes - (self.overhead_bytes - GRAPH_BYTES)
                return min(free * self.utilization - d.weight_bytes, left)
            case PoolOf.FREE:
                return left * self.utilization if left > 0 else left

    @property
    def kv_tokens(self) -> int:
        """Return the tokens of the KV cache, in whole pages, if states take none of it."""
        if self.demand.kv_bytes <= 0:
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
        blocks, front = -(-tokens // self.block_tokens), shared // self.block_tokens
        page = self.block_tokens * self.demand.kv_bytes
        each = (blocks - front * share) * page + self.demand.state_bytes
        left = self.pool_bytes - (front * page if share else 0.0)
        if left <= 0:
            return 0
        return int(left // each) if each > 0 else 1 << 20

    def longest(self, most: int) -> int:
        """Return the tokens of the longest single sequence that the pool holds, up to ``most``.

        One page is free for the token after the last.
        """
        caches = self.demand.caches or ((math.inf, self.demand.kv_bytes),)
        left, tokens = self.pool_bytes - self.demand.state_bytes, 0.0
        if left <= 0:
            return 0
        for limit, _ in sorted(caches):
            rate = math.fsum([each for end, each in caches if end >= limit])
            reached = min(limit, tokens + left / rate if rate else math.inf)
            left -= rate * (reached - tokens) if rate else 0.0
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
    """Return one rank's bytes of a token's caches, or those of --kv-bytes-per-token."""
    if not model.cached_bytes or model.decoder is None:
        return cache_rates(model, precision, parallel, stage)
    layers = model.decoder.layers
    share = len(parallel.of_stage(layers, stage)) / max(len(layers), 1)
    return ((math.inf, model.cached_bytes * share / parallel.tensor),)


def held_bytes(model: LanguageModel, precision: ServingPrecision, kind: EngineKind | None) -> float:
    """Return the bytes per token that the engine holds, by `EngineKind.held`."""
    if kind is None or model.decoder is None:
        return 0.0
    return kind.held * model.decoder.hidden * precision.half.bits / 8
