"""Estimate grouped-query attention in engines whose kernels read keys once per query head.

Query heads of a group share keys and values. A kernel that does not use this reads them once for
each query head. Only TensorRT-LLM has such kernels here, by its version; `context_costs` adds their
time.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from enum import Enum

from perfc.analyzers.features.sheet import Sheet
from perfc.common.fitted import constants_next_to
from perfc.frontend.config import LanguageModel
from perfc.frontend.config.mixers import Attention
from perfc.frontend.config.model import mixers
from perfc.ir import Numbers
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
"""TensorRT-LLM versions before which only groups of these sizes share one read of the keys.
Sources: TensorRT-LLM, blogs/XQA-kernel.md, which introduced that kernel; decoderXQARunner.h and
decoderXQAImplPrecompiled.cpp, ``nbQHeadsPerKV``."""
NEWEST = (1, 0)
"""Version assumed if the minor number is missing, later than every row of `KERNELS`."""
_FITTED = constants_next_to(__file__)
WIDE_KEY_REREADS = {
    name: int(number) for name, number in _FITTED["wide_key_rereads"].by_name.items()
}
"""Minor versions 0.x, from ``since_minor`` up to but without ``until_minor``, in which 16-bit keys
are read once per query head if ``group`` query heads share them."""
ELEMENTS_PER_CLOCK = int(_FITTED["elements_per_clock"].number)
"""Cached elements that a multiprocessor widens and multiplies per clock outside of tensor cores,
once per query head."""


class Rereads(Enum):
    """Decode kernels that read keys and values once per query head."""

    NOWHERE = "nowhere"
    CHUNKS = "in chunks"
    """Chunked attention: XQA, which reads keys once, lacks it. If no sequence may be longer
    than a chunk, attention without chunks is used. Sources: TensorRT-LLM, decoderXQAImplJIT,
    kernelUtils.cpp, ``supportConfigCommon``; modeling_llama.py, ``Llama4Attention``."""
    EVERYWHERE = "everywhere"

    __hash__ = object.__hash__  # faster than Enum's hash of the name


HAS_CHUNKS = 10
"""Major compute capability for which TensorRT-LLM has dedicated chunked-attention kernels."""


def rereads_of(
    model: LanguageModel,
    runtime: str,
    version: str,
    cached_bits: float,
    machine: Machine,
    longest: int,
) -> Rereads:
    """Return which decode kernels read keys and values once per query head.

    Args:
        model: served model.
        runtime: name of the runtime.
        version: its version; "" for the newest.
        cached_bits: bits per element of the KV cache.
        machine: target machine.
        longest: longest sequence that the engine is configured for, in tokens; 0 for any.
    """
    # no other runtime was seen to read keys several times
    if runtime_named(runtime).serving is not Serving.TRTLLM:
        return Rereads.NOWHERE
    version_numbers, attentions = numbers_of(version), _attentions(model)
    numbers = version_numbers if len(version_numbers) > 1 else NEWEST
    # query heads per key head; 1 shares nothing
    groups_used = {a.heads // a.kv_heads for a in attentions} - {1}
    # sizes of groups that share one read: listed by the version, or all sizes
    read_once = next((sizes for until, sizes in KERNELS if numbers < until), groups_used)
    since, until = (
        (0, WIDE_KEY_REREADS["since_minor"]),
        (0, WIDE_KEY_REREADS["until_minor"]),
    )
    if cached_bits > 8 and since <= numbers < until:
        read_once = read_once - {WIDE_KEY_REREADS["group"]}
    if groups_used - read_once:
        return Rereads.EVERYWHERE
    chunks = [a.chunk for a in attentions if a.chunk and a.heads > a.kv_heads]
    lacks_chunk_kernels = int(Sheet(machine).generation) != HAS_CHUNKS
    # sequences that never leave their first chunk attend without chunks
    is_beyond = any(not longest or longest >= chunk for chunk in chunks)
    return Rereads.CHUNKS if lacks_chunk_kernels and is_beyond else Rereads.NOWHERE


def attends_in_chunks(model: LanguageModel) -> bool:
    """Return True if a layer of the model's decoder uses chunked attention."""
    return any(a.chunk for a in _attentions(model))


def reread_s(program: Program, wanted: Sequence[int], env: Env, machine: Machine) -> float:
    """Return the least time of decode kernels that read keys and values once per query head.

    Heads that share keys run concurrently and hit L2, so that multiplying takes longest. H100 and
    H200 take the same time, though one has 1.4 times the memory bandwidth, and 16 bits take about
    as long as 8.

    Args:
        program: a decode pass.
        wanted: indices of its kernels.
        env: values of its symbolic dimensions.
        machine: target machine.
    """
    at, sheet = Numbers(env), Sheet(machine)
    grouped = ((n, p) for n, p in attentions(program, wanted) if at(p.heads) > at(p.kv_heads))
    elements = math.fsum([n * cached_elements(p, at) * at(p.heads) for n, p in grouped])
    return elements / (ELEMENTS_PER_CLOCK * sheet.clock_hz * sheet.sm_count)


def attentions(program: Program, wanted: Sequence[int]) -> Iterator[tuple[float, AttentionProblem]]:
    """Yield the attention problem of each kernel with the number of times the kernel runs."""
    for i in wanted:
        match program.table.kernels[i].problem:
            case AttentionProblem() as problem:
                yield program.counts[i], problem
            case _:
                pass


def cached_elements(problem: AttentionProblem, at: Numbers) -> float:
    """Return the elements of keys and values that one head reads for a batch of sequences."""
    keys = at(problem.kv_len)
    read_keys = min(keys, problem.window) if problem.window else keys
    return at(problem.batch) * read_keys * (at(problem.head_dim) + at(problem.value_dim))


def _attentions(model: LanguageModel) -> list[Attention]:
    """Return the attention of each different layer of a model's decoder."""
    decoder = model.decoder
    layers = set(decoder.layers) if decoder is not None else set()
    return [m for layer in layers for m in mixers(layer) if isinstance(m, Attention)]
