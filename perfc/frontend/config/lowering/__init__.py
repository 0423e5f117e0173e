"""Lower a `LanguageModel` to the performance IR: one module per pass of the serving engine.

`lower` builds a decoder alone, encoders, or an encoder with its decoder; files next to this one
have the parts: `stack` embeddings and heads, `attention`, `mlp` and others the mixers.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from perfc.ir import DType, Module, SymbolDecl, Value
from perfc.ir.ops import FUSED_ROWS, Gemm, LogSoftmax, LpNormalization, Mul, SendReceive
from perfc.machine.parallel import ALONE, Parallel

from ..keys import LARGEST
from ..model import LanguageModel, OutputHead, Stack, TokenEmbedding
from ..precision import ServingPrecision, precision_of
from .builder import GATHER, Builder
from .module_code import ModuleCode
from .modules import widened
from .sampling import sampled
from .stack import embedded, head, layers, of_first_tokens, padded, running, tokens_of
from .step import (
    BATCH,
    CONTEXT,
    DECLARED,
    DECODES,
    PAST,
    SEQ,
    SOURCE,
    TARGET,
    ForwardStep,
    Running,
    Tokens,
    extent,
)
from .streams import gathered

WHOLE = (ForwardStep.PREFILL, ForwardStep.TRAINING)
"""Steps in which encoders run."""
WIDE = ("float32", "f32", "fp32", "float")
"""Names of 32-bit floats in configurations."""
LONG = 2048
"""Default tokens of a sequence; a model with fewer positions has these."""
MUL = Mul()


def lower(
    model: LanguageModel,
    step: ForwardStep = ForwardStep.PREFILL,
    precision: ServingPrecision | None = None,
    parallel: Parallel = ALONE,
    *,
    new_tokens: int = 0,
    stage: int = 0,
    code: ModuleCode | None = None,
    writes_out: bool = True,
) -> Module:
    """Return one pass of a model as the share of one machine, in the symbols of the step.

    Args:
        model: description of the model, as `read_config` returns it.
        step: prefill, decode, a mix of both or training; `ForwardStep` has the symbols of each.
        precision: element types; by default those in which the model is published.
        parallel: degrees of parallelism that divide the model among machines.
        new_tokens: new tokens of a decoded sequence; by default one, and those that the model
            drafts.
        stage: number of the pipeline stage whose share is returned, from 0.
        code: code of the modules of transformers whose operators run; None for the kernels of
            serving engines.
        writes_out: whether a training step runs the operators of modules, not fused kernels.

    Raises:
        ModelError: the model has no such step, or does not divide so.
        ParseError: degrees that do not go together.
    """
    if precision is None:
        precision = published(model)
        if step is ForwardStep.TRAINING:
            precision = trained(model, precision)
    is_written = code is not None or (step is ForwardStep.TRAINING and writes_out)
    family = model.family if is_written else ""
    b = Builder(model.name, precision, parallel.checked(), family, code)
    # grouped products of trainers store fewer rows of experts for the backward pass
    if step is ForwardStep.TRAINING and not is_written:
        b.keeps_rows = FUSED_ROWS
    if model.decoder is None or len(model.stacks) > 1:
        if parallel.pipeline > 1:
            b.refuse("only a decoder alone is divided into stages")
        if model.decoder is not None:
            return _pair(b, model, model.decoder, step)
        return _encoders(b, model, step)
    return _decoder(b, model, model.decoder, step, new_tokens or 1 + model.drafted, stage)


def lower_images(
    model: LanguageModel, precision: ServingPrecision | None = None, parallel: Parallel = ALONE
) -> Module:
    """Return the pass of a tower over ``batch`` images, as the share of one machine.

    Engines keep the weights of towers in 16 bits, and pass images through the first stage.

    Raises:
        ModelError: the model reads no images, or does not divide so.
    """
    from .tower import lower_tower

    halves = (precision or published(model)).in_halves
    # the tower is divided by tensors only: it is not part of the pipeline or the experts
    tensor_only = replace(parallel.checked(), pipeline=1, attention_data=1, expert=1)
    return lower_tower(Builder(model.name, halves, tensor_only), model)


def published(model: LanguageModel) -> ServingPrecision:
    """Return the element types that a configuration states."""
    return precision_of(model.dtype, model.quantization)


def trained(model: LanguageModel, precision: ServingPrecision) -> ServingPrecision:
    """Return the types of training: f32 for weights that are published in f32.

    Trainers keep this type, whereas engines compute in 16 bits.
    """
    is_wide = model.dtype.lower() in WIDE
    return replace(precision, half=DType.F32) if is_wide else precision


def _decoder(
    b: Builder, model: LanguageModel, stack: Stack, step: ForwardStep, new_tokens: int, stage: int
) -> Module:
    """Return a decoder alone, or one stage of its pipeline."""
    # servers evaluate steps beyond the model's positions, and report it; only prefill refuses more
    # tokens than positions
    max_positions = model.context if step is ForwardStep.PREFILL else 0
    tokens, names = _tokens(step, new_tokens, max_positions)
    run = running(b, tokens, model, stack, is_cached=step is not ForwardStep.TRAINING)
    b.expert_skew = model.expert_skew
    stages = b.parallel.pipeline
    # a model without layers has one stage; of several stages, each needs a layer
    if not 0 <= stage < stages or 1 < stages > len(stack.layers):
        b.refuse(f"no stage {stage} of {stages} over {len(stack.layers)} layers")
    if model.adapters is not None:
        b.adapters = model.adapters
        b.adapter_of = b.input("adapters", DType.I64, (tokens.rows,))
    table: Value | None = None
    if stage == 0:
        x, table = embedded(b, stack, run)
    else:
        # a later stage receives the hidden state of the one before
        before = b.input("hidden", b.half, (tokens.rows, stack.width))
        # a message between two ranks, which are on two nodes if there are several
        x = b.node(SendReceive(2, min(2, b.parallel.nodes)), (before,), "received")
    x = layers(b, x, stack, run, b.parallel.of_stage(tuple(enumerate(stack.layers)), stage))
    if stage < stages - 1:
        return b.module([x], _declared(model, names, max_positions))
    outputs = _heads(b, x, stack, run, table)
    if step is ForwardStep.TRAINING and not b.writes_out:
        # kernels of trainers compute the loss of logits in their type, without a cast to f32
        outputs = _logarithms(b, outputs, stack)
    # what else a model's file has is in memory as well
    b.rest()
    if model.sampling is not None and len(stack.heads) == 1:
        rows = tokens.prompts + tokens.decodes * tokens.new_tokens
        vocab = padded(stack.heads[0].width, b)
        outputs = [sampled(b, outputs[0], model.sampling, rows, vocab)]
    return b.module(outputs, _declared(model, names, max_positions))


def _heads(b: Builder, x: Value, stack: Stack, run: Running, table: Value | None) -> list[Value]:
    """Return the results of the heads: of the last token of each prompt in serving, else of all."""
    x = gathered(b, x, stack)
    x = b.norm(x, stack.norm, f"{stack.name}.norm")
    if not stack.heads:
        return [x]
    tokens = run.tokens
    if stack.is_decoder and tokens.has_prompts and run.is_cached:
        rows = tokens.prompts + tokens.decodes * tokens.new_tokens
        last = b.input(f"{stack.name}.last_tokens", DType.I64, (rows,))
        x = b.node(GATHER, (x, last), f"{stack.name}.last")
    outputs: list[Value] = []
    for i, h in enumerate(stack.heads):
        rows_of = of_first_tokens(b, x, h, stack, run)
        name = f"{stack.name}.head" if len(stack.heads) == 1 else f"{stack.name}.head.{i}"
        outputs.append(widened(b, head(b, rows_of, h, stack, table, name), name))
    return outputs


def _logarithms(b: Builder, outputs: list[Value], stack: Stack) -> list[Value]:
    """Return logarithms of scores in the type of the scores, in which modules compute their loss.

    For modules of decoders alone, the training pass adds the loss instead, which widens scores to
    f32.
    """
    # the single score of a regression has no logarithm, nor have the hidden states of a stack
    # without heads, for which heads of width 0 stand
    return [
        b.node(LogSoftmax(axis=-1), (v,), f"{v.name}.log") if h.width > 1 else v
        for v, h in zip(outputs, stack.heads or [OutputHead(0)] * len(outputs), strict=True)
    ]


def _encoders(b: Builder, model: LanguageModel, step: ForwardStep) -> Module:
    """Return one encoder or two in parallel, all of their input at once."""
    if step not in WHOLE:
        b.refuse(f"no {step.value} step: nothing is generated")
    outputs: list[Value] = []
    names = [BATCH]
    for stack in model.stacks:
        tokens = tokens_of(stack, extent(BATCH), extent(SEQ))
        if isinstance(stack.embedding, TokenEmbedding):
            names.append(SEQ)
        run = running(b, tokens, model, stack, is_cached=False)
        x, table = embedded(b, stack, run)
        x = layers(b, x, stack, run, list(enumerate(stack.layers)))
        outputs += _heads(b, x, stack, run, table)
        if step is ForwardStep.TRAINING and len(model.stacks) == 1:
            outputs = _logarithms(b, outputs, stack)
    # two encoders, as CLIP has for texts and images
    if len(outputs) == 2:
        outputs = [_similarity(b, *outputs)]
    return b.module(outputs, _declared(model, dict.fromkeys(names)))


def _similarity(b: Builder, text: Value, image: Value) -> Value:
    """Return the scores of every text with every image: scaled products of unit vectors."""
    norm = LpNormalization()
    texts, images = (b.node(norm, (v,), f"{v.name}.unit") for v in (text, image))
    scores = b.node(Gemm(transB=1), (texts, images), "similarity")
    return b.node(MUL, (scores, b.weight("similarity.scale", ())), "similarity.scaled")


def _pair(b: Builder, model: LanguageModel, decoder: Stack, step: ForwardStep) -> Module:
    """Return a step of an encoder–decoder model.

    Prefill and training run both parts, other steps only the decoder over cached keys.
    """
    encoder = model.stacks[0]
    batch = extent(DECODES if step is ForwardStep.DECODE else BATCH)
    source_tokens = model.source or extent(SEQ if step in WHOLE else SOURCE)
    source = tokens_of(encoder, batch, source_tokens)
    # an image or a sound, and a given source, have a fixed number of tokens
    is_symbolic = isinstance(encoder.embedding, TokenEmbedding) and not model.source
    if step in WHOLE:
        names = [BATCH, *([SEQ] if is_symbolic else []), TARGET]
        encoding = running(b, source, model, encoder, is_cached=False)
        x, shared = embedded(b, encoder, encoding)
        x = layers(b, x, encoder, encoding, list(enumerate(encoder.layers)))
        encoded: Value | None = b.norm(x, encoder.norm, f"{encoder.name}.norm")
        # of a served request (`source` is set), the pass of the encoder decodes a single token
        tokens = Tokens(batch, 1 if model.source else extent(TARGET))
    else:
        tokens, of_step = _tokens(step, 1, 0)
        names = [*of_step, *([SOURCE] if is_symbolic else [])]
        encoded, shared = None, None
    run = running(b, tokens, model, decoder, is_cached=step is not ForwardStep.TRAINING)
    run.encoded, run.source = encoded, source.length
    x, table = embedded(b, decoder, run, shared)
    x = layers(b, x, decoder, run, list(enumerate(decoder.layers)))
    declared = _declared(model, names)
    if step is ForwardStep.TRAINING:
        # in training, the target has the length of the source unless users give another one
        tie = extent(SEQ) if is_symbolic else None
        declared = [
            replace(s, default=usual_sequence(model), tie=tie) if s.name == TARGET else s
            for s in declared
        ]
    outputs = _heads(b, x, decoder, run, table)
    return b.module(
        _logarithms(b, outputs, decoder) if step is ForwardStep.TRAINING else outputs, declared
    )


def _tokens(step: ForwardStep, new_tokens: int, most: int) -> tuple[Tokens, tuple[str, ...]]:
    """Return the tokens of a decoder's step, and the symbols of their extents."""
    prompts = (extent(BATCH), extent(SEQ, most))
    match step:
        case ForwardStep.PREFILL | ForwardStep.TRAINING:
            return Tokens(*prompts), (BATCH, SEQ)
        case ForwardStep.EXTEND:
            return Tokens(*prompts, extent(PAST)), (BATCH, SEQ, PAST)
        case ForwardStep.DECODE:
            decodes = Tokens(decodes=extent(DECODES), context=extent(CONTEXT))
            return replace(decodes, new_tokens=new_tokens), (DECODES, CONTEXT)
        case ForwardStep.MIXED:
            mixed = Tokens(
                *prompts,
                extent(PAST),
                decodes=extent(DECODES),
                context=extent(CONTEXT),
                new_tokens=new_tokens,
            )
            return mixed, (BATCH, SEQ, PAST, DECODES, CONTEXT)


def longest_sequence(model: LanguageModel) -> int:
    """Return the number of positions of the model; twice ``LONG`` if unknown."""
    tables = [s.embedding for s in model.stacks]
    positions = [e.positions for e in tables if isinstance(e, TokenEmbedding)]
    return min((n for n in (model.max_positions, *positions) if n), default=2 * LONG)


def usual_sequence(model: LanguageModel) -> int:
    """Return the default sequence length: ``LONG``, or the model's positions if fewer."""
    return max(min(LONG, longest_sequence(model)), 1)


def _declared(model: LanguageModel, names: Iterable[str], most: int = 0) -> list[SymbolDecl]:
    """Return symbols with default sizes; sequences do not exceed the model's positions.

    ``most`` is the largest size of a sequence of the module, 0 for any.
    """
    longest = min(longest_sequence(model), most or LARGEST)
    # cached and new tokens share the positions: by default each takes half of them
    limits = {SEQ: longest, SOURCE: longest, PAST: longest // 2, CONTEXT: longest // 2}
    symbols = {n: replace(DECLARED[n], default=max(min(LONG, limits[n]), 1)) for n in limits}
    symbols[SEQ] = replace(symbols[SEQ], hi=most or None)
    return [symbols.get(n, DECLARED[n]) for n in names]
