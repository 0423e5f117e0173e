"""Lower one stack: its embedding, its layers, and its heads."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from perfc.ir import Dim, DType, TensorType, Value
from perfc.ir.ops import Concat, Conv, Expand, GatherBlockQuantized, Gelu, Mul, Transpose

from ..model import (
    Attention,
    DeltaNet,
    Experts,
    LanguageModel,
    LatentAttention,
    Layer,
    Mamba,
    Mamba2,
    Mixer,
    Mlp,
    OutputHead,
    PatchEmbedding,
    PerLayerInput,
    ShortConvolution,
    SoundEmbedding,
    Stack,
    TokenEmbedding,
    mixers,
)
from ..precision import WeightFormat
from .attention import attention
from .builder import ADD, GATHER, LINEAR, Builder
from .latent import latent_attention
from .mlp import activated, experts, mlp
from .quantised import block_product
from .state_space import delta_net, mamba, mamba2, short_convolution
from .step import Running, Tokens
from .streams import mixed_streams, per_layer_input, per_layer_rows, spread
from .written_out import capped

MUL, TURN = Mul(), Transpose(perm=(0, 2, 1))
STATES = (Mamba, Mamba2, DeltaNet, ShortConvolution)
"""Mixers with a state of fixed size in place of a cache of keys and values."""


def tokens_of(stack: Stack, sequences: Dim, length: Dim) -> Tokens:
    """Return the tokens that a stack reads; an image or a sound has a fixed number of them."""
    e = stack.embedding
    return Tokens(sequences, length if isinstance(e, TokenEmbedding) else e.tokens)


def running(
    b: Builder, tokens: Tokens, model: LanguageModel, stack: Stack, *, is_cached: bool
) -> Running:
    """Return the inputs that the layers of a stack share."""
    run = Running(tokens, max_positions=model.max_positions, is_cached=is_cached)
    if isinstance(stack.embedding, TokenEmbedding):
        run.positions = b.input(f"{stack.name}.positions", DType.I64, (tokens.rows,))
    if tokens.has_prompts:
        run.lengths = b.input(f"{stack.name}.lengths", DType.I32, (tokens.prompts,))
    # as a set, since most layers are equal
    if any(isinstance(m, STATES) for layer in set(stack.layers) for m in mixers(layer)):
        run.ends = b.input(f"{stack.name}.ends", DType.I32, (tokens.sequences,))
    return run


def embedded(
    b: Builder, stack: Stack, run: Running, shared: Value | None = None
) -> tuple[Value, Value | None]:
    """Return the tokens of a stack [tokens, hidden], and a table of tokens that a head may share.

    Args:
        b: builder that collects the nodes.
        stack: stack whose embedding is lowered.
        run: tokens of the pass and their positions.
        shared: table of the encoder, if the decoder reads the same table; None otherwise.
    """
    match stack.embedding:
        case TokenEmbedding() as tokens:
            x, table = token_embedding(b, tokens, stack, run, shared)
            return spread(b, x, stack), table
        case PatchEmbedding() as patches:
            return patch_embedding(b, patches, stack, run), None
        case SoundEmbedding() as sound:
            return sound_embedding(b, sound, stack, run), None


def token_embedding(
    b: Builder, e: TokenEmbedding, stack: Stack, run: Running, shared: Value | None
) -> tuple[Value, Value]:
    """Return the sum of the rows of the tables for each token, and the table of the tokens."""
    name, rows = stack.name, run.tokens.rows
    ids = b.input(f"{name}.tokens", DType.I64, (rows,))
    vocab = b.share(padded(e.vocab, b), "rows of the vocabulary")
    table = shared or table_of(b, f"{name}.embedding", (vocab, e.width))
    x = looked_up(b, table, ids, e.width, f"{name}.embedding")
    # each rank has some rows of the table, and gives zeros for other tokens: the sum is the row
    x = b.all_reduce(x, f"{name}.embedding.sum")
    width = e.width
    if e.is_projected_first:
        x, width = projected(b, x, e, stack), stack.hidden
    if e.positions:
        places = b.weight(f"{name}.positions.weight", (e.positions, width))
        place = b.node(GATHER, (places, run.positions), f"{name}.embedding.position")
        x = b.node(ADD, (x, place), f"{name}.embedding.positioned")
    if e.types:
        type_ids = b.input(f"{name}.token_types", DType.I64, (rows,))
        types = b.weight(f"{name}.types.weight", (e.types, width))
        of_type = b.node(GATHER, (types, type_ids), f"{name}.embedding.type")
        x = b.node(ADD, (x, of_type), f"{name}.embedding.typed")
    x = b.norm(x, e.norm, f"{name}.embedding.norm")
    # before the projection, as the rows of each layer are computed from the embedding itself
    if stack.per_layer is not None:
        rows_here = b.share(padded(stack.per_layer.vocab, b), "rows of the vocabulary")
        run.rows = per_layer_rows(b, x, ids, stack.per_layer, stack, rows_here)
    return (x if e.is_projected_first else projected(b, x, e, stack)), table


def table_of(b: Builder, name: str, shape: tuple[int, int]) -> Value:
    """Return a table of tokens; its rows are bytes of blocks if the model's file stores blocks."""
    of_file = b.stored(f"{name}.weight")
    if of_file is None or of_file.dtype is not None:
        return b.weight(f"{name}.weight", shape)
    rows, width = shape
    return b.weight(f"{name}.weight", (rows, -(-of_file.part(rows * width) // rows)), DType.U8)


def looked_up(b: Builder, table: Value, ids: Value, width: int, name: str) -> Value:
    """Return rows of a table of tokens."""
    # bytes are blocks of a file, which the operator widens as it reads
    if not isinstance(table.type, TensorType) or table.type.dtype is not DType.U8:
        return b.node(GATHER, (table, ids), name)
    # the blocks hold their scales: the operand of scales is a single number
    op = GatherBlockQuantized(columns=width)
    return b.node(op, (table, ids, b.buffer("scale.half", (1,), b.half)), name)


def projected(b: Builder, x: Value, e: TokenEmbedding, stack: Stack) -> Value:
    """Return the rows of a narrower table as wide as the model."""
    if e.width == stack.hidden:
        return x
    return b.product(
        x,
        (e.width, stack.hidden),
        f"{stack.name}.embedding.projection",
        is_biased=e.is_projection_biased,
        weights=WeightFormat.HALF,
    )


def patch_embedding(b: Builder, e: PatchEmbedding, stack: Stack, run: Running) -> Value:
    """Return the patches of images projected to tokens, behind learned tokens."""
    # a convolution whose stride is its kernel multiplies each patch by one matrix
    name, batch, hidden = stack.name, run.tokens.prompts, stack.hidden
    image = b.input(f"{name}.image", b.half, (batch, e.channels, e.image, e.image))
    weight = b.weight(f"{name}.patches.weight", (hidden, e.channels, e.patch, e.patch))
    bias = b.weight(f"{name}.patches.bias", (hidden,)) if e.is_biased else None
    conv = Conv(kernel_shape=(e.patch, e.patch), strides=(e.patch, e.patch))
    maps = b.node(conv, (image, weight, bias) if bias else (image, weight), f"{name}.patches")
    flat = b.shaped(maps, (batch, hidden, -1), f"{name}.patches.flat")
    x = b.node(TURN, (flat,), f"{name}.patches.tokens")
    if e.extra:
        learned = b.weight(f"{name}.class", (1, e.extra, hidden))
        classes = b.node(
            Expand(), (learned, b.numbers((batch, e.extra, hidden))), f"{name}.classes"
        )
        x = b.node(Concat(axis=1), (classes, x), f"{name}.tokens")
    if e.has_positions:
        places = b.weight(f"{name}.positions.weight", (1, e.tokens, hidden))
        x = b.node(ADD, (x, places), f"{name}.positioned")
    rows = b.shaped(x, (-1, hidden), f"{name}.rows")
    return b.norm(rows, e.norm, f"{name}.embedding.norm")


def sound_embedding(b: Builder, e: SoundEmbedding, stack: Stack, run: Running) -> Value:
    """Return a spectrogram after two convolutions, the second of which halves its length."""
    name, batch, hidden = stack.name, run.tokens.prompts, stack.hidden
    x = b.input(f"{name}.spectrogram", b.half, (batch, e.bins, 2 * e.tokens))
    for number, (channels, stride) in enumerate(((e.bins, 1), (hidden, 2))):
        weight = b.weight(f"{name}.conv.{number}.weight", (hidden, channels, 3))
        bias = b.weight(f"{name}.conv.{number}.bias", (hidden,))
        conv = Conv(kernel_shape=(3,), strides=(stride,), pads=(1, 1))
        x = b.node(conv, (x, weight, bias), f"{name}.conv.{number}")
        x = b.node(Gelu(), (x,), f"{name}.conv.{number}.gelu")
    x = b.node(TURN, (x,), f"{name}.frames")
    places = b.weight(f"{name}.positions.weight", (1, e.tokens, hidden))
    x = b.node(ADD, (x, places), f"{name}.positioned")
    return b.shaped(x, (-1, hidden), f"{name}.rows")


def padded(vocab: int, b: Builder) -> int:
    """Return the vocabulary rounded up to a multiple of the ranks, which share it by rows."""
    tensor = b.parallel.tensor
    return -(-vocab // tensor) * tensor


def layers(
    b: Builder, x: Value, stack: Stack, run: Running, numbered: Sequence[tuple[int, Layer]]
) -> Value:
    """Return ``x`` after some layers of a stack."""
    # layers are numbered in the whole model: a stage of a pipeline does not start at layer 0
    for number, layer in numbered:
        run.layer = number
        name = f"{stack.name}.{number}"
        if stack.streams is None:
            x = one_layer(b, x, layer, run, name, stack.hidden)
        else:
            compute = partial(one_layer, b, layer=layer, run=run, name=name, hidden=stack.hidden)
            x = mixed_streams(b, x, stack.streams, f"{name}.streams", stack.hidden, compute)
    return x


def one_layer(b: Builder, x: Value, layer: Layer, run: Running, name: str, hidden: int) -> Value:
    """Return ``x`` [tokens, hidden] after the residuals of a layer."""
    for number, residual in enumerate(layer):
        prefix = f"{name}.{number}"
        normed = b.norm(x, residual.before, f"{prefix}.norm")
        total: Value | None = None
        for i, branch in enumerate(residual.branches):
            inner = f"{prefix}.{i}" if len(residual.branches) > 1 else prefix
            # with a norm of their sum, branches are summed first; else each is added to ``x``
            y = b.norm(normed, branch.before, f"{inner}.norm")
            y = mixer(b, y, branch.mixer, run, inner, hidden)
            y = b.norm(y, branch.after, f"{inner}.after")
            if residual.after is None:
                x = b.node(ADD, (x, y), f"{inner}.residual")
            else:
                total = y if total is None else b.node(ADD, (total, y), f"{inner}.sum")
        if total is not None:
            total = b.norm(total, residual.after, f"{prefix}.after_sum")
            x = b.node(ADD, (x, total), f"{prefix}.residual")
        x = b.norm(x, residual.last, f"{prefix}.last")
    return x


def mixer(b: Builder, x: Value, m: Mixer, run: Running, name: str, hidden: int) -> Value:
    """Return ``x`` after the mixer of a branch."""
    match m:
        case Attention():
            return attention(b, x, m, run, f"{name}.attention", hidden)
        case LatentAttention():
            return latent_attention(b, x, m, run, f"{name}.attention", hidden)
        case Mlp():
            return mlp(b, x, m, f"{name}.mlp", hidden)
        case Experts():
            return experts(b, x, m, f"{name}.moe", hidden)
        case Mamba():
            return mamba(b, x, m, run, f"{name}.mamba", hidden)
        case Mamba2():
            return mamba2(b, x, m, run, f"{name}.mamba", hidden)
        case DeltaNet():
            return delta_net(b, x, m, run, f"{name}.delta", hidden)
        case ShortConvolution():
            return short_convolution(b, x, m, run, f"{name}.conv", hidden)
        case PerLayerInput():
            return per_layer_input(b, x, m, run, f"{name}.input", hidden)


def of_first_tokens(b: Builder, x: Value, h: OutputHead, stack: Stack, run: Running) -> Value:
    """Return the rows of ``x`` that a head reads: rows of first tokens, or all rows."""
    if not h.is_first_token:
        return x
    first = b.input(f"{stack.name}.first_tokens", DType.I64, (run.tokens.prompts,))
    return b.node(GATHER, (x, first), f"{stack.name}.first")


def head(
    b: Builder, x: Value, h: OutputHead, stack: Stack, table: Value | None, name: str
) -> Value:
    """Return the scores of a head, [rows, columns of this rank]; of a pooler its hidden rows."""
    width = stack.hidden
    x = b.norm(x, h.before, f"{name}.before")
    if h.inner:
        x = b.product(
            x,
            (width, h.inner),
            f"{name}.dense",
            is_biased=h.is_inner_biased,
            weights=WeightFormat.HALF,
        )
        if h.activation is not None:
            x = activated(b, x, h.activation, f"{name}.activation")
        x, width = b.norm(x, h.norm, f"{name}.norm"), h.inner
    if not h.width:  # width 0 is a pooler: it ends with the inner projection
        return x
    scores = _scores(b, x, h, table, name, width)
    # engines cap scores where they sample, so only modules have operators for it
    return capped(b, scores, f"{name}.capped") if h.is_capped and b.writes_out else scores


def _scores(
    b: Builder, x: Value, h: OutputHead, table: Value | None, name: str, width: int
) -> Value:
    """Return the scores of a head, by the table of the embedding if it is tied."""
    columns = b.share(padded(h.width, b), "columns of the head")
    if h.is_tied and table is not None:
        bias = b.weight(f"{name}.bias", (columns,)) if h.is_biased else None
        of_file = b.stored(table.name)
        if of_file is not None and of_file.dtype is None:
            return block_product(b, x, (width, columns), name, bias, of_file, table)
        return b.node(LINEAR, (x, table, bias) if bias else (x, table), name)
    return b.product(x, (width, columns), name, is_biased=h.is_biased, weights=WeightFormat.HALF)
