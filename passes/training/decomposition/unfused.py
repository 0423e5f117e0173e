"""Attention of packed tokens as separate operators, where no fused kernel trains it.

`scaled_dot_product_attention` caps no scores and has no sinks, so that modules with a cap or sinks
multiply queries and keys, store the probabilities, and multiply them with values. If a trained bias
is added to the scores, `scaled_dot_product_attention` itself runs these operators, in f32. A
framework without fused attention always computes attention so.

The operand ``BIAS`` is one of three: sinks (`sinks`), a table of relative positions, which has two
axes, or slopes of a bias that is linear in the distance (`relative`).

Source: transformers 5, `eager_attention_forward` of modeling_gemma2.py, modeling_gpt_oss.py and
modeling_t5.py: scores in the type of the model, softmax in f32, its result narrowed. PyTorch 2.13,
ATen/native/transformers/attention.cpp, `_scaled_dot_product_attention_math`.
"""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir import Dim, DType, Inputs, Node, Value
from perfc.ir.gradients.tape import Tape, shape_of
from perfc.ir.op import exactly
from perfc.ir.ops.attention.ragged_attention import (
    BIAS,
    DECODE_KEY,
    KEY,
    PAST_KEY,
    QUERY,
    VALUE,
    RaggedAttention,
    SequenceGroup,
)
from perfc.ir.ops.contraction.matmul import MatMul
from perfc.ir.ops.elementwise.activation import Tanh
from perfc.ir.ops.elementwise.cast import Cast
from perfc.ir.ops.movement.gather import Gather
from perfc.ir.ops.normalization.softmax import Softmax

CAP = 50.0
"""Soft cap of attention scores; its value does not change the cost."""


def unfused(nodes: Sequence[Node], tape: Tape, *, fuses_attention: bool) -> list[Node]:
    """Return the same nodes with attention written out where the framework has no kernel for it.

    Args:
        nodes: nodes of the forward pass, in an order that can run.
        tape: names what is written.
        fuses_attention: whether the framework runs plain attention as one operator.
    """
    result_nodes: list[Node] = []
    for node in nodes:
        op = node.op
        if not exactly(op, RaggedAttention):
            result_nodes.append(node)
            continue
        group = op.groups(node.inputs)[0]
        is_prompt = group is not None and not any(at(node, i) for i in (PAST_KEY, DECODE_KEY))
        has_kernel = fuses_attention and not op.softcap and at(node, BIAS) is None
        if group is None or not is_prompt or has_kernel:
            result_nodes.append(node)
            continue
        tape.place, tape.suffix, tape.nodes = node.loc, ".unfused", []
        result = written(op, node, group, tape, is_sdpa=fuses_attention)
        # the last operator writes the results of the attention itself
        *before, last = tape.nodes
        assert last.results == (result,)
        result_nodes += [*before, Node(last.op, last.inputs, node.outputs, (), last.loc)]
        tape.nodes = []
    return result_nodes


def at(node: Node, index: int) -> Value | None:
    """Return an operand; None where it is not given."""
    return node.inputs[index] if index < len(node.inputs) else None


def sinks(node: Node) -> Value | None:
    """Return the sinks: a trained score for each head, of a key that no token has; None without.

    Slopes have one axis too, but are no parameters.
    """
    bias = at(node, BIAS)
    is_trained = bias is not None and bias.is_parameter and len(shape_of(bias)) == 1
    return bias if is_trained else None


def written(
    op: RaggedAttention, node: Node, group: SequenceGroup, tape: Tape, *, is_sdpa: bool
) -> Value:
    """Write an attention operator by operator, and return its result.

    Args:
        op: the attention.
        node: node of the attention.
        group: sequences that it reads, all of one size.
        tape: takes the operators.
        is_sdpa: whether `scaled_dot_product_attention` runs it, and not code of the module.
    """
    b, s, t, h = group.sequences, group.queries, group.keys, op.num_heads
    bias, sink_scores = at(node, BIAS), sinks(node)
    query, key, value = operands(op, node.inputs, tape)
    dtype = query.dtype
    if is_sdpa and bias is not None and sink_scores is None and dtype is not DType.F32:
        to_f32 = Cast(to=DType.F32)
        query, key, value = (tape.apply(to_f32, x) for x in (query, key, value))
    q = heads(tape, query, (b, s, h, op.head_dim))
    k = tape.repeated(heads(tape, key, (b, t, op.kv_heads, op.head_dim)), h)
    v = tape.repeated(heads(tape, value, (b, t, op.kv_heads, op.value_dim)), h)
    scores = tape.scaled(tape.apply(MatMul(), q, tape.swapped(k)), op.head_dim**-0.5)
    score_type = scores.dtype
    if op.softcap:
        capped = tape.apply(Tanh(), tape.scaled(scores, 1 / CAP))
        scores = tape.scaled(capped, CAP)
    if bias is not None and sink_scores is None:
        scores = tape.add(scores, relative(tape, bias, (h, s, t), score_type))
    if op.is_causal or op.window or op.chunk:
        # zeros stand for the mask: its contents do not change the cost
        scores = tape.add(scores, tape.expand(tape.number(0.0, score_type), (1, 1, s, t)))
    if sink_scores is not None:
        column = tape.expand(tape.reshape(sink_scores, (1, h, 1, 1)), (b, h, s, 1))
        # scores of a key that no token has: it takes part in the softmax, and its share is dropped
        scores = tape.concat((scores, column), 3)
    # T5 and GPT-OSS take the softmax of scores as they are
    is_widened = score_type is not DType.F32 and bias is None
    scores = tape.apply(Cast(to=DType.F32), scores) if is_widened else scores
    shares = tape.apply(Softmax(axis=-1), scores)
    shares = tape.apply(Cast(to=score_type), shares) if is_widened else shares
    if sink_scores is not None:
        shares = tape.part(shares, {3: (0, t)})
    mixed = tape.apply(MatMul(), shares, v)
    mixed = mixed if mixed.dtype is dtype else tape.apply(Cast(to=dtype), mixed)
    return tape.reshape(tape.transpose(mixed, (0, 2, 1, 3)), (b * s, h * op.value_dim))


def operands(op: RaggedAttention, ins: Inputs, tape: Tape) -> tuple[Value, Value, Value]:
    """Return queries, keys and values; cut out of the first operand if they are its columns."""
    widths = (op.num_heads * op.head_dim, op.kv_heads * op.head_dim, op.kv_heads * op.value_dim)
    query, key, value = [ins[i] if i < len(ins) else None for i in (QUERY, KEY, VALUE)]
    assert query is not None
    if key is not None and value is not None:
        return query, key, value
    first, last = widths[0], widths[0] + widths[1]
    parts = [tape.part(query, {1: (0, first)}), tape.part(query, {1: (first, last)})]
    return parts[0], parts[1], value or tape.part(query, {1: (last, last + widths[2])})


def heads(tape: Tape, x: Value, shape: tuple[Dim, Dim, Dim, Dim]) -> Value:
    """Return the rows of tokens as batch, heads, tokens and width."""
    return tape.transpose(tape.reshape(x, shape), (0, 2, 1, 3))


def relative(tape: Tape, bias: Value, extents: tuple[int, Dim, Dim], dtype: DType) -> Value:
    """Return the bias of each head's scores: rows of a relative-position table, or slopes."""
    h, s, t = extents
    if len(shape_of(bias)) == 2:
        # row 0 stands for every bucket of distances: which rows are read does not change the cost
        table = tape.apply(Gather(), bias, tape.expand(tape.ints((0,)), (s, t)))
        table = table if table.dtype is dtype else tape.apply(Cast(to=dtype), table)
        return tape.reshape(tape.transpose(table, (2, 0, 1)), (1, h, s, t))
    slopes = tape.reshape(bias, (1, h, 1, 1))
    slopes = slopes if slopes.dtype is dtype else tape.apply(Cast(to=dtype), slopes)
    return tape.expand(slopes, (1, h, 1, t))
