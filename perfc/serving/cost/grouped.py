"""Heads of queries that share keys, under engines whose kernels read these anew for each head."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import Enum

from perfc.analyzers.features.sheet import Sheet
from perfc.frontend.config import LanguageModel
from perfc.frontend.config.mixers import Attention
from perfc.frontend.config.model import mixers
from perfc.ir.evaluate import Numbers
from perfc.ir.problem import Attention as AttentionProblem
from perfc.machine import Machine
from perfc.passes.runtimes import Serving
from perfc.passes.runtimes import runtime as runtime_named

from ..host import numbers_of
from .program import Env, Program

KERNELS: tuple[tuple[tuple[int, int], frozenset[int]], ...] = (
    ((0, 7), frozenset()),
    ((0, 10), frozenset({8})),
    ((0, 11), frozenset({8, 16})),
)
"""Versions of TensorRT-LLM before which a kernel reads keys once for groups of so many heads alone.
Sources: TensorRT-LLM, blogs/XQA-kernel.md, by which that kernel came; decoderXQARunner.h and
decoderXQAImplPrecompiled.cpp, ``nbQHeadsPerKV``."""
NEWEST = (1, 0)
"""What a version without a minor number stands for."""
WIDE_ANEW = (0, 10), (0, 12), 8
"""From the first version on and before the second, keys of 16 bits are read anew where so many
heads share them. Published rows of Llama 2 70B take what multiplying for each head takes there, in
16 bits and not in 8. No source was found that says so."""
ELEMENTS_PER_CLOCK = 14
"""Cached elements that a multiprocessor widens and multiplies in a clock, outside of tensor cores,
each once for a head of queries. Chosen on published rows, of 12 to 15: 12 was read off groups of
four heads alone (lab/notes/serving_kernels.md)."""


class Anew(Enum):
    """Which kernels of decoding read keys and values once for each head of queries."""

    NOWHERE = "nowhere"
    CHUNKS = "in chunks"
    """Those in chunks: XQA, which reads keys once, has none. Where no sequence may be longer than a
    chunk, attention without chunks is asked for. Sources: TensorRT-LLM, decoderXQAImplJIT,
    kernelUtils.cpp, ``supportConfigCommon``; modeling_llama.py, ``Llama4Attention``."""
    EVERYWHERE = "everywhere"

    __hash__ = object.__hash__


HAS_CHUNKS = 10
"""Major compute capability for which TensorRT-LLM has kernels of its own that attend in chunks."""


def reads_keys_anew(
    model: LanguageModel, runtime: str, version: str, cached_bits: float, machine: Machine,
    longest: int,
) -> Anew:  # fmt: skip
    """Where a step of decoding reads keys and values once for each head of queries.

    Args:
        model: that is served.
        runtime: by its name.
        version: of it; "" for the newest.
        cached_bits: of an element of keys and values.
        machine: where it runs.
        longest: tokens of the longest sequence that the engine is made for; 0 for any.
    """
    if runtime_named(runtime).serving is not Serving.TRTLLM:
        return Anew.NOWHERE
    stated, attentions = numbers_of(version), _attentions(model)
    numbers = stated if len(stated) > 1 else NEWEST
    shared = {a.heads // a.kv_heads for a in attentions} - {1}
    once = next((groups for until, groups in KERNELS if numbers < until), shared)
    since, until, heads = WIDE_ANEW
    if cached_bits > 8 and since <= numbers < until:
        once = once - {heads}
    if shared - once:
        return Anew.EVERYWHERE
    chunks = [a.chunk for a in attentions if a.chunk and a.heads > a.kv_heads]
    has_none = int(Sheet(machine).generation) != HAS_CHUNKS
    is_beyond = any(not longest or longest >= chunk for chunk in chunks)
    return Anew.CHUNKS if has_none and is_beyond else Anew.NOWHERE


def attends_in_chunks(model: LanguageModel) -> bool:
    """Whether a layer of a model's decoder sees no more than the chunk of each token."""
    return any(a.chunk for a in _attentions(model))


def anew_s(program: Program, wanted: Sequence[int], env: Env, machine: Machine) -> float:
    """What kernels of decoding take at least that read keys and values for each head of queries.

    Heads that share keys run side by side and find them in L2, so that multiplying takes longest.
    H100 and H200 take the same, though one reads memory 1.4 times as fast, and 16 bits take about
    what 8 do.

    Args:
        program: a pass of single tokens.
        wanted: indices of its kernels.
        env: values of its symbols.
        machine: where it runs.
    """
    at, sheet = Numbers(env), Sheet(machine)
    grouped = ((n, p) for n, p in attentions(program, wanted) if at(p.heads) > at(p.kv_heads))
    elements = math.fsum([n * cached_elements(p, at) * at(p.heads) for n, p in grouped])
    return elements / (ELEMENTS_PER_CLOCK * sheet.clock_hz * sheet.sm_count)


def attentions(program: Program, wanted: Sequence[int]) -> Iterator[tuple[float, AttentionProblem]]:
    """Yields the attention of each of some kernels, with how often the kernel runs."""
    for i in wanted:
        match program.table.kernels[i].problem:
            case AttentionProblem() as problem:
                yield program.counts[i], problem
            case _:
                pass


def cached_elements(problem: AttentionProblem, at: Numbers) -> float:
    """Returns elements of keys and values that one head of a batch of sequences sees."""
    keys = at(problem.kv_len)
    seen = min(keys, problem.window) if problem.window else keys
    return at(problem.batch) * seen * (at(problem.head_dim) + at(problem.value_dim))


def _attentions(model: LanguageModel) -> list[Attention]:
    decoder = model.decoder
    layers = set(decoder.layers) if decoder is not None else set()
    return [m for layer in layers for m in mixers(layer) if isinstance(m, Attention)]
