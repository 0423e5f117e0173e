"""Memory of one GPU that serves: what is left for keys and values, and for how many users."""

from __future__ import annotations

from perfc.ir.record import record
from perfc.machine import CONTEXT_BYTES
from perfc.passes.runtimes import PoolOf

GIB = 1 << 30
GRAPH_BYTES = 0.4 * GIB
"""Recorded graphs of decode steps; assumed."""
BLOCK_TOKENS = 16
"""Of one page of keys and values, as vLLM has them."""


@record
class Demand:
    """What a model asks of each GPU that serves it.

    Args:
        weight_bytes: stored on one GPU.
        kv_bytes: that a token leaves on one GPU.
        state_bytes: that a sequence holds on one GPU whatever its length.
        activation_bytes: of the largest step.
    """

    weight_bytes: float
    kv_bytes: float
    state_bytes: float = 0.0
    activation_bytes: float = 0.0


@record
class MemoryPlan:
    """How the memory of one GPU is shared out.

    Args:
        capacity_bytes: of the device, as its driver reports, less what is held back.
        utilization: share that the engine may take, of what ``pool_of`` names.
        demand: of the model.
        overhead_bytes: contexts, libraries and recorded graphs.
        block_tokens: of one page.
        pool_of: what the share is of.
    """

    capacity_bytes: float
    utilization: float
    demand: Demand
    overhead_bytes: float = CONTEXT_BYTES + GRAPH_BYTES
    block_tokens: int = BLOCK_TOKENS
    pool_of: PoolOf = PoolOf.DEVICE

    @property
    def pool_bytes(self) -> float:
        """Left for keys, values and states; below zero where not even the weights fit."""
        d = self.demand
        taken = d.weight_bytes + d.activation_bytes + self.overhead_bytes
        left = self.capacity_bytes - taken
        match self.pool_of:
            case PoolOf.DEVICE:
                return self.capacity_bytes * self.utilization - taken
            case PoolOf.STATIC:
                free = self.capacity_bytes - CONTEXT_BYTES
                return min(free * self.utilization - d.weight_bytes, left)
            case PoolOf.FREE:
                return left * self.utilization if left > 0 else left

    @property
    def kv_tokens(self) -> int:
        """Whole pages of the pool, in tokens, where states take nothing of it."""
        if self.demand.kv_bytes <= 0:
            return 1 << 40 if self.pool_bytes > 0 else 0
        blocks = self.pool_bytes // (self.demand.kv_bytes * self.block_tokens)
        return max(0, int(blocks)) * self.block_tokens

    def sequences(self, tokens: int, shared: int = 0, share: float = 1.0) -> int:
        """Sequences of so many tokens that the pool holds at once, with their states.

        Args:
            tokens: of each.
            shared: in front of them that are the same, whose whole pages are stored once.
            share: of the sequences those that have these.
        """
        blocks, front = -(-tokens // self.block_tokens), shared // self.block_tokens
        page = self.block_tokens * self.demand.kv_bytes
        each = (blocks - front * share) * page + self.demand.state_bytes
        left = self.pool_bytes - (front * page if share else 0.0)
        if left <= 0:
            return 0
        return int(left // each) if each > 0 else 1 << 20

    def fits(self, tokens: int) -> bool:
        """Whether one sequence of so many tokens can be served."""
        return self.sequences(tokens) >= 1
