"""Attention of a serving step: packed sequences of different lengths over their KV caches."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from ... import (
    Dim,
    DType,
    Extents,
    Inputs,
    Kind,
    Natural,
    Op,
    Positive,
    TensorType,
    Types,
    Work,
    dim_max,
    first_dtype,
    frozen,
    has,
    record,
    shape_at,
    tensor,
    total_work,
)
from ...problem import Attention, MixedAttention
from .attention import SCORES, SOFTMAX_ALU, Scores, axis, work_of_scores
from .score_pairs import triangle, unmasked_pairs

QUERY, KEY, VALUE, LENGTHS, PAST_KEY, PAST_VALUE, DECODE_KEY, DECODE_VALUE, BIAS = range(9)
"""Positions of the operands; those of ``decode`` and ``past`` are caches."""


@record
class SequenceGroup:
    """Sequences with equal numbers of new tokens and equally long caches.

    Args:
        sequences: number of sequences.
        queries: new tokens per sequence.
        keys: new keys per sequence.
        past: cached keys per sequence.
    """

    sequences: Dim
    queries: Dim
    keys: Dim
    past: Dim


@frozen
class RaggedAttention(Op):
    """Attention of packed tokens in two groups of sequences: prefill first, then decode.

    Shapes:  query[n, h*d], key[n, g*d], value[n, g*v] -> output[n, h*v], and where there is a cache
             the rows that are added to it, new_key[n, g*d] and new_value[n, g*v] in its element
             type. Or query[n, (h + g)*d] with the keys, or query[n, (h + g)*d + g*v] with the
             values too. ``lengths``[b] tells
             how many prompts there are, past_key[b, g, p, d] and past_value[b, g, p, v] what they
             have cached; decode_key[c, g, q, d] and decode_value are caches of c sequences
             with ``decode_tokens`` new tokens each. Prompts have what is left: s tokens each.
             Keys may be more or fewer than queries where ``is_causal`` is 0; with ``shares_value``
             a value is the first v elements of its key.
    Work:    {mac}, {alu} and {sfu} of each group as
             AttentionLike, t the cached and the new keys; pairs that a causal mask, a window or a
             chunk leaves out are idle.
    Traffic: each operand and each result once, a cache as long as its type says.
    Source:  arXiv:2309.06180 section 4; flash_attn_varlen_func of FlashAttention.
    """

    mnemonic = "ragged_attention"
    operands = "query key? value? lengths? past_key? past_value? decode_key? decode_value? bias?"
    kind = Kind.ATTENTION
    formulas: ClassVar[Mapping[str, str]] = SCORES

    num_heads: Positive = 1
    kv_heads: Positive = 1
    head_dim: Positive = 1
    value_dim: Positive = 1
    decode_tokens: Positive = 1
    window: Natural = 0
    chunk: Natural = 0
    is_causal: int = 1
    shares_value: int = 0
    softcap: int = 0

    def infer(self, ins: Inputs) -> Types:
        n = axis(shape_at(ins, QUERY), 0)
        is_open = n is None  # the rank of the query is unknown, and so are those of the results

        def rows(dtype: DType, count: Dim, width: int) -> TensorType:
            return TensorType(dtype, None if is_open else (count, width))

        out = rows(first_dtype(ins, QUERY), n or 0, self.num_heads * self.value_dim)
        # both caches have one element type
        cache = next((tensor(ins, i) for i in (PAST_KEY, DECODE_KEY) if has(ins, i)), None)
        if cache is None:
            return (out,)
        added = self.new_keys(ins)
        keys = rows(cache.dtype, added, self.kv_heads * self.head_dim)
        if self.shares_value:
            return out, keys
        return out, keys, rows(cache.dtype, added, self.kv_heads * self.value_dim)

    def new_keys(self, ins: Inputs) -> Dim:
        """Return the number of keys of all sequences that are not in a cache yet."""
        if has(ins, KEY):
            return axis(shape_at(ins, KEY), 0) or 0
        # a query operand wider than its heads also holds the keys
        width = axis(shape_at(ins, QUERY), 1)
        if width == self.num_heads * self.head_dim:
            return 0
        return axis(shape_at(ins, QUERY), 0) or 0

    def groups(self, ins: Inputs) -> tuple[SequenceGroup | None, SequenceGroup | None]:
        """Return the groups of prefill and of decode, None for one that the operands lack."""
        queries, keys = axis(shape_at(ins, QUERY), 0), self.new_keys(ins)
        if queries is None:
            return None, None
        decodes: SequenceGroup | None = None
        if has(ins, DECODE_KEY):
            cache = shape_at(ins, DECODE_KEY)
            sequences, past = axis(cache, 0) or 0, axis(cache, 2) or 0
            # without new keys, as in cross-attention to an encoder, all keys are cached
            new = self.decode_tokens if has(ins, KEY) or keys != 0 else 0
            decodes = SequenceGroup(sequences, self.decode_tokens, new, past)
            # tokens of prompts are what the decodes leave
            queries = queries - sequences * self.decode_tokens
            keys = keys - sequences * new
        if not has(ins, LENGTHS):
            return None, decodes
        prompts = axis(shape_at(ins, LENGTHS), 0) or 1
        past = axis(shape_at(ins, PAST_KEY), 2) or 0
        # extents of equal sequences stand for prompts of different lengths, at their mean length
        return SequenceGroup(prompts, queries // prompts, keys // prompts, past), decodes

    def scores(self, group: SequenceGroup, *, is_biased: bool) -> Scores:
        """Return the variables of one group."""
        s, t = group.queries, group.keys + group.past
        u: Dim = s * t
        if self.is_causal:
            # a window counts the query itself, `unmasked_pairs` only the keys before it
            left = self.window - 1 if self.window else None
            u = self.chunked(group) if self.chunk else unmasked_pairs(s, t, t - s, left, 0)
        capped = int(bool(self.softcap))
        x = SOFTMAX_ALU + int(is_biased) + 2 * capped
        return Scores(
            group.sequences, self.num_heads, s, t, self.head_dim, self.value_dim, u, x, 1 + capped
        )

    def chunked(self, group: SequenceGroup) -> Dim:
        """Return the pairs of query and key within one chunk.

        The cache holds only the chunk of the first new token, up to that token.
        """
        last, c = group.past + group.queries, self.chunk
        # whole chunks and the part of the last one, without the pairs among cached tokens
        return (last // c) * triangle(c) + triangle(last % c) - triangle(group.past)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        prompts, decodes = self.groups(ins)
        # the letters describe one group; no single set of them describes both together
        group = prompts or decodes
        return {} if group is None else self.scores(group, is_biased=has(ins, BIAS)).letters()

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        groups = [g for g in self.groups(ins) if g is not None]
        if not groups:
            return None
        is_biased = has(ins, BIAS)
        works = [
            work_of_scores(self.formulas, self.scores(g, is_biased=is_biased), None) for g in groups
        ]
        return works[0] if len(works) == 1 else total_work(works)

    def problem(self, ins: Inputs, outs: Types) -> Attention | MixedAttention | None:
        prompts, decodes = self.groups(ins)
        prefill = None if prompts is None else self.attention(prompts, tensor(ins, PAST_KEY))
        decode = None if decodes is None else self.attention(decodes, tensor(ins, DECODE_KEY))
        if prefill is not None and decode is not None:
            return MixedAttention(prefill, decode)
        return prefill or decode

    def attention(self, group: SequenceGroup, cache: TensorType) -> Attention:
        """Return the attention of one group alone; chunks of a prompt are separate sequences."""
        sequences, queries, keys = group.sequences, group.queries, group.keys + group.past
        if self.chunk:
            # number of chunks, rounded up
            parts = (keys + self.chunk - 1) // self.chunk
            sequences, queries = sequences * parts, dim_max(queries // parts, 1)
            # each chunk attends to itself
            keys = keys // parts
        return Attention(
            sequences,
            self.num_heads,
            self.kv_heads,
            queries,
            keys,
            self.head_dim,
            self.value_dim,
            self.is_causal == 1,
            self.window,
            cache.dtype.bits,  # 0 without a cache, whose element type is then unknown
        )
