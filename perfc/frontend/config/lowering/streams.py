"""Lower what Gemma 3n adds to layers: several residual streams, and a row of a token per layer."""

from __future__ import annotations

from collections.abc import Callable

from perfc.ir import Value
from perfc.ir.ops import MatMul, Mul, ReduceMean, Split, Sub, Tanh

from ..model import Norm, NormKind, PerLayerEmbedding, PerLayerInput, ResidualStreams, Stack
from ..precision import WeightFormat
from .builder import ADD, GATHER, JOIN, LINEAR, Builder
from .mlp import activated
from .step import Running

MATMUL, MUL, SUB, TANH = MatMul(), Mul(), Sub(), Tanh()


def spread(b: Builder, x: Value, stack: Stack) -> Value:
    """Return the streams concatenated, [tokens, count*hidden]: ``x``, then a projection per stream.

    Source: transformers, ``Gemma3nTextModel.forward``.
    """
    if stack.streams is None:
        return x
    others = stack.streams.count - 1
    projected = b.product(x, (stack.hidden, others * stack.hidden), f"{stack.name}.streams")
    return b.node(JOIN, (x, projected), f"{stack.name}.spread")


def gathered(b: Builder, x: Value, stack: Stack) -> Value:
    """Return the mean of the streams [tokens, hidden], all but the first after a projection."""
    if stack.streams is None:
        return x
    name, count, hidden = stack.name, stack.streams.count, stack.hidden
    parts = b.cut(x, (hidden,) * count, f"{name}.streams")
    projected = [
        b.product(part, (hidden, hidden), f"{name}.stream.{i}") for i, part in enumerate(parts[1:])
    ]
    joined = b.node(JOIN, (parts[0], *projected), f"{name}.streams.joined")
    by_stream = b.shaped(joined, (-1, count, hidden), f"{name}.streams.split_up")
    return b.node(ReduceMean(keepdims=0), (by_stream, b.numbers((1,))), f"{name}.streams.mean")


def mixed_streams(
    b: Builder,
    x: Value,
    s: ResidualStreams,
    name: str,
    hidden: int,
    compute: Callable[[Value], Value],
) -> Value:
    """Return the streams after a layer, which predicts each, computes on one and corrects all.

    Source: arXiv:2301.13310 algorithm 1; transformers, ``Gemma3nTextAltUp``.
    """
    count = s.count
    scale = b.weight(f"{name}.norm.weight", (hidden,))
    # both coefficient products share this router and its norm
    router = b.weight(f"{name}.router.weight", (count, hidden))

    def routed(y: Value, part: str) -> Value:
        """Return the input of a product of coefficients: tanh of the routed norm of a stream."""
        rows = b.rms(y, scale, (hidden,), f"{part}.norm")
        return b.node(TANH, (b.node(LINEAR, (rows, router), f"{part}.router"),), f"{part}.tanh")

    def first(y: Value, part: str) -> Value:
        """Return the stream that the layer computes on."""
        stream, _ = b.several(Split(axis=1), (y, b.numbers((1, count - 1))), part, ("one", "rest"))
        return b.shaped(stream, (-1, hidden), f"{part}.flat")

    split_up = b.shaped(x, (-1, count, hidden), f"{name}.split")
    weights = b.product(
        routed(first(split_up, f"{name}.active"), f"{name}.predict"),
        (count, count * count),
        f"{name}.prediction",
        weights=WeightFormat.HALF,
    )
    # prediction: each stream is changed by a mix of all, whose coefficients depend on the token
    square = b.shaped(weights, (-1, count, count), f"{name}.square")
    change = b.node(MATMUL, (square, split_up), f"{name}.change")
    predicted = b.node(ADD, (change, split_up), f"{name}.predicted")
    active = first(predicted, f"{name}.prediction")
    computed = compute(active)
    shares = b.product(
        routed(computed, f"{name}.correct"),
        (count, count),
        f"{name}.correction",
        weights=WeightFormat.HALF,
    )
    new = b.node(MUL, (computed, b.weight(f"{name}.scale", (hidden,))), f"{name}.scaled")
    # correction: the difference between result and prediction, a share of it for each stream
    innovation = b.node(SUB, (new, active), f"{name}.innovation")
    single = b.shaped(innovation, (-1, 1, hidden), f"{name}.one")
    by_stream = b.shaped(shares, (-1, count, 1), f"{name}.shares")
    corrections = b.node(MUL, (by_stream, single), f"{name}.each")
    corrected = b.node(ADD, (predicted, corrections), f"{name}.corrected")
    return b.shaped(corrected, (-1, count * hidden), f"{name}.streams")


def per_layer_rows(
    b: Builder, x: Value, ids: Value, p: PerLayerEmbedding, stack: Stack, vocab: int
) -> list[Value]:
    """Return the rows of each layer [tokens, width].

    Args:
        b: builder that collects the nodes.
        x: embedded tokens [tokens, hidden].
        ids: token numbers.
        p: table of the rows.
        stack: stack whose layers read the rows.
        vocab: rows of the table on this rank.
    """
    name, count = f"{stack.name}.per_layer", len(stack.layers)
    total_width = count * p.width
    table = b.weight(f"{name}.weight", (vocab, total_width))
    rows = b.all_reduce(b.node(GATHER, (table, ids), f"{name}.rows"), f"{name}.sum")
    projected = b.product(
        x, (stack.hidden, total_width), f"{name}.projection", weights=WeightFormat.HALF
    )
    by_layer = b.shaped(projected, (-1, count, p.width), f"{name}.split")
    by_layer = b.norm(by_layer, Norm(NormKind.RMS, p.width), f"{name}.norm")
    # the stored row plus the projected embedding, of which each layer reads some columns
    joined = b.shaped(by_layer, (-1, total_width), f"{name}.joined")
    sums = b.node(ADD, (joined, rows), f"{name}.both")
    return b.cut(sums, (p.width,) * count, f"{name}.layers")


def per_layer_input(
    b: Builder, x: Value, m: PerLayerInput, run: Running, name: str, hidden: int
) -> Value:
    """Return ``x`` projected to the width of the layer's row, times the row, projected back."""
    if run.rows:
        row = run.rows[run.layer]
    else:
        # a single layer was lowered (`parts`): its row is an input
        row = b.input(f"{name}.row", b.half, (run.tokens.rows, m.width))
    narrow = b.product(x, (hidden, m.width), f"{name}.gate")
    active = activated(b, narrow, m.activation, f"{name}.activation")
    return b.product(b.node(MUL, (active, row), f"{name}.gated"), (m.width, hidden), f"{name}.up")
