"""Training step of a model on many devices: time, exposed communication and memory.

`step_cost` predicts one setting; plans and scaling curves call it for many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from perfc.analyzers.runs.run_law import RunLaw, law_of
from perfc.errors import ModelError, ParseError
from perfc.ir import record
from perfc.machine import Cluster, Machine, capacity_of
from perfc.machine.parallel import ALONE, Parallel

from .costs.memory import MemoryParts, memory_of
from .costs.work import RankParts, TrainingWork, device_bytes_per_s
from .fabric import fabric_of
from .kinds import Loss, kinds
from .parts import PartCost, streamed_s
from .schedules import schedule_named
from .stage import StageWork
from .training import CHECKPOINTINGS, Training

# names of the parts of a step's time, besides the names of `kinds`
COMPUTATION = "computation"
RECOMPUTATION = "recomputation"
BUBBLE = "pipeline bubble"
OPTIMIZER = "optimizer"
HOST = "host"
STRAGGLING = "slowest rank"
REFERENCE = "llm-foundry"
"""Framework that runs the pointwise kernels of a graph at their predicted time: 14 runs of 125
million to 3 billion parameters on A100 and H100, error 2.7 % on average."""


@record
class DividedStepCost:
    """Prediction of a training step on many devices.

    Args:
        parallel: degrees of parallelism.
        training: sizes.
        gpus: number of devices.
        nodes: number of nodes that they fill.
        micro_batches: number of micro-batches of each copy.
        time_s: predicted time.
        low_s: lower end of the 90 % interval.
        high_s: its upper end.
        floor_s: lower bound: the kernels' lower bounds on one rank.
        tokens_per_s: tokens per second of all devices.
        model_flop: FLOPs of one step, 6 per multiply-accumulate of the forward pass, or 4 if most
            parameters are frozen: products of every token, and attention pairs inside masks,
            windows and chunks. Recomputation is left out.
        mfu: model FLOPs per second over the data sheet rate of all devices.
        parts_s: breakdown of ``time_s``, by name.
        exchanged_s: communication time by kind, overlapped one included.
        memory: memory of the rank with the most.
        fits: whether that fits on its device.
        lora_rank: rank of the adapters that alone are trained; 0 if all parameters are.
        runtime: fusion rules of the kernels.
        frameworks: frameworks whose published runs the interval covers; empty if one was named.
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
    runtime: str
    frameworks: tuple[str, ...] = ()
    lora_rank: int = 0

    @property
    def bottleneck(self) -> str:
        """Return the largest overhead besides computation, or computation if all are small."""
        losses = {name: s for name, s in self.parts_s.items() if name != COMPUTATION}
        name = max(losses, key=lambda n: losses[n], default=COMPUTATION)
        # an overhead below 2 % of the step is too small to be shown as the bottleneck
        return name if losses and losses[name] > 0.02 * self.time_s else COMPUTATION


def checked(work: TrainingWork, parallel: Parallel) -> Parallel:
    """Return the degrees if they are compatible with one another and with the model.

    Raises:
        ParseError: they are not compatible with one another.
        ModelError: the model cannot be divided by them.
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
    work: TrainingWork,
    parallel: Parallel,
    training: Training,
    *,
    law: RunLaw | None = None,
) -> DividedStepCost:
    """Return the prediction of a step.

    Args:
        work: the model on its machine.
        parallel: degrees of parallelism.
        training: sizes of the step.
        law: fitted run overhead; that of any framework by default.

    Raises:
        ParseError: incompatible degrees, or samples that are not divisible by them.
        ModelError: the model cannot be divided by these degrees.
    """
    links = fabric_of(work.target)
    cluster, machine = links.cluster, links.cluster.machine
    parallel = checked(work, parallel)
    training = _divided(training, parallel)
    count, last = training.micro_batches(parallel.data), parallel.pipeline - 1
    unscaled = work.parts(parallel, training.micro_batch, training.seq)
    # only now, as `parts` finds out whether the steps of a graph have a fit: with a fit, factors of
    # kernels are 1; without a fit, they are relative to the factors of the reference
    fitted = work.law(law or law_of(arch=machine.arch), law_of(REFERENCE, machine.arch))
    parts = scaled(unscaled, fitted, training)
    first = StageWork(work, parts, 0, parallel, training, links, count)
    stages = [replace(first, stage=i) for i in sorted({0, min(1, last), last})]
    by_stage = list(map(_stage, stages))  # first, second for all in the middle, last
    slowest = max(by_stage, key=lambda e: e.busy_s)
    parts_s = _parts_s(slowest, by_stage[min(1, len(by_stage) - 1)], fitted)
    time_s = sum(parts_s.values())
    flop = count * parallel.data * undivided_flop(work, training)
    memory = max(map(memory_of, stages), key=lambda m: m.total)
    capacity = capacity_of(machine, work.reserve)
    # layers are most of a step: the interval of the first layer stands for all kernels
    low, high = _band(parts.layers[0].low, parts.layers[0].high, fitted)
    return DividedStepCost(
        parallel,
        training,
        gpus=parallel.devices,
        nodes=-(-parallel.devices // cluster.gpus_per_node),
        micro_batches=count,
        time_s=time_s,
        low_s=time_s * low,
        high_s=time_s * high,
        floor_s=_floor_s(stages) + min([streamed_s(machine, update_bytes(s)) for s in stages]),
        tokens_per_s=training.batch * training.seq / time_s,
        model_flop=flop,
        mfu=flop / time_s / parallel.devices / peak_flop_per_s(machine),
        parts_s=parts_s,
        exchanged_s=slowest.exchanged_s,
        memory=memory,
        fits=capacity is not None and memory.total <= capacity.process_bytes,
        runtime=work.runtime,
        lora_rank=work.lora_rank,
    )


def _floor_s(stages: Sequence[StageWork]) -> float:
    """Return a lower bound of all micro-batches, to which callers add the shortest update.

    The busiest stage takes at least the mean of all stages, most of which ``stages`` leaves out.
    """
    first = stages[0]
    # the whole model as one stage
    degrees = replace(first.parallel, pipeline=1, virtual_stages=1, schedule=ALONE.schedule)
    mean_s = replace(first, stage=0, parallel=degrees).floor_s / first.parallel.pipeline
    return first.micro_batches * max([mean_s, *(s.floor_s for s in stages)])


def _divided(training: Training, parallel: Parallel) -> Training:
    """Return the sizes of a step with the number of micro-batches that its degrees fix.

    Raises:
        ParseError: checkpointing of one device alone.
    """
    if training.checkpointing not in CHECKPOINTINGS:
        message = f"{training.checkpointing.value} is of one device"
        raise ParseError(message, where="--checkpointing", hint="none, selective or block")
    count = parallel.micro_batches
    return training.divided(parallel.data, count) if count else training


def undivided_flop(work: TrainingWork, training: Training) -> float:
    """Return the FLOPs of a micro-batch, however ranks pad, repeat or approximate its products."""
    whole = work.parts(ALONE, training.micro_batch, training.seq)
    # 2 forward, 2 for the gradient of the input, 2 for that of the weight, which frozen ones lack
    per_mac = 4.0 if work.lora_rank else 6.0
    return per_mac * sum(p.mac for p in (whole.first, *whole.layers, whole.last))


def covering(
    cost: DividedStepCost, work: TrainingWork, others: Mapping[str, RunLaw]
) -> DividedStepCost:
    """Return a step whose interval also covers the predictions for each framework.

    Args:
        cost: step of an unnamed framework.
        work: the model on its machine.
        others: fits of single frameworks, by name.
    """
    steps = [step_cost(work, cost.parallel, cost.training, law=law) for law in others.values()]
    return replace(
        cost,
        low_s=min([cost.low_s, *(c.low_s for c in steps)]),
        high_s=max([cost.high_s, *(c.high_s for c in steps)]),
        frameworks=tuple(sorted(others)),
    )


_SCALED: dict[tuple[int, RunLaw, bool], tuple[RankParts, RankParts]] = {}
"""Cache of scaled parts by the identity of the parts: hashing these takes longer than a step."""
MOST_SCALED = 2048
"""Maximum entries of the cache; it refers to its parts, which would never be freed otherwise."""


def scaled(parts: RankParts, law: RunLaw, training: Training) -> RankParts:
    """Return parts scaled by the fitted run overhead; frozen parameters have no gradients."""
    key = id(parts), law, training.is_frozen
    # a new object may have the identity of a freed object
    if key in _SCALED and _SCALED[key][0] is parts:
        return _SCALED[key][1]
    scaled_parts: dict[int, PartCost] = {}

    def scaled_part(part: PartCost) -> PartCost:
        # layers of equal cost are one object
        if id(part) not in scaled_parts:
            new = part.scaled(law.factors)
            scaled_parts[id(part)] = replace(new, weight_s=0.0) if training.is_frozen else new
        return scaled_parts[id(part)]

    new = replace(
        parts,
        first=scaled_part(parts.first),
        layers=tuple([scaled_part(p) for p in parts.layers]),
        last=scaled_part(parts.last),
    )
    if len(_SCALED) >= MOST_SCALED:
        _SCALED.clear()
    _SCALED[key] = parts, new
    return new


@record
class _Stage:
    """A stage of a step with its communication, by kind of parallelism.

    ``losses`` are those of each micro-batch, ``once`` those of the whole step.
    """

    work: StageWork
    losses: Mapping[str, Loss]
    once: Mapping[str, Loss]

    @property
    def wait_s(self) -> float:
        """Return the exposed communication of each micro-batch, in seconds."""
        return sum([loss.exposed_s for loss in self.losses.values()])

    @property
    def busy_s(self) -> float:
        """Return the time of all micro-batches one after another, in seconds."""
        return self.work.micro_batches * (self.work.pipeline.whole_s + self.wait_s)

    @property
    def exchanged_s(self) -> dict[str, float]:
        """Return the communication time of a step by kind, in seconds."""
        by_kind = {n: loss.exchanged_s * self.work.micro_batches for n, loss in self.losses.items()}
        for name, loss in self.once.items():
            by_kind[name] = by_kind.get(name, 0.0) + loss.exchanged_s
        return {name: s for name, s in by_kind.items() if s}


def _stage(work: StageWork) -> _Stage:
    """Return a stage with the losses of each kind of parallelism."""
    per_micro_batch = {
        k.name: k.of_micro_batch(work) for k in kinds() if k.of_micro_batch is not None
    }
    once = {k.name: k.of_step(work) for k in kinds() if k.of_step is not None}
    return _Stage(work, per_micro_batch, once)


def _parts_s(slowest: _Stage, middle: _Stage, law: RunLaw) -> dict[str, float]:
    """Return the breakdown of a step's time by name, in seconds.

    Args:
        slowest: stage with the longest work, whose times the step has.
        middle: stage for all but the first and the last, for the bubble.
        law: fitted run overhead.
    """
    work, count = slowest.work, slowest.work.micro_batches
    again_s = work.again_s
    breakdown = {
        COMPUTATION: count * (work.pipeline.whole_s - again_s),
        RECOMPUTATION: count * again_s,
    }
    for name, loss in slowest.losses.items():
        breakdown[name] = count * law.waited_s(loss.exposed_s, loss.exchanged_s)
    # a kind of parallelism may communicate in every micro-batch and once more
    for name, loss in slowest.once.items():
        breakdown[name] = breakdown.get(name, 0.0) + law.waited_s(loss.exposed_s, loss.exchanged_s)
    if work.parallel.pipeline > 1:
        # the bubble is the time in which the slowest stage waits for the others
        stage = middle.work.pipeline
        # exposed communication of a micro-batch delays every stage: a third is added to each of the
        # three times of a stage
        waits_s = (
            sum([law.waited_s(x.exposed_s, x.exchanged_s) for x in middle.losses.values()]) / 3
        )
        slowed = replace(
            stage,
            forward_s=stage.forward_s + waits_s,
            input_s=stage.input_s + waits_s,
            weight_s=stage.weight_s + waits_s,
        )
        breakdown[BUBBLE] = work.schedule.bubble_s(slowed)
    cluster = work.fabric.cluster
    breakdown[OPTIMIZER] = update_bytes(work) / device_bytes_per_s(cluster.machine)
    nodes = work.parallel.devices / cluster.gpus_per_node
    if nodes > 1:
        breakdown[STRAGGLING] = law.straggling * math.log2(nodes) * breakdown[COMPUTATION]
    routed_layers = sum([work.model.routed(i) > 0 for i, _ in work.layers])
    breakdown[HOST] = (law.micro_s + law.routing_s * routed_layers) * count
    return {name: s for name, s in breakdown.items() if s > 0}


def update_bytes(work: StageWork) -> float:
    """Return the bytes that the optimizer reads and writes on one rank."""
    zero = work.parallel.zero
    if work.training.is_frozen or not work.training.has_update:
        return 0.0
    # with ZeRO of any stage, each copy updates only its part of the parameters
    updated = work.parameters / (work.copies.size if zero else 1)
    updated += work.expert_parameters / (work.expert_copies.size if zero else 1)
    return updated * work.training.recipe.traffic_bytes(work.training.optimizer)


def _band(low: float, high: float, law: RunLaw) -> tuple[float, float]:
    """Return the relative ends of the interval: of held-out runs, or of kernels if wider."""
    return min(law.low, low), max(law.high, high)


def peak_flop_per_s(machine: Machine) -> float:
    """Return the dense 16-bit rate of the data sheet, the basis of published utilizations."""
    from perfc.machine import Unit

    return max(machine.entry(Unit.MATRIX, dtype).nominal.value for dtype in ("bf16", "f16"))


def capacity_bytes(work: TrainingWork, machine: Machine) -> float:
    """Return the bytes that a device's driver reports, less the reserve; 0 if unknown."""
    capacity = capacity_of(machine, work.reserve)
    return float(capacity.usable_bytes) if capacity is not None else 0.0


def cluster_of(work: TrainingWork) -> Cluster:
    """Return the cluster of a model's target."""
    return fabric_of(work.target).cluster
