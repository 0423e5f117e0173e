"""Correct costs for engines that convert activations or accumulate in 16 bits.

The timed kernels do neither. Some engines keep activations in 32 bits and multiply in 16. A
matmul's operand is narrowed before it and its result widened after it, ops between matmuls move
twice the bytes, and prefill attention runs as two matmuls and a softmax. Matmuls accumulate in 16
bits, which some boards do at a higher rate than in 32.

Source: llama.cpp, ggml/src/ggml-cuda: ``ggml_cuda_op_mul_mat_cublas`` converts operands, quantised
weights and results around ``cublasGemmEx``, which it asks for ``CUBLAS_COMPUTE_16F``;
``build_attn`` without flash attention.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from perfc.analyzers.features.power_limit import matrix_flop_per_s
from perfc.analyzers.features.sheet import EffectiveSheet, Sheet
from perfc.ir import Numbers, TensorType, Value
from perfc.ir.problem import Attention, Product
from perfc.machine import Machine
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.runtimes import EngineKind

from .program import Env, KernelCost, Program

HALF, WIDE = 2, 4
"""Bytes of an element in matmuls and between them."""
SUSTAINED = 0.8
"""Share of the rated bandwidth that copies reach: ``mem_bw_empirical_scaling_factor`` of the GPUs
in AIConfigurator."""


def as_run(
    cost: KernelCost,
    program: Program,
    wanted: Sequence[int],
    env: Env,
    machine: Machine,
    kind: EngineKind | None,
) -> KernelCost:
    """Return the cost of prefill kernels as an engine runs them.

    Args:
        cost: cost as the kernels were timed.
        program: the pass.
        wanted: indices of its kernels.
        env: values of its symbolic dimensions.
        machine: target machine.
        kind: engine description; None if unknown.
    """
    run = multiplied(cost, program, wanted, env, machine, kind)
    is_converted = kind is not None and kind.converts
    return longer(run, between_s(program, wanted, env, machine, kind) if is_converted else 0.0)


def multiplied(
    cost: KernelCost,
    program: Program,
    wanted: Sequence[int],
    env: Env,
    machine: Machine,
    kind: EngineKind | None,
) -> KernelCost:
    """Return the cost of kernels with 16-bit accumulation; `as_run` adds the conversions."""
    is_half = kind is not None and kind.sums_halves
    return sooner(cost, saved_s(program, wanted, env, machine) if is_half else 0.0)


def between_s(
    program: Program,
    wanted: Sequence[int],
    env: Env,
    machine: Machine,
    kind: EngineKind | None = None,
) -> float:
    """Return the seconds of traffic that prefill kernels have beyond their own estimates.

    Args:
        program: a pass whose activations have `HALF` bytes per element.
        wanted: indices of its kernels.
        env: values of its symbolic dimensions.
        machine: target machine.
        kind: engine description; None if unknown.
    """
    at, fuses = Numbers(env), kind is not None and kind.fuses_attention
    kernels = program.table.kernels
    traffic_bytes = [program.counts[i] * _moved_bytes(kernels[i], at, fuses=fuses) for i in wanted]
    return math.fsum(traffic_bytes) / _bytes_per_s(machine)


def widening_s(packed: Program, widened: Program, machine: Machine) -> float:
    """Return the seconds to read packed weights and write them with `HALF` bytes per element.

    Args:
        packed: the pass with weights as stored.
        widened: the same pass with weights of `HALF` bytes.
        machine: target machine.
    """
    at, total = Numbers({}), 0.0
    for stored, wide in zip(packed.whole, widened.whole, strict=True):
        read_bytes, written_bytes = (weight_bytes(k, at) for k in (stored, wide))
        # tables of embeddings are gathered, not multiplied, and need no conversion
        if stored.work.mac and read_bytes < written_bytes:
            total += read_bytes + written_bytes
    return total / _bytes_per_s(machine)


def saved_s(program: Program, wanted: Sequence[int], env: Env, machine: Machine) -> float:
    """Return the seconds that 16-bit matmuls save by accumulating in 16 bits instead of 32.

    GeForce boards accumulate in 32 bits at half the rate. Rates are those that the power limit
    allows; other boards save nothing.

    Args:
        program: a pass.
        wanted: indices of its kernels.
        env: values of its symbolic dimensions.
        machine: target machine.
    """
    kernels = [(program.table.kernels[i], program.counts[i]) for i in wanted]
    products = [(k, n) for k, n in kernels if multiplies_halves(k)]
    # without a rate of bf16 the data sheet does not distinguish the two
    if not products or not machine.takes("bf16"):
        return 0.0
    sheet, at = Sheet(machine), Numbers(env)
    # where 16-bit accumulation is faster, data sheets give it as f16, and 32-bit as bf16
    wide_s, half_s = (1 / matrix_flop_per_s(code, sheet) for code in ("bf16", "f16"))
    mac = math.fsum([n * at(k.work.mac) for k, n in products])
    return 2 * mac * max(wide_s - half_s, 0.0)


def multiplies_halves(kernel: Kernel, *, packed: bool = False) -> bool:
    """Return True for a matmul whose operands have 16 bits each, or whose weights are packed."""
    problem = kernel.problem
    # 0 bits: the weights have the type of the activations, which are 16 bits wide
    return isinstance(problem, Product) and (packed or problem.weight_bits in (0, 8 * HALF))


def sooner(cost: KernelCost, less_s: float) -> KernelCost:
    """Return a cost with less time, but not below its lower bound; power draw stays the same."""
    if cost.time_s <= 0 or less_s <= 0:
        return cost
    # at the same power, energy shrinks with the time
    time_s = max(cost.time_s - less_s, cost.floor_s)
    share = time_s / cost.time_s
    return replace(
        cost,
        time_s=time_s,
        low_s=max(share * cost.low_s, cost.floor_s),
        high_s=share * cost.high_s,
        energy_j=share * cost.energy_j,
    )


def longer(cost: KernelCost, more_s: float) -> KernelCost:
    """Return a cost with more time at the same power draw; its lower bound stays."""
    if cost.time_s <= 0 or more_s <= 0:
        return cost
    return replace(
        cost,
        time_s=cost.time_s + more_s,
        low_s=cost.low_s + more_s,
        high_s=cost.high_s + more_s,
        energy_j=cost.energy_j * (1 + more_s / cost.time_s),
    )


def _bytes_per_s(machine: Machine) -> float:
    """Return the bandwidth of copies that convert their elements, which nobody measured.

    It is a share of the bandwidth that a board sustains over whole networks. With one element per
    thread, copies are assumed not to gain from a last-level cache that holds their tensors. This
    was chosen on llama.cpp's published prompts: with such a gain, predictions for H100, A100 and
    RTX 6000 Ada were 1.3 to 1.9 times too fast.
    """
    return SUSTAINED * EffectiveSheet(machine).device_bytes_per_s


def score_bytes(program: Program, tokens: int, chunk: int, kind: EngineKind | None) -> float:
    """Return the bytes of attention scores of a step with prompts, or of the mask if it is fused.

    The largest attention counts, with `WIDE` bytes per score: layers reuse the same memory.

    Args:
        program: a prefill pass.
        tokens: longest sequence.
        chunk: number of its last tokens that one step computes.
        kind: engine description; None if unknown.
    """
    if kind is None or not kind.converts:
        return 0.0
    if kind.fuses_attention:
        # fused attention stores no scores, only the mask of each new token for all tokens
        return float(HALF * chunk * tokens)
    at = Numbers({"batch": 1, "seq": chunk, "past": tokens - chunk})
    problems = [k.problem for k in program.table.kernels]
    return max([WIDE * _scores(p, at) for p in problems if isinstance(p, Attention)], default=0.0)


def _scores(problem: Attention, at: Numbers) -> float:
    """Return the number of scores: one for each query, key and query head."""
    return at(problem.batch * problem.heads) * at(problem.query_len * problem.kv_len)


def _moved_bytes(kernel: Kernel, at: Numbers, *, fuses: bool) -> float:
    """Return one kernel's traffic beyond what it moves with `HALF` bytes per element."""
    operands = zip(kernel.reads, kernel.read_parts, strict=True)
    # the weights are not converted here: `widening_s` counts them once per step
    half_bytes = [at(part) for v, part in operands if v.weight is None and v.is_real]
    half_bytes += [_nbytes(v, at) for v in kernel.writes if v.is_real]
    match kernel.problem:
        case Attention() as problem if not fuses:
            scores = _scores(problem, at)
            # written by the first product and widened; read and written by softmax; narrowed and
            # read by the second product
            bytes_per_score = 2 * (HALF + WIDE) + 2 * WIDE + 2 * HALF
            # the first operand, the queries, is narrowed and the result widened
            return bytes_per_score * scores + _converted(half_bytes[0]) + _converted(half_bytes[-1])
        case _ if kernel.work.mac:
            return math.fsum(map(_converted, half_bytes))
        case _:
            # an element of `WIDE` bytes has twice the bytes: as many more
            return math.fsum(half_bytes)


def _converted(half_bytes: float) -> float:
    """Return the traffic of a conversion: read in one type and written in the other."""
    return (HALF + WIDE) / HALF * half_bytes


def weight_bytes(kernel: Kernel, at: Numbers) -> float:
    """Return the bytes of the weights that a kernel reads."""
    return math.fsum([_nbytes(v, at) for v in kernel.reads if v.weight is not None])


def _nbytes(value: Value, at: Numbers) -> float:
    """Return the bytes of a tensor; 0 if its size is unknown."""
    match value.type:
        case TensorType() as type_ if type_.nbytes is not None:
            return at(type_.nbytes)
        case _:
            return 0.0
