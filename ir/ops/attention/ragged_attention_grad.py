"""Gradient of attention over packed sequences, which recomputes the scores."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import (
    ABSENT,
    Extents,
    Inputs,
    Results,
    Traffic,
    Types,
    Value,
    Work,
    each_once,
    frozen,
    has,
    tensor,
)
from ...problem import Backward
from .attention_grad import BACKWARD_SCORES, AttentionGrad, backward_of, backward_work
from .ragged_attention import BIAS, KEY, PAST_KEY, QUERY, VALUE, RaggedAttention

if TYPE_CHECKING:
    from ...gradients.tape import Tape

FORWARD = 2
"""Number of operands before those of the forward pass: dY and Y."""
RESULTS = (QUERY, KEY, VALUE, BIAS)
"""Operands of the forward pass that have gradients, in the order of the results."""


@frozen
class RaggedAttentionGrad(RaggedAttention):
    """Gradients of packed queries, keys and values, whose scores were not saved.

    Shapes:  dY and Y like the result, then the operands of RaggedAttention -> dQuery, dKey, dValue
             and dBias like these; missing operands have no gradient.
    Work:    {mac}: scores again, and the gradients of V, of the probabilities, of Q and of K;
             {alu} with the softmax and its gradient, {sfu}. Prompts alone, not decodes.
    Traffic: each operand once, each result once.
    Source:  flash_attn_varlen_func of FlashAttention, its backward pass; arXiv:2307.08691,
             algorithm 2.
    """

    mnemonic = "ragged_attention_grad"
    operands = (
        "dY Y query key? value? lengths? past_key? past_value? decode_key? decode_value? bias?"
    )
    formulas = BACKWARD_SCORES

    def infer(self, ins: Inputs) -> Types:
        positions = [FORWARD + i for i in RESULTS]
        return tuple(tensor(ins, i) if has(ins, i) else ABSENT for i in positions)

    def extents(self, ins: Inputs, outs: Types) -> Extents:
        return super().extents(ins[FORWARD:], outs)

    def work(self, ins: Inputs, outs: Types) -> Work | None:
        prompts, _ = self.groups(ins[FORWARD:])
        if prompts is None:
            return None
        is_biased = has(ins, FORWARD + BIAS)
        # decode is inference: only prompts have gradients
        return backward_work(self.scores(prompts, is_biased=is_biased), None)

    def problem(self, ins: Inputs, outs: Types) -> Backward | None:  # type: ignore[override]
        prompts, _ = self.groups(ins[FORWARD:])
        if prompts is None:
            return None
        return backward_of(self.attention(prompts, tensor(ins, FORWARD + PAST_KEY)))

    def traffic(self, ins: Inputs, outs: Types) -> Traffic:
        return each_once(ins, outs)

    def expand(self, tape: Tape, ins: Inputs, outs: Types) -> Results | None:
        """Return the gradients by `AttentionGrad`, with the packed sequences as a batch.

        None if keys are cached, or if there is a window, a chunk, a soft cap or a bias.
        """
        prompts, decodes = self.groups(ins[FORWARD:])
        is_plain = not (self.window or self.chunk or self.softcap or has(ins, FORWARD + BIAS))
        if prompts is None or decodes is not None or prompts.past != 0 or not is_plain:
            return None
        b, parts = prompts.sequences, self.separate(tape, ins[FORWARD:])

        def unpacked(v: Value | None) -> Value:
            """Return packed rows as [b, s, width]."""
            assert v is not None
            shape = v.type.shape  # type: ignore[union-attr]
            assert shape
            return tape.reshape(v, (b, shape[0] // b, shape[1]))

        q, k, v = (unpacked(part) for part in parts)
        op = AttentionGrad(
            is_causal=self.is_causal, kv_num_heads=self.kv_heads, q_num_heads=self.num_heads
        )
        of_batch = tape.several(op, (unpacked(ins[0]), unpacked(ins[1]), q, k, v), 3)
        packed = [
            tape.reshape(g, part.type.shape)  # type: ignore[union-attr, arg-type]
            for g, part in zip(of_batch, parts, strict=True)
        ]
        present = [has(ins, FORWARD + i) for i in (QUERY, KEY, VALUE)]
        gradients: list[Value | None] = []
        for index, is_present in enumerate(present):
            if not is_present:
                gradients.append(None)
                continue
            # the query operand may hold the keys, or keys and values: its gradient then joins the
            # parts up to the next operand that is given
            last = next((j for j in range(index + 1, 3) if present[j]), 3)
            gradients.append(tape.concat(packed[index:last] if index == 0 else [packed[index]], 1))
        # the last result is dBias: `is_plain` excludes a bias
        return (*gradients, None)

    def separate(self, tape: Tape, ins: Inputs) -> list[Value]:
        """Return separate queries, keys and values from operands that may be merged.

        A query operand without keys or values has their columns behind its own.
        """
        h, g = self.num_heads * self.head_dim, self.kv_heads * self.head_dim
        query = ins[QUERY]
        assert query is not None
        # columns of the query operand at which queries, keys and values begin and end; the query
        # operand is divided even if it holds queries alone
        ends = [0, h, h + g, h + g + self.kv_heads * self.value_dim]
        operands = [ins[i] if has(ins, i) else None for i in (QUERY, KEY, VALUE)]
        return [
            operand
            if operand is not None and index > 0
            else tape.part(query, {1: (ends[index], ends[index + 1])})
            for index, operand in enumerate(operands)
        ]
