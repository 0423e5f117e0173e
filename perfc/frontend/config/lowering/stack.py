"""One stack: its embedding, its layers, and what is computed of their result."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.ir.graph import Value
from perfc.ir.ops.activation import Tanh
from perfc.ir.types import DType

from ..model import (
    Activation,
    Attention,
    Experts,
    Head,
    Layer,
    Mixer,
    Mlp,
    Stack,
    TokenEmbedding,
)
from ..precision import WeightFormat
from .attention import attention
from .builder import ADD, GATHER, LINEAR, Builder
from .mlp import activated, mlp
from .step import Running

TANH = Tanh()


def token_embedding(b: Builder, stack: Stack, run: Running) -> tuple[Value, Value]:
    """Rows of the tables, [tokens, hidden], and the table of tokens, which a head may share."""
    e = stack.embedding
    assert isinstance(e, TokenEmbedding)
    name = stack.name
    tokens = run.tokens
    ids = b.input(f"{name}.tokens", DType.I64, (tokens.rows,))
    vocab = b.share(padded(e.vocab, b), "rows of the vocabulary")
    table = b.weight(f"{name}.embedding.weight", (vocab, e.width))
    x = b.node(GATHER, (table, ids), f"{name}.embedding")
    x = b.all_reduce(x, f"{name}.embedding.sum")
    if e.positions:
        rows = b.weight(f"{name}.positions.weight", (e.positions, stack.hidden))
        at = b.node(GATHER, (rows, run.positions), f"{name}.positions")
        x = b.node(ADD, (x, at), f"{name}.embedding.positioned")
    if e.types:
        kinds = b.input(f"{name}.token_types", DType.I64, (tokens.rows,))
        rows = b.weight(f"{name}.types.weight", (e.types, stack.hidden))
        x = b.node(
            ADD, (x, b.node(GATHER, (rows, kinds), f"{name}.types")), f"{name}.embedding.typed"
        )
    return b.norm(x, e.norm, f"{name}.embedding.norm"), table


def padded(vocab: int, b: Builder) -> int:
    """Rows of the table of tokens, so many that they divide among the ranks."""
    tensor = b.parallel.tensor
    return -(-vocab // tensor) * tensor


def layers(
    b: Builder, x: Value, stack: Stack, run: Running, numbered: Sequence[tuple[int, Layer]]
) -> Value:
    """``x`` after some layers of a stack."""
    for number, layer in numbered:
        for at, residual in enumerate(layer):
            name = f"{stack.name}.{number}.{at}"
            normed = b.norm(x, residual.before, f"{name}.norm")
            for i, branch in enumerate(residual.branches):
                inner = f"{name}.{i}" if len(residual.branches) > 1 else name
                y = b.norm(normed, branch.before, f"{inner}.norm")
                y = mixer(b, y, branch.mixer, run, inner, stack.hidden)
                y = b.norm(y, branch.after, f"{inner}.after")
                x = b.node(ADD, (x, y), f"{inner}.residual")
            x = b.norm(x, residual.last, f"{name}.last")
    return x


def mixer(b: Builder, x: Value, m: Mixer, run: Running, name: str, hidden: int) -> Value:
    """``x`` after what a branch computes."""
    match m:
        case Attention():
            return attention(b, x, m, run, f"{name}.attention", hidden)
        case Mlp():
            return mlp(b, x, m, f"{name}.mlp", hidden)
        case _:
            b.refuse(f"no lowering of {type(m).__name__}")


def head(b: Builder, x: Value, h: Head, stack: Stack, table: Value | None, name: str) -> Value:
    """The product behind the last layer, [rows, width of this rank]."""
    width = stack.hidden
    if h.inner:
        x = b.product(
            x, (width, h.inner), f"{name}.dense", is_biased=h.is_inner_biased,
            weights=WeightFormat.HALF,
        )  # fmt: skip
        if h.activation is not None:
            x = activated(b, x, h.activation, f"{name}.activation")
        x, width = b.norm(x, h.norm, f"{name}.norm"), h.inner
    if not h.width:
        return x
    columns = b.share(padded(h.width, b), "columns of the head")
    if h.is_tied and table is not None:
        bias = b.weight(f"{name}.bias", (columns,)) if h.is_biased else None
        return b.node(LINEAR, (x, table, bias) if bias else (x, table), name)
    return b.product(
        x, (width, columns), name, is_biased=h.is_biased, weights=WeightFormat.HALF
    )
