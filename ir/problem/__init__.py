"""Problem sizes of operators: named extents that describe the work of a kernel.

An operator defines its problem once (`perfc.ir.op.Op.problem`), in formulas of the model's symbols.
Code that needs the numbers of a kernel reads them here. Everything else about a kernel (operations,
bytes, element types, launches) is in `perfc.passes.fusion.kernel.Kernel`. They are named tuples,
since dataclasses take five times as long to define, which is 1% of a whole analysis.

*Problem* is the term of libraries that choose kernels: CUTLASS's problem size, MIOpen's
``ProblemDescription``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from enum import Enum
from typing import NamedTuple, TypeAlias

from ..symbolic.dim import Dim
from .window import SlidingWindow as SlidingWindow

Problem: TypeAlias = (
    "Product | SlidingWindow | Attention | MixedAttention | LinearAttention | Experts | Rows "
    "| Recurrence | Collective | Backward"
)


class Product(NamedTuple):
    """``batch`` products ``[m, k] × [k, n]``; grouped products divide all ``m`` rows among them.

    Args:
        batch: product of the leading axes.
        m: rows of one left operand.
        n: columns.
        k: reduced extent.
        is_shared: the whole batch has one right operand, so that it is one tall product.
        weight_bits: bits of a right operand that the kernel dequantizes; 0 if it does not.
        scale_block: elements of it that share a scale; 0 without scales.
        is_grouped: ``m`` counts the rows of all products together, evenly spread, as for tokens
            with different weights.
    """

    batch: Dim
    m: Dim
    n: Dim
    k: Dim
    is_shared: bool = False
    weight_bits: float = 0
    scale_block: int = 0
    is_grouped: bool = False

    @property
    def products(self) -> Dim:
        """Return the number of products with separate right operands."""
        return 1 if self.is_shared else self.batch

    @property
    def rows(self) -> Dim:
        """Return the rows of each product; for grouped products those of the largest."""
        if self.is_grouped:
            return -(-self.m // self.batch)  # rounded up
        return self.batch * self.m if self.is_shared else self.m


class Attention(NamedTuple):
    """``softmax(Q @ K^T) @ V`` of every head.

    Args:
        batch: number of sequences.
        heads: query heads per sequence.
        kv_heads: key/value heads per sequence.
        query_len: queries per head.
        kv_len: keys per head, including those in the KV cache.
        head_dim: size of a query and a key.
        value_dim: size of a value.
        is_causal: queries attend only to earlier positions.
        window: latest tokens that a query attends to, 0 for all.
        cache_bits: bits of an element of the KV cache, 0 without a cache.
    """

    batch: Dim
    heads: Dim
    kv_heads: Dim
    query_len: Dim
    kv_len: Dim
    head_dim: Dim
    value_dim: Dim
    is_causal: bool = False
    window: int = 0
    cache_bits: int = 0

    @classmethod
    def of_products(cls, first: Product, second: Product, scores: tuple[Dim, ...]) -> Attention:
        """Return the problem of two matrix products: queries with keys, probabilities with values.

        An added mask is data: all pairs count. Heads that were repeated before the
        products count as key/value heads.

        Args:
            first: the product of queries and keys.
            second: the product of probabilities and values.
            scores: shape of the scores; with four axes or more the first is the batch.
        """
        # [batch, heads, queries, keys], or [heads, queries, keys] of one sequence
        batch: Dim = scores[0] if len(scores) > 3 else 1
        heads: Dim = 1
        for d in scores[1:-2] if len(scores) > 3 else scores[:-2]:
            heads = heads * d
        return cls(
            batch=batch,
            heads=heads,
            kv_heads=heads,
            query_len=first.m,
            kv_len=first.n,
            head_dim=first.k,
            value_dim=second.n,
        )


class MixedAttention(NamedTuple):
    """Prefill and decode in one kernel, over the same heads.

    Args:
        prefill: attention of the prefill chunk.
        decode: attention of one query of each decoding sequence.
    """

    prefill: Attention
    decode: Attention


class LinearAttention(NamedTuple):
    """``tokens`` of all ``sequences`` through states of ``key_dim`` by ``value_dim``.

    Args:
        sequences: number of sequences, each with its own states.
        tokens: tokens of all sequences.
        heads: states per sequence.
        key_heads: heads of keys, which several states may share.
        key_dim: size of a key.
        value_dim: size of a value.
        is_delta: True if updates subtract what the state already stores for a key.
    """

    sequences: Dim
    tokens: Dim
    heads: Dim
    key_heads: Dim
    key_dim: Dim
    value_dim: Dim
    is_delta: bool


class Experts(NamedTuple):
    """Every token through ``chosen`` of ``experts``, of which this device holds a share.

    Args:
        tokens: routed tokens of all ranks together.
        hidden: hidden size of a token.
        inner: intermediate size of an expert, on this device.
        chosen: experts per token.
        experts: experts on all ranks together.
        ranks: devices among which whole experts are divided.
        matrices: matrices per expert: 3 with a gate, else 2.
        weight_bits: bits of a weight that the kernel dequantizes; 0 if it does not.
        scale_block: elements of a weight that share a scale; 0 without scales.
        skew: exponent of the power law by which tokens choose experts; 0 for independent uniform
            choices; None if the requests of the tokens are unknown.
    """

    tokens: Dim
    hidden: Dim
    inner: Dim
    chosen: Dim
    experts: Dim
    ranks: int = 1
    matrices: int = 3
    weight_bits: float = 0
    scale_block: int = 0
    skew: float | None = None

    def touched_over_least(self, at: Callable[[Dim], float]) -> float:
        """Return the mean experts that all tokens touch on a rank, over those of a single token.

        Each token is assumed to choose independently and uniformly, as decode steps are estimated:
        tokens touch experts / ranks * (1 - (1 - chosen / experts)**tokens) of them on average,
        and the weights read are proportional to that, so it gives a lower bound of the mean time of
        such steps. With a skew fewer are touched, and the bound is that of a single token.

        Args:
            at: function that returns the value of an extent.
        """
        experts, chosen = at(self.experts), at(self.chosen)
        local = experts / self.ranks
        # a token touches its share of experts on this rank, rounded up
        least = min(math.ceil(chosen / self.ranks), local)
        if self.skew or chosen >= experts or least <= 0:
            return 1.0
        # 1 - (1 - p)**n by expm1 and log1p, which is exact for small p
        touched = -local * math.expm1(at(self.tokens) * math.log1p(-chosen / experts))
        return max(touched / least, 1.0)


class Span(Enum):
    """Part of a tensor that forms a row."""

    AXES = "axes"
    """Some axes, usually the last ones."""
    GROUP = "group"
    """All positions of a few channels of one instance."""
    CHANNEL = "channel"
    """A channel of all instances; its statistics are inputs at inference."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name


class Rows(NamedTuple):
    """Normalization or softmax of ``elements`` that form ``rows`` with separate statistics."""

    rows: Dim
    elements: Dim
    span: Span = Span.AXES


class Recurrence(NamedTuple):
    """A recurrent layer: ``steps`` in time, each of which needs the result of the one before."""

    steps: Dim


class Exchange(Enum):
    """Kind of collective, in the terms of NCCL."""

    ALL_REDUCE = "all-reduce"
    ALL_GATHER = "all-gather"
    REDUCE_SCATTER = "reduce-scatter"
    ALL_TO_ALL = "all-to-all"
    SEND_RECEIVE = "send-receive"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


class Collective(NamedTuple):
    """``exchange`` of ``nbytes`` among ``ranks``.

    Args:
        exchange: kind of collective.
        nbytes: the whole message of one rank: the input of an all-reduce, the result of an
            all-gather, the input of a reduce-scatter.
        ranks: participating devices.
        nodes: number of nodes they span.
    """

    exchange: Exchange
    nbytes: Dim
    ranks: int
    nodes: int = 1


class Backward(NamedTuple):
    """The backward kernel of ``of``, over the same tiles.

    Args:
        of: the problem of the forward kernel.
        products: its multiply–accumulates divided by those of the forward kernel.
        rate: its rate divided by that of the forward kernel.
    """

    of: Attention | MixedAttention | LinearAttention | Experts | SlidingWindow
    products: float
    rate: float = 1.0

    @property
    def times(self) -> float:
        """Return its duration divided by that of the forward kernel."""
        return self.products / self.rate


def forward_of(problem: Problem | None) -> Problem | None:
    """Return the problem of the forward kernel, or the problem itself if it is not a gradient."""
    return problem.of if isinstance(problem, Backward) else problem
