"""Lower and fuse a pass of a model once, and estimate its kernels at many sizes at once.

`passes_of` returns the prefill and decode `Program` of a stage; `estimated` returns a `KernelCost`
for each set of sizes. `StageCost` builds its grids from these.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import astuple, fields, replace
from functools import cached_property, lru_cache
from operator import add
from typing import NamedTuple

from perfc.analyzers.estimate.estimate import Estimate
from perfc.analyzers.estimators import Execution
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.runs.energy import energy_of
from perfc.analyzers.runs.prediction import in_run
from perfc.frontend.config import ForwardStep, LanguageModel, Parallel, ServingPrecision, lower
from perfc.ir import Kind, Module, Numbers, TensorType, evaluate, frozen, record
from perfc.ir.problem import Experts
from perfc.machine import Machine
from perfc.passes.fusion.fuse import Fuse, KernelTable
from perfc.passes.fusion.kernel import Kernel
from perfc.passes.inference.sizes import Sizes
from perfc.passes.manager import Analyses
from perfc.passes.memory.liveness import Liveness, LivenessTable
from perfc.passes.rewriting.canonicalize import Canonicalize
from perfc.passes.roofline.roofline import (
    KernelBound,
    RooflineTable,
    bounds,
    value_bytes,
    weight_floor,
)

Env = Mapping[str, int]
"""Values of symbolic dimensions: ``batch``, ``seq``, ``past``, or ``decodes`` and ``context``."""
OCTAVES = 14
"""Number of steps, of 1, 2, 4 … tokens, for which the time to read the weights is computed; in the
largest some token chooses each expert."""


@record
class KernelCost:
    """Cost of kernels that run one after another.

    Args:
        time_s: predicted time.
        low_s: lower end of the 90 % prediction interval.
        high_s: its upper end.
        floor_s: lower bound.
        energy_j: energy of the board; NaN if the power is unknown.
    """

    time_s: float
    low_s: float
    high_s: float
    floor_s: float
    energy_j: float

    def __add__(self, other: KernelCost) -> KernelCost:
        """Return the cost of two groups of kernels that run one after the other."""
        return KernelCost(*map(add, astuple(self), astuple(other)))


QUANTITIES = tuple(f.name for f in fields(KernelCost))
"""Names of the numbers of a cost, each of which gets a grid."""


@frozen
class Program:
    """Fused pass of a model, with its kernels deduplicated.

    Args:
        module: typed, canonical module.
        table: one of each set of equivalent kernels.
        counts: number of equivalent kernels for each.
        liveness: liveness of the pass, with caches that it reads, without the rows it adds to them.
        whole: all of its kernels in order.
    """

    module: Module
    table: KernelTable
    counts: tuple[int, ...]
    liveness: LivenessTable
    whole: tuple[Kernel, ...]

    @classmethod
    def of(cls, module: Module, runtime: str) -> Program:
        """Return the program of a lowered configuration."""
        am = Analyses()
        typed = am.apply(Canonicalize(), am.apply(Sizes(()), module))
        whole = am.get(Fuse(runtime), typed)
        # kernels of one identity have the same work at all sizes: one of them is estimated
        count = Counter(k.identity for k in whole.kernels)
        firsts: dict[int, Kernel] = {}
        for kernel in whole.kernels:
            firsts.setdefault(kernel.identity, kernel)
        table = KernelTable(whole.runtime, tuple(firsts.values()), host=())
        counts = tuple([count[a] for a in firsts])
        # other outputs are rows of the KV cache, whose memory the pool counts already
        first_output = replace(typed, graph=replace(typed.graph, outputs=typed.graph.outputs[:1]))
        return cls(typed, table, counts, am.get(Liveness(), first_output), whole.kernels)

    def activation_bytes(self, env: Env) -> float:
        """Return the peak of live bytes without caches and states, which are in a pool."""
        live_bytes, _ = self.liveness.peak(env)
        return live_bytes - self.cached_bytes(env)

    def cached_bytes(self, env: Env) -> float:
        """Return the bytes of caches and states read: inputs with more than two axes.

        Tokens and positions have one or two.
        """
        at = Numbers(env)
        types = [v.type for v in self.module.graph.inputs]
        return sum(
            [
                at(t.nbytes)
                for t in types
                if isinstance(t, TensorType) and t.nbytes is not None and len(t.shape or ()) > 2
            ]
        )

    def differ(self, first: Env, second: Env) -> frozenset[int]:
        """Return the kernels whose work or traffic differs between two sets of sizes."""
        return frozenset(
            i for i, k in enumerate(self.table.kernels) if _amounts(k, first) != _amounts(k, second)
        )

    def weights_floors_s(self, machine: Machine) -> tuple[float, ...]:
        """Return the least time to read the weights in steps of 1, 2, 4 and more tokens.

        No cache holds all of them. More tokens touch more experts.
        """
        has_experts = any(isinstance(k.problem, Experts) for k in self.table.kernels)
        table = KernelTable(self.table.runtime, self.whole, host=())
        # without experts every step reads the same weights: one size is enough
        envs = [{"decodes": 1 << i, "context": 1} for i in range(OCTAVES if has_experts else 1)]
        return tuple(
            [weight_floor(table, value_bytes(table, Numbers(env)), machine, env) for env in envs]
        )

    @property
    def mixtures(self) -> int:
        """Return the number of its layers with experts."""
        pairs = zip(self.counts, self.table.kernels, strict=True)
        return sum([n for n, k in pairs if isinstance(k.problem, Experts)])

    def experts_read(self, tokens: int) -> float:
        """Return the bytes of the experts that a step of ``tokens`` tokens chooses, uniformly.

        Traffic counts the fewest experts that a step can choose: ``times`` is their mean over it.
        """
        at, total = Numbers({"decodes": tokens, "context": 1}), 0.0
        for n, k in zip(self.counts, self.table.kernels, strict=True):
            if isinstance(k.problem, Experts):
                times = k.problem._replace(skew=None).touched_over_least(at)
                parts = zip(k.reads, k.read_parts, strict=True)
                total += n * times * math.fsum([at(p) for v, p in parts if v.weight is not None])
        return total

    @cached_property
    def exchanges(self) -> frozenset[int]:
        """Return the indices of the collectives."""
        return frozenset(i for i, k in enumerate(self.table.kernels) if k.kind is Kind.COLLECTIVE)


def _amounts(kernel: Kernel, env: Env) -> tuple[float, ...]:
    """Return what a kernel computes and moves at a set of sizes, to compare two sets."""
    w, t = kernel.work, kernel.traffic
    return tuple([evaluate(d, env) for d in (w.mac, w.alu, t.read_bytes, t.write_bytes)])


@record
class Passes:
    """Passes that a step may consist of.

    Args:
        prefill: pass of prompts only.
        decode: pass of single tokens only.
    """

    prefill: Program
    decode: Program


class KernelGroups(NamedTuple):
    """Indices of the kernels of a pass, by the sizes that change their work.

    ``readers`` read the context, ``exchanges`` are collectives, ``heads`` read one token of each
    prompt, and ``others`` every new token.
    """

    readers: list[int]
    exchanges: list[int]
    heads: list[int]
    others: list[int]


@lru_cache(maxsize=128)
def passes_of(
    model: LanguageModel,
    precision: ServingPrecision,
    parallel: Parallel,
    runtime: str,
    stage: int = 0,
) -> Passes:
    """Return the passes of a model's stage, lowered and fused once.

    Raises:
        ModelError: the model has no such pass or cannot be divided so.
    """
    passes = [
        Program.of(lower(model, step, precision, parallel, stage=stage), runtime)
        for step in (ForwardStep.EXTEND, ForwardStep.DECODE)
    ]
    return Passes(*passes)


def estimated(
    program: Program, wanted: Sequence[int], envs: Sequence[Env], machine: Machine, framework: str
) -> list[KernelCost]:
    """Return the total cost of kernels of a pass, launches included, at each of several sizes.

    Args:
        program: the pass.
        wanted: indices of its kernels.
        envs: values of its symbolic dimensions.
        machine: target machine.
        framework: runtime whose kernels are estimated.
    """
    (costs,) = estimated_parts(program, [wanted], envs, machine, framework)
    return costs


def estimated_parts(
    program: Program,
    parts: Sequence[Sequence[int]],
    envs: Sequence[Env],
    machine: Machine,
    framework: str,
) -> list[list[KernelCost]]:
    """Return the cost of each of several parts of a pass; otherwise as `estimated`.

    Kernels of all parts run in their order in the pass, so that each finds in the caches of the GPU
    what those before it left there.
    """
    wanted = sorted(i for part in parts for i in part)
    if not wanted:
        return [[KernelCost(*[0.0] * 5)] * len(envs) for _ in parts]
    table = KernelTable(
        program.table.runtime, tuple([program.table.kernels[i] for i in wanted]), host=()
    )
    kernels = tuple([b for env in envs for b in bounds(table, machine, env).kernels])
    # all sizes are estimated at once, side by side
    every = tuple([env for env in envs for _ in wanted])
    side_by_side = RooflineTable(machine, kernels, weight_floor_s=0.0, env=envs[0], envs=every)
    estimates = in_run(Execution(side_by_side, table, framework=framework))
    # estimates are one flat list: all wanted kernels of the first size, then of the next
    position = {index: at for at, index in enumerate(wanted)}

    def summed(part: Sequence[int], first: int) -> KernelCost:
        rows = [first + position[i] for i in part]
        counts = [program.counts[i] for i in part]
        return _summed([kernels[i] for i in rows], [estimates[i] for i in rows], counts, machine)

    firsts = range(0, len(kernels), len(wanted))
    return [[summed(part, first) for first in firsts] for part in parts]


def rooflines_of(program: Program, env: Env, machine: Machine) -> tuple[float, float]:
    """Return the seconds of a pass's kernels and of its collectives at measured rates."""
    # at index 0 kernels that are no collectives, at 1 collectives
    sums, kernels = [0.0, 0.0], bounds(program.table, machine, env).kernels
    for i, (count, bound) in enumerate(zip(program.counts, kernels, strict=True)):
        sums[i in program.exchanges] += count * bound.time_s
    return sums[0], sums[1]


def _summed(
    bound: Sequence[KernelBound], each: Sequence[Estimate], counts: Sequence[int], machine: Machine
) -> KernelCost:
    """Return the sum of kernels that run one after another, with fully correlated errors."""
    # in the order of the fields of `KernelCost`
    sums, sheet = [0.0] * 5, Sheet(machine)
    for b, e, n in zip(bound, each, counts, strict=True):
        # quantiles are added too: errors of one predictor go the same way
        energy = energy_of(b, e.time, e.idle_s, sheet)
        energy_j = energy.energy_j if energy is not None else math.nan
        values = (e.time_s, e.summed.low, e.summed.high, e.floor_s, energy_j)
        sums = [s + n * v for s, v in zip(sums, values, strict=True)]
    return KernelCost(*sums)
