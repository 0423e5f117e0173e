"""Limit kernels to the rates of an engine's version on the GPUs of one vendor.

Predictors of kernels know today's libraries on NVIDIA GPUs. Older engines and other vendors' GPUs
ran slower kernels, whose rates were fitted to published batches (``constants.toml``).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from perfc.analyzers.features.sheet import Sheet
from perfc.common.fitted import constants_next_to
from perfc.frontend.config import WeightFormat
from perfc.ir import Numbers, record
from perfc.ir.problem import Product
from perfc.machine import Machine
from perfc.passes.fusion.kernel import Kernel

from ..host import AMD, numbers_of
from .conversions import longer, multiplies_halves, sooner, weight_bytes
from .grouped import attentions, cached_elements
from .program import Env, KernelCost, Program, estimated, estimated_parts

EARLY = (0, 6)
"""Newest version of vLLM whose batches on AMD GPUs the rates describe; later ones have none."""
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
        packed_macs: multiply-accumulates of matmuls with narrower weights.
        weight_bytes: bytes of weights that these matmuls read.
        unpacked: elements of weights that matmuls unpack in K-quants, whose scales are packed too.
        paged_elements: cached elements of decode attention that reads each context whole, once per
            query head.
        share: share of the memory bandwidth at which matmuls read weights on GPUs whose kernels
            were not measured. The time by these rates then replaces the estimate. 0 to use the
            estimate, made longer where these rates say so.
        serial_s: seconds per cached token of a layer whose query heads share keys.
        gap_s: seconds between two kernels of a decode step.
    """

    macs: float = math.inf
    packed_macs: float = math.inf
    weight_bytes: float = math.inf
    unpacked: float = math.inf
    paged_elements: float = math.inf
    share: float = 0.0
    serial_s: float = 0.0
    gap_s: float = 0.0


PLATFORMS = {AMD: "rocm", "Apple": "metal"}
"""Names of constants by vendor, of other vendors ``cuda``."""
ANY = KernelRates()
"""Rates that limit nothing: estimates are used as they are."""
_FITTED = constants_next_to(__file__)


def rates_of(
    runtime: str,
    version: str,
    machine: Machine,
    positions: int,
    weights: WeightFormat = WeightFormat.HALF,
) -> KernelRates:
    """Return the rates of an engine's kernels on a machine.

    Args:
        runtime: name of the runtime.
        version: its version; "" for the newest.
        machine: target machine.
        positions: longest sequence of the model in tokens; 0 if unknown.
        weights: format of most weights.
    """
    fitted = _FITTED.get(f"{runtime}_{PLATFORMS.get(machine.vendor, 'cuda')}")
    if fitted is None:
        return ANY
    result = KernelRates(**fitted.by_name)
    # of other formats the scales are not packed, and unpacking does not limit a matmul
    if not weights.value.endswith("_k"):
        result = replace(result, unpacked=math.inf)
    # what follows is for vLLM on AMD, the only engine with a rate of paged attention
    if math.isinf(result.paged_elements):
        return result
    # no version means the newest, whose kernels the predictors know
    if not () < numbers_of(version) <= EARLY:
        return ANY
    longest = min(positions or CAPTURED, CAPTURED)
    # the scores of one workgroup fill this much shared memory: fewer fit for longer sequences
    workgroups = Sheet(machine).shared_memory_bytes // (SCORE_BYTES * longest)
    return replace(result, paged_elements=result.paged_elements * max(workgroups, 1))


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
    products = [i for i in wanted if multiplies_halves(kernels[i], packed=rates.share > 0)]
    rest = [i for i in wanted if i not in products]
    parts = estimated_parts(program, [products, rest], envs, machine, framework)
    result: list[KernelCost] = []
    for matmuls, other, env in zip(*parts, envs, strict=True):
        each_s = [program.counts[i] * _least_s(kernels[i], env, machine, rates) for i in products]
        more_s = math.fsum(each_s) - matmuls.time_s
        # `longer` and `sooner` ignore negative times, so one of the two applies; with a share, the
        # rates replace the estimate also if they are faster
        faster = sooner(matmuls, -more_s if rates.share else 0.0)
        result.append(longer(faster, more_s) + other)
    return result


def _least_s(kernel: Kernel, env: Env, machine: Machine, rates: KernelRates) -> float:
    """Return the least time of one matmul."""
    at, sheet = Numbers(env), Sheet(machine)
    clocks_per_s, read_bytes = sheet.clock_hz * sheet.sm_count, weight_bytes(kernel, at)
    macs = rates.macs if multiplies_halves(kernel) else rates.packed_macs
    memory_bytes_per_s = rates.share * sheet.device_bytes_per_s or math.inf
    problem = kernel.problem
    assert isinstance(problem, Product)
    return max(
        at(kernel.work.mac) / (macs * clocks_per_s),
        read_bytes / (rates.weight_bytes * clocks_per_s),
        at(problem.n) * at(problem.k) / (rates.unpacked * clocks_per_s),
        read_bytes / memory_bytes_per_s,
    )


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
        # paged reads are a least time, serial ones are added
        for count, problem in attentions(program, wanted):
            heads = at(problem.heads)
            # with few workgroups, the kernel splits the context, and the estimate applies
            if at(problem.batch) * heads > UNSPLIT:
                paged_s += count * cached_elements(problem, at) * heads / per_s
            if heads > at(problem.kv_heads):
                serial_s += count * rates.serial_s * at(problem.kv_len)
        result.append(longer(longer(cost, paged_s - cost.time_s), serial_s))
    return result
