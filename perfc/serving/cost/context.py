"""Estimate decode attention: reading the KV cache at any context length, in chunks or on the host.

`stage.py` calls `context_costs` for the kernels of a decode pass whose work grows with the context,
and `read_on_host` and `on_host` where the cache lies in host memory.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.runs.energy import idle_w, power_model
from perfc.ir import DType, Numbers
from perfc.ir.ops import RaggedAttention
from perfc.machine import Machine, Unit

from .conversions import SUSTAINED, WIDE, longer
from .grouped import Rereads, attentions, cached_elements, reread_s
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
COPIES = 4
"""Copies between a device and its host for one attention: queries, keys, values and results."""
STEPS = 32
"""Number of context lengths up to the longest at which chunked attention is estimated."""


def context_costs(
    program: Program,
    wanted: Sequence[int],
    envs: Sequence[Env],
    machine: Machine,
    framework: str,
    rereads: Rereads,
    longest: int = 0,
    cached: DType = DType.BF16,
) -> list[KernelCost]:
    """Return the total cost of kernels that read the KV cache, at each of several sizes.

    Args:
        program: a decode pass.
        wanted: indices of its kernels.
        envs: values of its symbolic dimensions.
        machine: target machine.
        framework: runtime whose kernels are estimated.
        rereads: which kernels read keys and values once for each query head.
        longest: longest sequence that the engine is configured for, in tokens; 0 for any.
        cached: element type of the KV cache.
    """
    by_chunk: dict[int, list[int]] = {}
    for i in wanted:
        by_chunk.setdefault(chunk_of(program, i), []).append(i)
    # no kernels: a cost of 0 for each size, to which each chunk size adds its kernels
    total = estimated(program, (), envs, machine, framework)
    for chunk, indices in by_chunk.items():
        mean_envs = [within(env, chunk, longest) for env in envs]
        costs = estimated(program, indices, mean_envs, machine, framework)
        # kernels that read keys again and again take at least the time of these reads
        if rereads is Rereads.EVERYWHERE or (chunk and rereads is Rereads.CHUNKS):
            each_s = [reread_s(program, indices, env, machine) for env in mean_envs]
            costs = [longer(c, s - c.time_s) for c, s in zip(costs, each_s, strict=True)]
        emulated_s = [emulation_s(program, indices, env, machine, cached) for env in mean_envs]
        costs = [longer(c, s) for c, s in zip(costs, emulated_s, strict=True)]
        if chunk:
            # at the length of ``envs`` itself a kernel sees its remainder by the chunk size: all
            # sequences may have that length, so the lower bound is not above that cost
            begun_costs = estimated(program, indices, envs, machine, framework)
            costs = [
                replace(cost, floor_s=min(cost.floor_s, begun.floor_s))
                for cost, begun in zip(costs, begun_costs, strict=True)
            ]
        total = [a + b for a, b in zip(total, costs, strict=True)]
    return total


def read_on_host(program: Program, wanted: Sequence[int], env: Env, host: Machine) -> KernelCost:
    """Return the cost of decode attention on a host, whose memory has the cache of each layer.

    Query heads that share keys read them once. Nobody measured it: the interval is from the rated
    bandwidth to one read for each query head.
    """
    at, totals_s = Numbers(env), [0.0, 0.0, 0.0]
    flop_per_s, bytes_per_s = (
        host.peak(Unit.VECTOR, "f32").value,
        Sheet(host).device_bytes_per_s,
    )
    for n, p in attentions(program, wanted):
        elements = n * cached_elements(p, at)
        rated_s = elements * at(p.kv_heads) * p.cache_bits / 8 / bytes_per_s
        # in the order of `totals_s`: middle, low and high
        reads_s = rated_s / SUSTAINED, rated_s, rated_s * at(p.heads) / at(p.kv_heads) / SUSTAINED
        # a multiplication and an addition for each cached element and query head
        product_s = 2 * elements * at(p.heads) / flop_per_s
        totals_s = [a + max(b, product_s) for a, b in zip(totals_s, reads_s, strict=True)]
    mid_s, low_s, high_s = totals_s
    # bound and energy are 0: `on_host` takes the device's bound, and adds energy of its wait
    return KernelCost(mid_s, low_s, high_s, floor_s=0.0, energy_j=0.0)


def on_host(
    costs: Sequence[KernelCost],
    there: Sequence[KernelCost],
    program: Program,
    wanted: Sequence[int],
    envs: Sequence[Env],
    machine: Machine,
    ranks: int,
) -> list[KernelCost]:
    """Return the costs of attention that the host computes, as it has the cache.

    Queries, keys and values pass the link, one copy of each, and results come back, while the
    device idles. Lower bounds are those of the device: its memory is the faster one.

    Source: llama.cpp, llama-context.cpp, ``graph_get_cb``: nodes from the cache to the output of
    attention run on the CPU.

    Args:
        costs: costs on the device.
        there: costs on the host, without the link.
        program: a pass.
        wanted: indices of its kernels.
        envs: values of its symbolic dimensions.
        machine: the device.
        ranks: ranks that attend on the host at once.
    """
    link = machine.link("host")
    assert link is not None
    idle, gap_s = idle_w(machine, power_model()), COPIES * Sheet(machine).launch_s
    result: list[KernelCost] = []
    for cost, hosted, env in zip(costs, there, envs, strict=True):
        # one host serves all ranks in turn, so a rank also waits for the others
        at, more_s = Numbers(env), (ranks - 1) * hosted.time_s
        for n, p in attentions(program, wanted):
            heads = at(p.batch * p.query_len) * at(p.heads + p.kv_heads)
            # queries and keys have `head_dim` elements, values and results `value_dim`; queries and
            # results have all heads, keys and values `kv_heads`; all cross the link in 32 bits
            moved = WIDE * heads * at(p.head_dim + p.value_dim)
            more_s += n * (gap_s + moved / link.value)
        whole = longer(hosted, more_s)
        result.append(replace(whole, floor_s=cost.floor_s, energy_j=idle * whole.time_s))
    return result


def emulation_s(
    program: Program, wanted: Sequence[int], env: Env, machine: Machine, cached: DType
) -> float:
    """Return the seconds that vector units take to convert each cached element once; 0 for none.

    An engine need not convert this way, so lower bounds do not include it.

    Args:
        program: a decode pass.
        wanted: indices of its kernels.
        env: values of its symbolic dimensions.
        machine: target machine.
        cached: element type of the KV cache.
    """
    ops = 0 if machine.takes(cached.code) else EMULATION_OPS.get(cached, 0)
    if not ops:
        return 0.0
    at = Numbers(env)
    elements = math.fsum(
        [n * cached_elements(p, at) * at(p.kv_heads) for n, p in attentions(program, wanted)]
    )
    sheet = Sheet(machine)
    return ops * elements / (INTEGER_LANES * sheet.clock_hz * sheet.sm_count)


def chunk_of(program: Program, kernel: int) -> int:
    """Return the chunk size in tokens that a kernel attends in; 0 if it sees the whole context."""
    match program.table.kernels[kernel].anchor.op:
        case RaggedAttention() as op:
            return int(op.chunk)
        case _:
            return 0


def chunks_of(program: Program) -> frozenset[int]:
    """Return the chunk sizes in tokens of a pass; empty if no kernel attends in chunks."""
    return frozenset(chunk_of(program, i) for i in range(len(program.counts))) - {0}


def lengths(program: Program, usual: tuple[float, ...], longest: int) -> tuple[float, ...]:
    """Return the context lengths at which kernels are estimated, more with chunked attention.

    Args:
        program: a decode pass.
        usual: lengths for a pass without chunks.
        longest: longest sequence that the engine is configured for, in tokens; 0 for any.
    """
    if not longest or not chunks_of(program):
        return usual
    # a chunk empties at each multiple of its size: the cost is a saw tooth, not a smooth curve
    step = (longest - usual[0]) / STEPS
    return tuple(
        sorted({*usual, *(float(round(usual[0] + step * i)) for i in range(1, STEPS + 1))})
    )


def within(env: Env, chunk: int, longest: int) -> Env:
    """Return sizes with the mean number of tokens that a chunk shows at that mean length.

    Lengths are assumed to be spread evenly up to the longest. If the longest is unknown, a sequence
    beyond its first chunk is assumed to be in the middle of a chunk, which is the mean.

    Args:
        env: values of a pass's symbolic dimensions; ``context`` is the mean length in tokens.
        chunk: chunk size in tokens; 0 for none.
        longest: longest sequence that the engine is configured for, in tokens; 0 for any.
    """
    context = env["context"]
    if not chunk or (not longest and context < chunk):
        return env
    if not longest:
        return {**env, "context": chunk // 2}
    # lengths from `least` to `top`, evenly spread, have the mean `context`
    top = max(longest, context)
    least = max(2 * context - top, 0)
    shown_tokens = context % chunk
    if top > least:
        # mean of the tokens shown over these lengths
        shown_tokens = round((_shown(top, chunk) - _shown(least, chunk)) / (top - least))
    return {**env, "context": shown_tokens}


def _shown(tokens: int, chunk: int) -> float:
    """Return the sum over lengths up to ``tokens`` of the tokens that a chunk shows."""
    # within a chunk the tokens shown rise from 1 to its size: they add up to half of the square
    whole, rest = divmod(tokens, chunk)
    return whole * chunk**2 / 2 + rest**2 / 2
