"""Describe single steps of an engine for a report, and break their time down by kinds of work.

`report_of` calls `steps_of` and `first_token` after a simulation, and `with_parts` on request.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from perfc.ir import Kind, record
from perfc.passes.fusion.kernel import Kernel

from .cost.conversions import between_s, multiplied
from .cost.drafts import DraftedCost
from .cost.images import ImagedCost
from .cost.program import QUANTITIES, Env
from .cost.stage import StageCost
from .engine import Engine
from .simulation.load import Load
from .simulation.scheduler import Chunk
from .simulation.simulate import SimulatedRun


class WorkShare(Enum):
    """Kinds of work in a step."""

    PRODUCTS = "products"
    """Matrix multiplications of linear layers."""
    EXPERTS = "experts"
    """Matrix multiplications of routed experts."""
    ATTENTION = "attention"
    STATES = "states"
    """Scans of layers with a recurrent state, and the convolutions before them."""
    BETWEEN = "norms and elements"
    """Normalizations, rotary embeddings, activations, copies, conversions."""
    HEAD = "head"
    """Projection to the vocabulary."""
    SAMPLING = "sampling"
    """Sampling of the next token from the logits."""
    ADAPTERS = "adapters"
    """Low-rank adapters of linear layers."""
    TOWER = "encoder"
    """The encoder of a request, or the tower of its images."""
    DRAFTS = "drafts"
    """All work of the model that drafts tokens."""
    EXCHANGES = "collectives"
    """Collectives among ranks."""
    HOST = "host"
    """Host overhead that kernels do not cover."""

    __hash__ = object.__hash__  # faster than Enum's hash of the name


@record
class StepPart:
    """A part of a step.

    Args:
        what: kind of work.
        time_s: its time; the parts sum to the step's time.
    """

    what: str
    time_s: float


@record
class EngineStep:
    """One step of an engine.

    Args:
        what: description of the step.
        tokens: prompt tokens that it computes; 0 for a decode step.
        decodes: sequences that generate a token in it.
        context: cached tokens of each of those sequences.
        time_s: predicted time, host overhead included.
        host_s: host overhead within that time.
        low_s: lower end of the 90 % prediction interval of the kernels' time.
        high_s: its upper end.
        floor_s: lower bound of the time.
        energy_j: energy of all ranks; None if the power is unknown.
        parts: breakdown of the time, if requested.
    """

    what: str
    tokens: int
    decodes: int
    context: float
    time_s: float
    host_s: float
    low_s: float
    high_s: float
    floor_s: float
    energy_j: float | None
    parts: tuple[StepPart, ...] = ()


def steps_of(engine: Engine, run: SimulatedRun, load: Load) -> tuple[EngineStep, ...]:
    """Return the steps to show: one prompt alone, and the most frequent decode step."""
    decodes = [s for s in run.strides if not s.chunks] or list(run.strides)
    # the decode step in which the run generated most tokens
    frequent = max(decodes, key=lambda s: s.steps * s.decodes)
    cached_tokens = load.least_cached_tokens
    isl = min(load.isl - cached_tokens, engine.kind.token_budget)
    prompt = (Chunk(isl, cached_tokens),)
    views = [_step(engine, f"prompt of {isl} alone", prompt, 0, 0.0)]
    if frequent.decodes:
        drafted = engine.speculation.tokens
        verified = f" + {drafted} drafted" if drafted else ""
        what = f"decode, {frequent.decodes} × {round(frequent.context)} cached{verified}"
        views.append(_step(engine, what, (), frequent.decodes, frequent.context))
    return tuple(views)


def first_token(engine: Engine, load: Load, ttft_s: float) -> tuple[StepPart, ...]:
    """Return the parts of a mean time to first token, which sum to it.

    Waiting is for steps and prompts of other requests, and for transfers.
    """
    law, cached_tokens = engine.law, load.least_cached_tokens
    new_tokens = load.isl - cached_tokens
    budget = engine.kind.token_budget
    chunks = [
        Chunk(min(budget, new_tokens - start), cached_tokens + start)
        for start in range(0, new_tokens, budget)
    ]
    steps = [_step(engine, "", (chunk,), 0, 0.0) for chunk in chunks]
    host_s = math.fsum([step.host_s for step in steps])
    parts = {
        "server": law.request_s,
        "tokenize": law.token_s * load.isl,
        "host": host_s,
        "prompt": math.fsum([step.time_s for step in steps]) - host_s,
    }
    # the rest is negative where simulated prompts are shorter than the longest one: it shortens the
    # part of the prompt; digits below a picosecond are rounding errors of the sums
    waiting_s = round(ttft_s - math.fsum(parts.values()), 12)
    parts["prompt"] += min(waiting_s, 0.0)
    return tuple([StepPart(*part) for part in {**parts, "wait": max(waiting_s, 0.0)}.items()])


def _step(
    engine: Engine, what: str, chunks: tuple[Chunk, ...], decodes: int, context: float
) -> EngineStep:
    """Return the view of one step, estimated with these sizes."""
    by_quantity = {q: engine.cost.parts(q, chunks, decodes, context) for q in QUANTITIES}
    sums = {q: p.kernels + p.exchanges for q, p in by_quantity.items()}
    time_s = max(engine.cost.step_s(chunks, decodes, context), sums["floor_s"])
    launched = engine.cost.launched(by_quantity["time_s"], chunks, decodes)
    factor = engine.law.prompts if chunks else engine.law.kernels
    # time that launching adds to the kernels is time of the host, with the factor of the kernels
    launch_wait_s = factor * (launched.kernels - by_quantity["time_s"].kernels)
    # the cost is that of one tensor-parallel rank, summed over the stages of a pipeline
    energy_j = sums["energy_j"] * engine.parallel.tensor
    tokens = sum([c.tokens for c in chunks])
    # the host model without kernels and collectives gives the overhead of the host alone
    return EngineStep(
        what,
        tokens,
        decodes,
        context,
        time_s,
        host_s=launch_wait_s
        + engine.target_cost.offloaded_s(tokens + decodes)
        + engine.law.step(0.0, 0.0, len(chunks), decodes),
        low_s=sums["low_s"],
        high_s=sums["high_s"],
        floor_s=sums["floor_s"],
        energy_j=None if math.isnan(energy_j) else energy_j,
    )


def with_parts(engine: Engine, steps: tuple[EngineStep, ...], load: Load) -> tuple[EngineStep, ...]:
    """Return the steps with the breakdown of their time."""
    detailed: list[EngineStep] = []
    for step in steps:
        is_decode = step.decodes > 0
        env = {"decodes": step.decodes, "context": round(step.context)}
        if not is_decode:
            env = {"batch": 1, "seq": step.tokens, "past": load.least_cached_tokens}
        device_s = step.time_s - step.host_s
        parts = parts_of(engine, env, device_s, step.host_s, is_decode=is_decode)
        detailed.append(replace(step, parts=parts))
    return tuple(detailed)


STATEFUL = frozenset(
    {
        "causal_conv_with_state",
        "varlen_causal_conv_with_state",
        "gated_delta_net",
        "linear_attention",
        "state_space_scan",
    }
)
"""Mnemonics of ops that read and write recurrent states."""
SHARES: Mapping[Kind, WorkShare] = {
    Kind.MATMUL: WorkShare.PRODUCTS,
    Kind.ATTENTION: WorkShare.ATTENTION,
    Kind.RECURRENT: WorkShare.STATES,
    Kind.COLLECTIVE: WorkShare.EXCHANGES,
}


def share_of(kernel: Kernel) -> WorkShare:
    """Return the kind of work that a kernel does."""
    result = kernel.nodes[0].results[0].name  # it has the path of the module in the lowered model
    mnemonics = {node.op.mnemonic for node in kernel.nodes}
    # the most specific kind first: these operators are matmuls, too
    if mnemonics & {"moe", "qmoe"}:
        return WorkShare.EXPERTS
    if mnemonics & STATEFUL:
        return WorkShare.STATES
    if "grouped_gemm" in mnemonics:
        return WorkShare.ADAPTERS
    if result.startswith("sampling."):
        return WorkShare.SAMPLING
    if kernel.kind is Kind.MATMUL and ".head" in result:
        return WorkShare.HEAD
    return SHARES.get(kernel.kind, WorkShare.BETWEEN)


def parts_of(
    engine: Engine, env: Env, device_s: float, host_s: float, *, is_decode: bool
) -> tuple[StepPart, ...]:
    """Return the parts of a step, sorted by time, with the host last.

    Args:
        engine: engine that runs the step.
        env: values of the symbolic dimensions.
        device_s: time of kernels and collectives in the step.
        host_s: the rest of its time.
        is_decode: True for a decode step, False for a prefill step.
    """
    sums: dict[WorkShare, float] = {}
    cost = engine.cost
    if isinstance(cost, ImagedCost):
        if not is_decode and not env["past"]:
            tower = cost.tower.at("time_s", cost.images)
            sums[WorkShare.TOWER] = tower.kernels + tower.exchanges
        cost = cost.language
    # a stage, its count, and the kind of all its work; None where kernels differ in kind
    stages: list[tuple[StageCost, int, WorkShare | None]] = [(s, n, None) for s, n in cost.stages]
    if isinstance(cost, DraftedCost):
        # a prompt passes the drafter once
        passes = cost.tokens if is_decode else 1
        stages += [(stage, passes * n, WorkShare.DRAFTS) for stage, n in cost.drafting.stages]
    for stage, count, whole in stages:
        times = _times(stage, env, engine, is_decode=is_decode)
        for share, time_s in times:
            kind = whole or share
            sums[kind] = sums.get(kind, 0.0) + count * time_s
    # the step's time is interpolated between grid points, so the sum of kernels may differ
    scale = device_s / sum(sums.values())
    ordered = sorted(sums.items(), key=lambda pair: -pair[1])
    parts = [StepPart(share.value, time_s * scale) for share, time_s in ordered]
    return (*parts, StepPart(WorkShare.HOST.value, host_s)) if host_s > 0 else tuple(parts)


Times = list[tuple[WorkShare, float]]
"""Seconds by kind of work; kinds repeat."""


def _times(stage: StageCost, env: Env, engine: Engine, *, is_decode: bool) -> Times:
    """Return the kernel times of a step; with prompts also conversions and widened weights."""
    times: Times = []
    # long prompts widen narrow weights first: the kernels are then those of a model in 16 bits
    if not is_decode and stage.widened is not None and stage.widens(env["seq"]):
        times.append((WorkShare.BETWEEN, stage.widening_s))
        stage = stage.widened
    kernels, costs = stage.alone(env, is_decode=is_decode)
    if is_decode:
        return [(share_of(k), cost.time_s) for k, cost in zip(kernels, costs, strict=True)]
    program, machine, kind = stage.passes.prefill, engine.machine, stage.kind
    for i, (kernel, cost) in enumerate(zip(kernels, costs, strict=True)):
        run = multiplied(cost, program, [i], env, machine, kind)
        times.append((share_of(kernel), run.time_s))
    if kind is not None and kind.converts:
        every = range(len(program.counts))
        times.append((WorkShare.BETWEEN, between_s(program, every, env, machine, kind)))
    return times
