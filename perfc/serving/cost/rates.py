"""Rates that kernels of an engine's version do not exceed on the GPUs of one vendor.

Predictors of kernels know today's libraries on NVIDIA GPUs. Older engines and other vendors' GPUs
ran slower kernels, whose rates were fitted to published batches (``constants.toml``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import astuple

from perfc.analyzers.features.sheet import Sheet
from perfc.common.fitted import constants_next_to
from perfc.ir import Numbers, record
from perfc.machine import Machine
from perfc.passes.fusion.kernel import Kernel

from ..host import AMD, numbers_of
from .conversions import longer, multiplies_halves, weight_bytes
from .grouped import attentions, cached_elements
from .program import Env, KernelCost, Program, estimated, estimated_parts

EARLY = (0, 6)
"""Newest version of vLLM whose kernels on AMD GPUs were measured."""
CAPTURED = 8192
"""Tokens of the longest sequence that a recorded decode step allows for: ``max_seq_len_to_capture``
of vLLM before 0.9."""
UNSPLIT = 512
"""Sequences times heads beyond which a workgroup reads the whole context of a head, not a part:
``PagedAttention.forward_decode`` of vLLM before 0.7, paged_attention_v1 in place of v2."""
SCORE_BYTES = 4
"""Bytes of a score, which paged_attention_v1 keeps in shared memory for the longest sequence."""


@record
class KernelRates:
    """Rates of a multiprocessor per clock, and times; the defaults set no limit.

    Args:
        macs: multiply-accumulates of matmuls in 16 bits.
        weight_bytes: bytes of weights that these matmuls read.
        paged_elements: cached elements of decode attention that reads each context whole, once per
            query head.
        serial_s: seconds per cached token of a layer whose query heads share keys.
        gap_s: seconds between two kernels of a decode step.
    """

    macs: float = math.inf
    weight_bytes: float = math.inf
    paged_elements: float = math.inf
    serial_s: float = 0.0
    gap_s: float = 0.0


ANY = KernelRates()
_FITTED = constants_next_to(__file__)


def rates_of(runtime: str, version: str, machine: Machine, positions: int) -> KernelRates:
    """Return the rates of an engine's kernels on a machine.

    Args:
        runtime: name of the runtime.
        version: its version; "" for the newest.
        machine: target machine.
        positions: longest sequence of the model in tokens; 0 if unknown.
    """
    fitted = _FITTED.get(f"{runtime}_{'rocm' if machine.vendor == AMD else 'cuda'}")
    if fitted is None:
        return ANY
    result = fitted.by_name
    if "paged_elements" not in result:
        return KernelRates(**result)
    if not () < numbers_of(version) <= EARLY:
        return ANY
    longest = min(positions or CAPTURED, CAPTURED)
    workgroups = Sheet(machine).shared_memory_bytes // (SCORE_BYTES * longest)
    each = result["paged_elements"] * max(workgroups, 1)
    return KernelRates(result["macs"], result["weight_bytes"], each)


def limited(
    program: Program,
    wanted: Sequence[int],
    envs: Sequence[Env],
    machine: Machine,
    framework: str,
    rates: KernelRates,
) -> list[KernelCost]:
    """Return the cost of kernels as `estimated`, with matmuls that do not exceed the rates."""
    if rates is ANY:
        return estimated(program, wanted, envs, machine, framework)
    kernels = program.table.kernels
    products = [i for i in wanted if multiplies_halves(kernels[i])]
    rest = [i for i in wanted if i not in products]
    parts = estimated_parts(program, [products, rest], envs, machine, framework)
    result: list[KernelCost] = []
    for matmuls, other, env in zip(*parts, envs, strict=True):
        each_s = [program.counts[i] * _least_s(kernels[i], env, machine, rates) for i in products]
        slowed = longer(matmuls, math.fsum(each_s) - matmuls.time_s)
        sums = [a + b for a, b in zip(astuple(slowed), astuple(other), strict=True)]
        result.append(KernelCost(*sums))
    return result


def _least_s(kernel: Kernel, env: Env, machine: Machine, rates: KernelRates) -> float:
    """Return the least time of one matmul."""
    at, sheet = Numbers(env), Sheet(machine)
    clocks = at(kernel.work.mac) / rates.macs, weight_bytes(kernel, at) / rates.weight_bytes
    return max(clocks) / (sheet.clock_hz * sheet.sm_count)


def attended(
    costs: Sequence[KernelCost],
    program: Program,
    wanted: Sequence[int],
    envs: Sequence[Env],
    machine: Machine,
    rates: KernelRates,
) -> list[KernelCost]:
    """Return the costs of decode attention within the rates.

    Args:
        costs: costs at each of several sizes.
        program: a decode pass.
        wanted: indices of its kernels.
        envs: values of its symbolic dimensions.
        machine: target machine.
        rates: rates of the engine.
    """
    if rates is ANY:
        return list(costs)
    sheet = Sheet(machine)
    per_s = rates.paged_elements * sheet.clock_hz * sheet.sm_count
    result: list[KernelCost] = []
    for cost, env in zip(costs, envs, strict=True):
        at, paged_s, serial_s = Numbers(env), 0.0, 0.0
        for count, problem in attentions(program, wanted):
            heads = at(problem.heads)
            if at(problem.batch) * heads > UNSPLIT:
                paged_s += count * cached_elements(problem, at) * heads / per_s
            if heads > at(problem.kv_heads):
                serial_s += count * rates.serial_s * at(problem.kv_len)
        result.append(longer(longer(cost, paged_s - cost.time_s), serial_s))
    return result
