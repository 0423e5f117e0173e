"""A step of a divided model: what it takes, what it waits for, and what each rank holds."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

from perfc.errors import ModelError, ParseError
from perfc.ir.record import record
from perfc.machine import Cluster, Machine, capacity_of
from perfc.machine.parallel import Parallel

from .costs.memory import MemoryParts, memory_of
from .costs.work import RankParts, TrainingWork
from .fabric import Fabric, fabric_of
from .kinds import Loss, kinds
from .law import RunLaw, law_of
from .parts import PartCost
from .schedules import schedule_named
from .stage import StageWork
from .training import CHECKPOINTINGS, Training, traffic_bytes

COMPUTATION = "computation"
RECOMPUTATION = "recomputation"
BUBBLE = "pipeline bubble"
OPTIMIZER = "optimizer"
HOST = "host"
STRAGGLING = "slowest rank"


@record
class DividedStepCost:
    """A step of a divided model.

    Args:
        parallel: how it is divided.
        training: sizes.
        gpus: devices.
        nodes: that they fill.
        micro_batches: of each copy.
        time_s: expected.
        low_s: end of the interval that holds nine in ten.
        high_s: its other end.
        floor_s: nothing is faster: the kernels' floors of one rank.
        tokens_per_s: of all devices.
        model_flop: of one step, 6 for each multiply-accumulate of the forward pass: products of
            every token, and of attention the pairs inside its mask, window or chunk. What is
            computed again is left out.
        mfu: of the rate that the data sheets of all devices state.
        parts_s: what the time goes to, by name; their sum is ``time_s``.
        exchanged_s: exchanges that run beside computation included, by kind.
        memory: of the rank that holds the most.
        fits: whether its device has room.
    """

    parallel: Parallel
    training: Training
    gpus: int
    nodes: int
    micro_batches: int
    time_s: float
    low_s: float
    high_s: float
    floor_s: float
    tokens_per_s: float
    model_flop: float
    mfu: float
    parts_s: Mapping[str, float]
    exchanged_s: Mapping[str, float]
    memory: MemoryParts
    fits: bool

    @property
    def bottleneck(self) -> str:
        """What the time goes to beside computation, the most of it."""
        losses = {name: s for name, s in self.parts_s.items() if name != COMPUTATION}
        name = max(losses, key=lambda n: losses[n], default=COMPUTATION)
        return name if losses and losses[name] > 0.02 * self.time_s else COMPUTATION


def checked(work: TrainingWork, parallel: Parallel) -> Parallel:
    """Degrees that go together.

    Raises:
        ParseError: they do not.
        ModelError: the model does not divide so.
    """
    p = parallel
    schedule = schedule_named(p.schedule)
    if p.pipeline > work.depth:
        raise ModelError(f"{work.depth} layers are fewer than {p.pipeline} stages", where=work.name)
    if p.virtual_stages > 1 and not schedule.is_interleaved:
        hint = "--schedule interleaved"
        raise ParseError(
            f"{p.schedule} has no parts of stages", where="--virtual-stages", hint=hint
        )
    if p.virtual_stages * p.pipeline > work.depth:
        message = f"{work.depth} layers do not divide into {p.virtual_stages * p.pipeline} parts"
        raise ModelError(message, where=work.name)
    if p.attention_data > 1 or p.nodes > 1:
        raise ParseError("training steps are not divided so", where="--attention-dp")
    if p.sequence and p.tensor < 2:
        raise ParseError("needs ranks that share products", where="--sp", hint="--tp 2 or more")
    within = p.tensor * p.context * p.data
    if p.expert > 1 and (within % p.expert or p.expert % p.tensor):
        hint = f"a multiple of {p.tensor} that divides {within}"
        message = f"experts cannot be divided among {p.expert} ranks"
        raise ParseError(message, where="--ep", hint=hint)
    if p.expert > 1 and not work.has_experts:
        raise ModelError("it has no experts", where=work.name, hint="leave --ep out")
    return p


def step_cost(
    work: TrainingWork, parallel: Parallel, training: Training, *, law: RunLaw | None = None,
    fabric: Fabric | None = None,
) -> DividedStepCost:  # fmt: skip
    """What a step takes.

    Args:
        work: the model on its machine.
        parallel: how it is divided.
        training: sizes of the step.
        law: what runs take beside kernels and links; that of any framework by default.
        fabric: what joins the ranks; the links of the target by default.

    Raises:
        ParseError: degrees that do not go together, samples that do not divide.
        ModelError: the model does not divide so.
    """
    links = fabric or fabric_of(work.target)
    machine = links.cluster.machine
    known = law if law is not None else law_of(arch=machine.arch)
    parallel = checked(work, parallel)
    if training.checkpointing not in CHECKPOINTINGS:
        message = f"{training.checkpointing.value} is of one device"
        raise ParseError(message, where="--checkpointing", hint="none, selective or block")
    if parallel.micro_batches:
        training = training.divided(parallel.data, parallel.micro_batches)
    count = training.micro_batches(parallel.data)
    alone = work.parts(parallel, training.micro_batch, training.seq)
    known = work.law(known)
    parts = scaled(alone, known, training)
    last = parallel.pipeline - 1
    stages = [
        StageWork(work, parts, i, parallel, training, links, count)
        for i in dict.fromkeys((0, min(1, last), last))
    ]
    each = [_stage(s) for s in stages]
    slowest = max(each, key=lambda e: e.busy_s)
    # the bubble is of the other stages: those in the middle
    middle = each[min(1, len(each) - 1)]
    parts_s = _parts_s(slowest, middle, known, _update_s(slowest.work, machine))
    time_s = sum(parts_s.values())
    # ranks of a context attend to half of what others hold on average; the whole is exact
    whole = work.parts(replace(parallel, context=1), training.micro_batch, training.seq)
    flop = 6.0 * sum([p.mac for p in (whole.first, *whole.layers, whole.last)])
    flop *= parallel.tensor * count * parallel.data
    memory = max([memory_of(s) for s in stages], key=lambda m: m.total)
    cluster, capacity = links.cluster, capacity_of(machine, work.reserve)
    low, high = _band(parts.layers[0].low, parts.layers[0].high, known)
    return DividedStepCost(
        parallel, training, parallel.devices, -(-parallel.devices // cluster.gpus_per_node), count,
        time_s, time_s * low, time_s * high,
        count * sum([p.floor_s for p in slowest.work.every_part]),
        training.batch * training.seq / time_s, flop,
        flop / time_s / parallel.devices / peak_flop_per_s(machine),
        parts_s, slowest.exchanged_s, memory,
        capacity is not None and memory.total <= capacity.process_bytes,
    )  # fmt: skip


_SCALED: dict[tuple[int, RunLaw, bool], tuple[RankParts, RankParts]] = {}
"""Parts under a law, by the identity of those without: hashing them takes longer than a step."""
MOST_SCALED = 2048


def scaled(parts: RankParts, law: RunLaw, training: Training) -> RankParts:
    """Parts as runs have them; where parameters are frozen nobody asks for their gradients."""
    key = id(parts), law, training.is_frozen
    if key in _SCALED and _SCALED[key][0] is parts:
        return _SCALED[key][1]
    found: dict[int, PartCost] = {}

    def one(part: PartCost) -> PartCost:
        if id(part) not in found:
            new = part.scaled(law.factors)
            found[id(part)] = replace(new, weight_s=0.0) if training.is_frozen else new
        return found[id(part)]

    layers = tuple([one(p) for p in parts.layers])
    new = RankParts(one(parts.first), layers, one(parts.last), parts.tied_parameters)
    if len(_SCALED) >= MOST_SCALED:
        _SCALED.clear()
    _SCALED[key] = parts, new
    return new


@record
class _Stage:
    """A stage of a step: its micro-batches, and what they wait for."""

    work: StageWork
    losses: Mapping[str, Loss]
    once: Mapping[str, Loss]

    @property
    def wait_s(self) -> float:
        """Of each micro-batch."""
        return sum([loss.exposed_s for loss in self.losses.values()])

    @property
    def busy_s(self) -> float:
        """All micro-batches, one after the other."""
        return self.work.micro_batches * (self.work.pipeline.whole_s + self.wait_s)

    @property
    def exchanged_s(self) -> dict[str, float]:
        """Of a step, by kind."""
        found = {n: loss.exchanged_s * self.work.micro_batches for n, loss in self.losses.items()}
        for name, loss in self.once.items():
            found[name] = found.get(name, 0.0) + loss.exchanged_s
        return {name: s for name, s in found.items() if s}


def _stage(work: StageWork) -> _Stage:
    each = {k.name: k.of_micro_batch(work) for k in kinds() if k.of_micro_batch is not None}
    once = {k.name: k.of_step(work) for k in kinds() if k.of_step is not None}
    return _Stage(work, each, once)


def _parts_s(slowest: _Stage, middle: _Stage, law: RunLaw, update_s: float) -> dict[str, float]:
    """What a step goes to, by name."""
    work, count = slowest.work, slowest.work.micro_batches
    again_s = work.again_s
    found = {
        COMPUTATION: count * (work.pipeline.whole_s - again_s),
        RECOMPUTATION: count * again_s,
    }
    for name, loss in slowest.losses.items():
        found[name] = found.get(name, 0.0) + count * law.waited_s(loss)
    for name, loss in slowest.once.items():
        found[name] = found.get(name, 0.0) + law.waited_s(loss)
    if work.parallel.pipeline > 1:
        stage = middle.work.pipeline
        # what a micro-batch waits for is waited for in every stage
        waits_s = sum([law.waited_s(x) for x in middle.losses.values()]) / 3
        slowed = replace(
            stage, forward_s=stage.forward_s + waits_s, input_s=stage.input_s + waits_s,
            weight_s=stage.weight_s + waits_s,
        )  # fmt: skip
        found[BUBBLE] = work.schedule.bubble_s(slowed)
    found[OPTIMIZER] = update_s
    nodes = work.parallel.devices / work.fabric.cluster.gpus_per_node
    if nodes > 1:
        found[STRAGGLING] = law.straggling * math.log2(nodes) * found[COMPUTATION]
    sorting = sum([work.model.routed(i) > 0 for i, _ in work.layers])
    found[HOST] = (law.micro_s + law.routing_s * sorting) * count
    return {name: s for name, s in found.items() if s > 0}


def _update_s(work: StageWork, machine: Machine) -> float:
    """The optimiser reads and writes its states once: bytes by the memory's rate."""
    level = machine.level("device")
    if level is None:
        return 0.0
    rate = (level.sustained or level.nominal).value
    zero = work.parallel.zero
    if work.training.is_frozen or not work.training.has_update:
        return 0.0
    held = work.parameters / (work.copies.size if zero else 1)
    held += work.expert_parameters / (work.expert_copies.size if zero else 1)
    return held * traffic_bytes(work.training.optimizer) / rate


def _band(low: float, high: float, law: RunLaw) -> tuple[float, float]:
    """Ends of the interval over the expected time: held-out runs, or kernels known less well."""
    return min(law.low, low), max(law.high, high)


def peak_flop_per_s(machine: Machine) -> float:
    """Dense 16-bit rate that the data sheet states, as published utilisations take it."""
    from perfc.machine import Unit

    return max(machine.entry(Unit.MATRIX, dtype).nominal.value for dtype in ("bf16", "f16"))


def capacity_bytes(work: TrainingWork, machine: Machine) -> float:
    """Bytes that the driver of a device reports, less what is held back; 0 where not known."""
    capacity = capacity_of(machine, work.reserve)
    return float(capacity.usable_bytes) if capacity is not None else 0.0


def cluster_of(work: TrainingWork) -> Cluster:
    """Of the target of a model's work."""
    return fabric_of(work.target).cluster
