"""Attention of single tokens: what reading the cache costs at any length, also in chunks."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple, replace

from perfc.analyzers.features.sheet import Sheet
from perfc.ir.evaluate import Numbers
from perfc.ir.ops.attention.ragged_attention import RaggedAttention
from perfc.ir.types import DType
from perfc.machine import Machine

from .conversions import longer
from .grouped import Anew, anew_s, attentions, cached_elements
from .program import Env, KernelCost, Program, estimated

EMULATION_OPS = {DType.F8E4M3FN: 24}
"""Instructions per element of a cache in a format without hardware conversion: masks, shifts,
comparisons and the branch for denormal numbers (as ``__nv_cvt_fp8_to_halfraw`` does before compute
capability 8.9), then two conversions to bf16. Assumed, not measured. A byte of e5m2 is the upper
half of an f16. Published runs on A100 disagree: from slightly faster than a cache of 16 bits to
several times slower. The conversion is added to the time of reading."""
INTEGER_LANES = 64
"""Integer instructions of a multiprocessor in a clock: CUDA C++ Programming Guide, arithmetic
instructions, of compute capability 7 and 8; AMD's compute units have as many lanes."""
STEPS = 32
"""How many lengths up to the longest at which attention in chunks is looked at."""


def context_costs(
    program: Program,
    wanted: Sequence[int],
    envs: Sequence[Env],
    machine: Machine,
    framework: str,
    anew: Anew,
    longest: int = 0,
    cached: DType = DType.BF16,
) -> list[KernelCost]:
    """What kernels that see the cache cost together, at each of several sizes.

    Args:
        program: a pass of single tokens.
        wanted: indices of its kernels.
        envs: values of its symbols.
        machine: where it runs.
        framework: whose kernels.
        anew: which of them read keys and values once for each head of queries.
        longest: tokens of the longest sequence that the engine is made for; 0 for any.
        cached: element type of keys and values.
    """
    by_chunk: dict[int, list[int]] = {}
    for i in wanted:
        by_chunk.setdefault(chunk_of(program, i), []).append(i)
    total = estimated(program, (), envs, machine, framework)
    for chunk, own in by_chunk.items():
        usual = [within(env, chunk, longest) for env in envs]
        costs = estimated(program, own, usual, machine, framework)
        if anew is Anew.EVERYWHERE or (chunk and anew is Anew.CHUNKS):
            each_s = [anew_s(program, own, env, machine) for env in usual]
            costs = [longer(c, s - c.time_s) for c, s in zip(costs, each_s, strict=True)]
        emulated_s = [emulation_s(program, own, env, machine, cached) for env in usual]
        costs = [longer(c, s) for c, s in zip(costs, emulated_s, strict=True)]
        if chunk:
            # the chunk of every sequence may have just begun
            least = estimated(program, own, envs, machine, framework)
            costs = [
                replace(cost, floor_s=min(cost.floor_s, begun.floor_s))
                for cost, begun in zip(costs, least, strict=True)
            ]
        total = [
            KernelCost(*(x + y for x, y in zip(astuple(a), astuple(b), strict=True)))
            for a, b in zip(total, costs, strict=True)
        ]
    return total


def emulation_s(
    program: Program, wanted: Sequence[int], env: Env, machine: Machine, cached: DType
) -> float:
    """Seconds that vector units take to convert each cached element once; 0 where nothing is.

    Nothing obliges an engine to convert so: floors do not have it.

    Args:
        program: a pass of single tokens.
        wanted: indices of its kernels.
        env: values of its symbols.
        machine: where it runs.
        cached: element type of keys and values.
    """
    ops = 0 if machine.takes(cached.code) else EMULATION_OPS.get(cached, 0)
    if not ops:
        return 0.0
    at = Numbers(env)
    elements = math.fsum([
        n * cached_elements(p, at) * at(p.kv_heads) for n, p in attentions(program, wanted)
    ])  # fmt: skip
    sheet = Sheet(machine)
    return ops * elements / (INTEGER_LANES * sheet.clock_hz * sheet.sm_count)


def chunk_of(program: Program, kernel: int) -> int:
    """Tokens of the chunks that a kernel attends in, 0 where it sees all."""
    match program.table.kernels[kernel].anchor.op:
        case RaggedAttention() as op:
            return int(op.chunk)
        case _:
            return 0


def chunks_of(program: Program) -> frozenset[int]:
    """Tokens of the chunks that a pass attends in; none where it attends in none."""
    return frozenset(chunk_of(program, i) for i in range(len(program.counts))) - {0}


def kept_tokens(program: Program, tokens: int) -> int:
    """Tokens of a sequence from which memory of each is told: all of its layers keep them.

    Chunks that are over are kept too. Sources: vLLM, config/vllm.py, where attention in chunks
    turns the hybrid manager of caches off; TensorRT-LLM, `modeling_llama.py`, which states no
    window.

    Args:
        program: a pass of single tokens.
        tokens: of the whole sequence.
    """
    return min([tokens, *(chunk - 1 for chunk in chunks_of(program))])


def lengths(program: Program, usual: tuple[float, ...], longest: int) -> tuple[float, ...]:
    """Lengths at which kernels are looked at: more of them where chunks begin and end.

    Args:
        program: a pass of single tokens.
        usual: where none attends in chunks.
        longest: tokens of the longest sequence that an engine is made for; 0 for any.
    """
    if not longest or not chunks_of(program):
        return usual
    step = (longest - usual[0]) / STEPS
    return tuple(
        sorted({*usual, *(float(round(usual[0] + step * i)) for i in range(1, STEPS + 1))})
    )


def within(env: Env, chunk: int, longest: int) -> Env:
    """Sizes with as many tokens as a chunk shows of sequences of that mean length.

    They are taken to be as long as the longest and shorter evenly, or beyond their first chunk
    anywhere in one where nobody says how long they may be.

    Args:
        env: values of a pass's symbols; ``context`` is the mean length, in tokens.
        chunk: tokens of the chunks, 0 where there are none.
        longest: tokens of the longest sequence that the engine is made for; 0 for any.
    """
    context = env["context"]
    if not chunk or (not longest and context < chunk):
        return env
    if not longest:
        return {**env, "context": chunk // 2}
    top = max(longest, context)
    least = max(2 * context - top, 0)
    seen = context % chunk
    if top > least:
        seen = round((_shown(top, chunk) - _shown(least, chunk)) / (top - least))
    return {**env, "context": seen}


def _shown(tokens: int, chunk: int) -> float:
    """Sum over lengths up to so many tokens of what a chunk shows."""
    whole, rest = divmod(tokens, chunk)
    return whole * chunk**2 / 2 + rest**2 / 2
