"""Attention and recurrent layers of ATen.

Each function lowers calls of the operators that its decorator names: ``c`` is the call, the result
the names of the values that it becomes.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from ..lowering.builder import Size
from .call import AtenCall, lowers
from .reductions import safe_softmax
from .sizes import scaled

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
"""Gates of a cell, whose weights have the rows of all gates one after the other."""


@lowers(
    "scaled_dot_product_attention",
    "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_efficient_attention",
    "_scaled_dot_product_cudnn_attention",
    "_scaled_dot_product_flash_attention_for_cpu",
    "_scaled_dot_product_attention_math",
    "_scaled_dot_product_fused_attention_overrideable",
)
def _attention(c: AtenCall) -> list[str]:
    mask = "attn_mask" if "attn_mask" in c.args else "attn_bias"
    scale = c.value("scale")
    metas = [c.meta(name) for name in ("query", "key", "value")]
    # the operator of ONNX has a batch and heads, no further axes
    if metas[0].rank > 4:
        # further results, as sums of exponentials, are read by backward passes only
        return [written_out(c, mask)] * len(c.outputs)
    operands = [
        folded(c, c.tensor(name), m.sizes)
        for name, m in zip(("query", "key", "value"), metas, strict=True)
    ]
    result = c.emit(
        "Attention",
        *operands,
        c.tensor(mask),
        is_causal=c.flag("is_causal"),
        scale=None if scale is None else float(scale),
    )
    sizes = c.result.sizes
    # remove the axes of batch or heads that `folded` added
    if len(sizes) != 4:
        result = c.reshaped(result, (None, None, *sizes[-2:]), sizes)
    return [result] * len(c.outputs)


def folded(c: AtenCall, value: str, sizes: Sequence[Size]) -> str:
    """Return an operand of attention with axes of batch and heads before its rows."""
    # of rank 3 the first axis is the batch
    axes = range(1, 2) if len(sizes) == 3 else (0, 1)
    return value if len(sizes) == 4 else c.emit("Unsqueeze", value, c.ints(*axes))


def written_out(c: AtenCall, mask: str) -> str:
    """Return attention with more than two leading axes as products and a safe softmax.

    Source: PyTorch, aten/src/ATen/native/transformers: fused kernels take tensors of rank 4.
    """
    rank, depth = c.meta("query").rank, c.meta("query").sizes[-1]
    scale = c.value("scale") or (depth**-0.5 if isinstance(depth, int) else 1.0)
    # as `_scaled_dot_product_attention_math`: both operands are scaled, against overflow
    root = c.scalar(math.sqrt(scale), c.result.dtype)
    order = (*range(rank - 2), rank - 1, rank - 2)
    keys = c.emit("Mul", c.emit("Transpose", c.tensor("key"), perm=order), root)
    scores = c.emit("MatMul", c.emit("Mul", c.tensor("query"), root), keys)
    scores = c.emit("Add", scores, c.tensor(mask)) if c.has(mask) else scores
    return c.emit("MatMul", safe_softmax(c, scores, -1), c.tensor("value"))


@lowers("lstm", "gru", "rnn_tanh", "rnn_relu")
def _recurrent(c: AtenCall) -> list[str]:
    name = next(n for n in GATES if c.operator.startswith(n))
    layers = c.integer("num_layers", 1)
    directions = 2 if c.value("bidirectional") else 1
    batch_first = c.flag("batch_first")
    weights, initial_states = c.raws("params"), c.raws("hx") or [c.raw("hx")]
    # weights by layer and then by direction, two to five for each cell: see `one_layer`
    per_cell = len(weights) // (layers * directions)
    value = c.tensor("input")
    hidden = c.scope.meta(weights[1]).sizes[-1]
    *lead, _ = c.meta("input").sizes
    # layers of ONNX take steps before the batch
    if batch_first:
        value, lead = c.emit("Transpose", value, perm=(1, 0, 2)), lead[::-1]
    states: list[list[str]] = []
    for layer in range(layers):
        first = layer * directions * per_cell
        cells = [
            weights[first + d * per_cell : first + (d + 1) * per_cell] for d in range(directions)
        ]
        initial = [layer_state(c, raw, layer, directions, layers) for raw in initial_states]
        results = one_layer(c, name, value, cells, initial)
        states.append(results[1:])
        # ONNX has [steps, directions, batch, hidden]; PyTorch joins the directions of a step
        value = c.emit("Transpose", results[0], perm=(0, 2, 1, 3))
        value = c.reshaped(value, (*lead, directions, hidden), (*lead, scaled(directions, hidden)))
    if batch_first:
        value = c.emit("Transpose", value, perm=(1, 0, 2))
    last = [
        parts[0] if layers == 1 else c.emit("Concat", *parts, axis=0)
        for parts in zip(*states, strict=True)
    ]
    return [value, *last]


@lowers("lstm_cell", "gru_cell", "rnn_tanh_cell", "rnn_relu_cell")
def _cell(c: AtenCall) -> list[str]:
    """Return the states after one step: a layer of one step, whose result is the state."""
    cell = [raw for name in ("w_ih", "w_hh", "b_ih", "b_hh") if (raw := c.raw(name))]
    raws = [c.raw("input"), *(c.raws("hx") or [c.raw("hx")])]
    value, *initial = [c.emit("Unsqueeze", c.read(raw), c.ints(0)) for raw in raws]
    results = one_layer(c, c.operator.removesuffix("_cell"), value, [cell], initial)
    return [c.emit("Squeeze", state, c.ints(0)) for state in results[1:]]


def layer_state(c: AtenCall, raw: str, layer: int, directions: int, layers: int) -> str:
    """Return the initial states of one layer, one for each direction, of those of all layers."""
    state = c.read(raw)
    if layers == 1:
        return state
    ends = (layer * directions, (layer + 1) * directions)
    return c.emit("Slice", state, *(c.ints(e) for e in ends), c.ints(0))


def one_layer(
    c: AtenCall, name: str, value: str, cells: Sequence[Sequence[str]], initial: Sequence[str]
) -> list[str]:
    """Return the result, the last hidden state and, of an LSTM, the last cell state of one layer.

    Args:
        c: the call.
        name: type of the cell, a key of `GATES`.
        value: input of the layer, steps first.
        cells: names of the weights of each direction.
        initial: initial states.
    """

    def joined(rows: Sequence[str]) -> str:
        parts = [c.emit("Unsqueeze", row, c.ints(0)) for row in rows]
        return parts[0] if len(parts) == 1 else c.emit("Concat", *parts, axis=0)

    weights = [[*map(c.read, cell)] for cell in cells]
    parts = [joined([cell[at] for cell in weights]) for at in range(2)]
    # weights of a cell: input, hidden, two biases if any, and the projection of an LSTM if any, so
    # that an odd number shows a projection
    has_biases, is_projected = len(weights[0]) > 3, len(weights[0]) % 2 == 1
    biases = [c.emit("Concat", *cell[2:4], axis=0) for cell in weights] if has_biases else []
    # after the peepholes of ONNX, which PyTorch has none of
    projection = ["", joined([cell[-1] for cell in weights])] if is_projected else []
    gates = c.scope.meta(cells[0][0]).sizes[0]
    if not isinstance(gates, int):
        raise ValueError("a symbolic hidden size")
    operator = "RNN" if name.startswith("rnn") else name.upper()
    return c.several(
        operator,
        (value, *parts, joined(biases) if biases else "", "", *initial, *projection),
        3 if name == "lstm" else 2,
        # ONNX has no projection: the operator is one of perfc for PyTorch
        "aten" if projection else "",
        hidden_size=gates // GATES[name],
        direction="bidirectional" if len(cells) == 2 else "forward",
        linear_before_reset=1 if name == "gru" else None,
        activations=("Relu",) * len(cells) if name == "rnn_relu" else None,
    )
