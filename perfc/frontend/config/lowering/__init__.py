"""From a `LanguageModel` to the performance IR: one module a pass of the serving engine."""

from __future__ import annotations

from perfc.ir.graph import ModelOrigin, Module, SymbolDecl, Value
from perfc.ir.types import DType

from ..model import LanguageModel, Stack, TokenEmbedding
from ..parallel import ALONE, Parallel
from ..precision import Precision
from .builder import GATHER, Builder
from .stack import head, layers, token_embedding
from .step import (
    BATCH,
    CONTEXT,
    DECLARED,
    DECODES,
    PAST,
    SEQ,
    Running,
    Step,
    Tokens,
    extent,
)


def lower(
    model: LanguageModel,
    step: Step = Step.PREFILL,
    precision: Precision | None = None,
    parallel: Parallel = ALONE,
    *,
    new_tokens: int = 1,
    stage: int = 0,
) -> Module:
    """One pass of a model as the share of one machine, in the symbols of the step.

    Args:
        model: what a configuration describes.
        step: ``PREFILL`` in ``batch``, ``seq`` and ``past``; ``DECODE`` in ``decodes`` and
            ``context``; ``MIXED`` in all of them.
        precision: element types; those the model is published in by default.
        parallel: how it is divided.
        new_tokens: of a sequence that is decoded: more where drafts are verified.
        stage: which stage of the pipeline, from 0.

    Raises:
        ModelError: the model has no such step, or does not divide so.
        ParseError: degrees that do not go together.
    """
    parallel = parallel.checked()
    b = Builder(model.name, precision or published(model), parallel)
    stack = model.decoder
    if stack is None:
        raise NotImplementedError
    return _decoder(b, model, stack, step, new_tokens, stage)


def published(model: LanguageModel) -> Precision:
    """The element types that a configuration states."""
    from ..precision import precision_of

    return precision_of(model.dtype, model.quantization)


def _decoder(
    b: Builder, model: LanguageModel, stack: Stack, step: Step, new_tokens: int, stage: int
) -> Module:
    tokens, names = _tokens(step, new_tokens, model)
    run = Running(tokens, max_positions=model.max_positions)
    run.positions = b.input("positions", DType.I64, (tokens.rows,))
    if tokens.has_prompts:
        run.lengths = b.input("lengths", DType.I32, (tokens.prompts,))
    x, table = token_embedding(b, stack, run)
    x = layers(b, x, stack, run, list(enumerate(stack.layers)))
    x = b.norm(x, stack.norm, f"{stack.name}.norm")
    outputs: list[Value] = []
    for i, h in enumerate(stack.heads):
        last = x
        if tokens.has_prompts:
            rows: object = tokens.prompts + tokens.decodes * tokens.new_tokens
            at = b.input("last_tokens", DType.I64, (rows,))
            last = b.node(GATHER, (x, at), f"{stack.name}.last")
        outputs.append(head(b, last, h, stack, table, f"{stack.name}.head"))
    symbols: list[SymbolDecl] = [DECLARED[n] for n in names]
    return b.module(outputs or [x], symbols)


def _tokens(step: Step, new_tokens: int, model: LanguageModel) -> tuple[Tokens, tuple[str, ...]]:
    match step:
        case Step.PREFILL:
            names = (BATCH, SEQ, PAST)
            return Tokens(extent(BATCH), extent(SEQ), extent(PAST)), names
        case Step.DECODE:
            found = Tokens(decodes=extent(DECODES), context=extent(CONTEXT), new_tokens=new_tokens)
            return found, (DECODES, CONTEXT)
        case Step.MIXED:
            found = Tokens(
                extent(BATCH), extent(SEQ), extent(PAST), extent(DECODES), extent(CONTEXT),
                new_tokens,
            )  # fmt: skip
            return found, (BATCH, SEQ, PAST, DECODES, CONTEXT)
