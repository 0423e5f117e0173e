"""Single steps of an engine as a report shows them, and what the time of each goes to."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from enum import Enum

from perfc.ir.op import Kind
from perfc.ir.record import record
from perfc.passes.fuse import Kernel

from .cost.conversions import between_s, multiplied
from .cost.drafts import DraftedCost
from .cost.images import ImagedCost
from .cost.program import QUANTITIES, Env, each_alone
from .cost.step import StageCost
from .engine import Engine
from .simulation.load import Load
from .simulation.scheduler import Chunk
from .simulation.simulate import Run


class Share(Enum):
    """Kinds of work in a step."""

    PRODUCTS = "products"
    """Of linear layers."""
    EXPERTS = "experts"
    """Products of the experts that a router chooses."""
    ATTENTION = "attention"
    STATES = "states"
    """Scans of layers with a state, and the convolutions before them."""
    BETWEEN = "norms and elements"
    """Normalisations, rotations, activations, copies, conversions."""
    HEAD = "head"
    """The product that gives the vocabulary."""
    SAMPLING = "sampling"
    """Of the next token, from scores of the vocabulary."""
    ADAPTERS = "adapters"
    """What low-rank adapters add to linear layers."""
    TOWER = "tower of images"
    DRAFTS = "drafts"
    """All that the model which drafts tokens does."""
    EXCHANGES = "exchanges"
    """Among ranks."""
    HOST = "host"
    """What the engine takes beside its kernels."""

    __hash__ = object.__hash__


@record
class StepPart:
    """A part of a step.

    Args:
        what: kind of work.
        time_s: that it takes; all parts together take the step's time.
    """

    what: str
    time_s: float


@record
class StepView:
    """One step of an engine.

    Args:
        what: which.
        tokens: of a prompt that it computes, 0 for none.
        decodes: sequences that write a token in it.
        context: tokens that each of those holds.
        time_s: expected, the host's part included.
        host_s: part of that which the engine's host takes beside kernels and exchanges.
        low_s: end of the interval that holds nine in ten times of the kernels.
        high_s: its other end.
        floor_s: nothing is faster.
        energy_j: of all ranks; None where no power is known.
        parts: what its time goes to, where that was asked for.
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


def steps_of(engine: Engine, run: Run, load: Load) -> tuple[StepView, ...]:
    """A prompt alone, and the usual decode step."""
    decodes = [s for s in run.strides if not s.chunks] or list(run.strides)
    usual = max(decodes, key=lambda s: s.steps * s.decodes)
    held = load.least_cached_tokens
    isl = min(load.isl - held, engine.kind.token_budget)
    prompt = (Chunk(isl, held),)
    found = [_step(engine, f"prompt of {isl} alone", prompt, 0, 0.0)]
    if usual.decodes:
        drafted = engine.speculation.tokens
        verified = f" + {drafted} drafted" if drafted else ""
        what = f"decode, {usual.decodes} × {round(usual.context)} cached{verified}"
        found.append(_step(engine, what, (), usual.decodes, usual.context))
    return tuple(found)


def _step(
    engine: Engine, what: str, chunks: tuple[Chunk, ...], decodes: int, context: float
) -> StepView:
    each = {q: engine.cost.parts(q, chunks, decodes, context) for q in QUANTITIES}
    sums = {q: p.kernels + p.exchanges for q, p in each.items()}
    time_s = max(engine.cost.step_s(chunks, decodes, context), sums["floor_s"])
    launched = engine.cost.launched(each["time_s"], chunks, decodes)
    factor = engine.law.prompts if chunks else engine.law.kernels
    waiting_s = factor * (launched.kernels - each["time_s"].kernels)
    energy_j = sums["energy_j"] * engine.parallel.tensor
    return StepView(
        what, sum([c.tokens for c in chunks]), decodes, context, time_s,
        waiting_s + engine.law.step(0.0, 0.0, len(chunks), decodes), sums["low_s"],
        sums["high_s"],
        sums["floor_s"],
        None if math.isnan(energy_j) else energy_j,
    )  # fmt: skip


def with_parts(engine: Engine, steps: tuple[StepView, ...], load: Load) -> tuple[StepView, ...]:
    """The steps with what their time goes to."""
    found: list[StepView] = []
    for step in steps:
        is_decode = step.decodes > 0
        env = {"decodes": step.decodes, "context": round(step.context)}
        if not is_decode:
            env = {"batch": 1, "seq": step.tokens, "past": load.least_cached_tokens}
        device_s = step.time_s - step.host_s
        parts = parts_of(engine, env, device_s, step.host_s, is_decode=is_decode)
        found.append(replace(step, parts=parts))
    return tuple(found)


STATEFUL = frozenset({
    "causal_conv_with_state", "varlen_causal_conv_with_state", "gated_delta_net",
    "linear_attention", "state_space_scan",
})  # fmt: skip
"""Mnemonics of what reads and writes states."""
SHARES: Mapping[Kind, Share] = {
    Kind.MATMUL: Share.PRODUCTS, Kind.ATTENTION: Share.ATTENTION, Kind.RECURRENT: Share.STATES,
    Kind.COLLECTIVE: Share.EXCHANGES,
}  # fmt: skip


def share_of(kernel: Kernel) -> Share:
    """The kind of work that a kernel does."""
    anchor = kernel.nodes[0]
    mnemonics = {node.op.mnemonic for node in kernel.nodes}
    if mnemonics & {"moe", "qmoe"}:
        return Share.EXPERTS
    if mnemonics & STATEFUL:
        return Share.STATES
    if "grouped_gemm" in mnemonics:
        return Share.ADAPTERS
    if anchor.results[0].name.startswith("sampling."):
        return Share.SAMPLING
    if kernel.kind is Kind.MATMUL and ".head" in anchor.results[0].name:
        return Share.HEAD
    return SHARES.get(kernel.kind, Share.BETWEEN)


def parts_of(
    engine: Engine, env: Env, device_s: float, host_s: float, *, is_decode: bool
) -> tuple[StepPart, ...]:
    """The parts of a step, the longest kind of kernels first and the host last.

    Args:
        engine: whose step it is.
        env: values of the symbols of the pass.
        device_s: what kernels and exchanges take in the step.
        host_s: the rest of it.
        is_decode: whether it is a step of single tokens, else of a prompt.
    """
    sums: dict[Share, float] = {}
    cost = engine.cost
    if isinstance(cost, ImagedCost):
        if not is_decode and not env["past"]:
            tower = cost.tower.at("time_s", cost.images)
            sums[Share.TOWER] = tower.kernels + tower.exchanges
        cost = cost.language
    stages: list[tuple[StageCost, int, Share | None]] = [(s, n, None) for s, n in cost.stages]
    if isinstance(cost, DraftedCost):
        passes = cost.tokens if is_decode else 1
        stages += [(stage, passes * n, Share.DRAFTS) for stage, n in cost.drafting.stages]
    for stage, count, whole in stages:
        times = (_of_tokens if is_decode else _of_prompts)(stage, env, engine)
        for share, time_s in times:
            kind = whole or share
            sums[kind] = sums.get(kind, 0.0) + count * time_s
    # the step is read off grids between whose points these sizes may lie
    scale = device_s / sum(sums.values())
    ordered = sorted(sums.items(), key=lambda pair: -pair[1])
    found = [StepPart(share.value, time_s * scale) for share, time_s in ordered]
    return (*found, StepPart(Share.HOST.value, host_s)) if host_s > 0 else tuple(found)


Times = list[tuple[Share, float]]


def _of_tokens(stage: StageCost, env: Env, engine: Engine) -> Times:
    """Of a step of single tokens."""
    program = stage.passes.decode
    costs = each_alone(program, env, engine.machine, stage.framework)
    pairs = zip(program.table.kernels, costs, strict=True)
    return [(share_of(kernel), cost.time_s) for kernel, cost in pairs]


def _of_prompts(stage: StageCost, env: Env, engine: Engine) -> Times:
    """Of a step of prompts, what is converted and widened beside its kernels included."""
    found: Times = []
    if stage.widened is not None and stage.widens(env["seq"]):
        found.append((Share.BETWEEN, stage.widening_s))
        stage = stage.widened
    program, machine, kind = stage.passes.prefill, engine.machine, stage.kind
    costs = each_alone(program, env, machine, stage.framework)
    for i, (kernel, cost) in enumerate(zip(program.table.kernels, costs, strict=True)):
        run = multiplied(cost, program, [i], env, machine, kind)
        found.append((share_of(kernel), run.time_s))
    if kind is not None and kind.converts:
        every = range(len(program.counts))
        found.append((Share.BETWEEN, between_s(program, every, env, machine)))
    return found
