"""Documents of plans and scaling curves: the best setting, its time and the Pareto front.

`plan_document` and `scale_document` are what `perfc plan` prints, without and with ``--curve``.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from perfc.passes.runtimes import TRAINER
from perfc.view.report.formats.document import (
    Amount,
    Column,
    Document,
    Fact,
    Facts,
    Note,
    Section,
    Table,
    in_bytes,
    in_seconds,
    tabulate,
)
from perfc.view.report.units import Unit, plural, size_text, time_range
from perfc.view.result import ResultLayout

from .plan import SHOWN, TrainingPlan
from .scale import MOST_SAMPLES, MOST_TOKENS, ScalingCurve
from .step import DividedStepCost

ONE_GPU = (
    "as trainers ran it: `perfc analyze --train` of a graph is of PyTorch's own kernels and "
    "optimizer, without a fused loss, gradient sums in f32 and what published runs add"
)
"""Why the step of a graph differs from `perfc analyze --train` on one GPU."""


def items(seq: int) -> str:
    """Return the unit that samples are counted in; samples of one token are images or the like."""
    return "tokens" if seq > 1 else "items"


def columns(seq: int) -> tuple[Column, ...]:
    """Return the columns of the Pareto front for samples of ``seq`` tokens."""
    return (
        PARALLEL,
        Column("micro_batch", "micro-batch", Unit.COUNT, cell=lambda c: c.training.micro_batch),
        Column("checkpointing", "recomputed", cell=lambda c: c.training.checkpointing.value),
        Column("time_s", "step"),
        Column(
            "tokens_per_s_per_gpu",
            f"{items(seq)}/s per GPU",
            Unit.COUNT,
            cell=lambda c: round(c.tokens_per_s / c.gpus),
        ),
        *LAST,
    )


PARALLEL = Column("parallel", is_name=True, wraps=True, cell=lambda c: c.parallel.described())
"""Column of the degrees of parallelism."""
LAST = (
    Column("mfu", "MFU", cell=lambda c: Amount(c.mfu, Unit.SHARE)),
    Column("memory_bytes", "memory", cell=lambda c: in_bytes(c.memory.total)),
    Column("bottleneck", "largest overhead", is_spare=True),
)
"""Last columns of costs."""


def plan_document(view: TrainingPlan) -> Document:
    """Return the best setting and the Pareto front of time and memory as a document."""
    length = f" of {view.seq} tokens" if view.seq > 1 else ""
    samples = f"{plural(view.batch, 'sample')}{length}"
    # a cluster has a name for a whole node, which is not what is counted
    is_cluster = view.target != view.gpu
    gpus = (
        f"{plural(view.gpus, 'GPU')} of {view.target}"
        if is_cluster
        else f"{view.gpus} × {view.gpu}"
    )
    title = f"{view.model} on {gpus} · {samples}"
    sections: list[Section] = []
    # if nothing fits, the setting that needs the least memory is shown with a warning
    best = view.best or view.smallest
    assert best is not None
    facts = Facts(tuple(step_facts(best, view.capacity_bytes)))
    looked = f"{view.settings:,} settings, {view.misfits:,} of them too large for the memory"
    notes = [Note(looked)]
    if view.best is None:
        what = "no setting fits; this one needs the least memory"
        notes.append(Note(what, is_warning=True))
    if view.gpus == 1 and best.runtime != TRAINER:
        notes.append(Note(ONE_GPU))
    sections.append(Section("best", best.parallel.described(), (facts, *notes)))
    sections.append(Section("losses", "time of a step", (losses(best),)))
    if view.pareto:
        front = tabulate(columns(view.seq), view.pareto[:SHOWN])
        sections.append(Section("pareto", "time against memory", (front,)))
    return Document(title, tuple(sections))


def step_facts(c: DividedStepCost, capacity: float) -> Iterator[Fact]:
    """Yield the facts of a step."""
    ends = time_range(c.low_s, c.high_s)
    yield Fact("step", in_seconds(c.time_s), f"{ends} (90 % interval)")
    if c.frameworks:
        names = ", ".join(c.frameworks)
        yield Fact("trained by", None, f"interval covers runs of {names}: --trained-by NAME")
    yield Fact(
        "lower bound",
        in_seconds(c.floor_s),
        "compute and update of one rank at the roofline",
    )
    words = f"{c.training.recipe.dtype} products (--dtype), kernels of {c.runtime} (--runtime)"
    yield Fact("computed in", None, words)
    per_gpu = f"{c.tokens_per_s / c.gpus:,.0f} per GPU"
    yield Fact(items(c.training.seq), None, f"{c.tokens_per_s:,.0f} per second, {per_gpu}")
    inside = " inside masks and windows" if c.training.seq > 1 else ""
    per_mac = "4 per MAC, with frozen weights," if c.lora_rank else "6 per MAC"
    basis = f"of 16-bit peak; {c.model_flop:.3g} FLOP, {per_mac}{inside}"
    yield Fact("MFU", Amount(c.mfu, Unit.SHARE), basis)
    micro = f"{plural(c.micro_batches, 'micro-batch', 'micro-batches')} of {c.training.micro_batch}"
    yield Fact(
        "samples", None, f"{micro}, activation checkpointing: {c.training.checkpointing.value}"
    )
    m = c.memory
    breakdown = ", ".join(f"{name} {size_text(n)}" for name, n in asdict(m).items() if n)
    # 0 for a machine without a known capacity
    limit = f"of {size_text(capacity)}: " if capacity else ""
    yield Fact("memory of a GPU", in_bytes(m.total), f"{limit}{breakdown}")
    if c.lora_rank:
        yield Fact("trained", None, f"adapters of rank {c.lora_rank} alone, other weights frozen")
    name, recipe = c.training.optimizer, c.training.recipe
    states = f"{'the f32 master copy and ' if recipe.master_bytes else ''}{name}"
    weights = f"{recipe.weight_bytes:g} per weight, {recipe.gradient_bytes:g} per gradient"
    yield Fact("bytes", None, f"{weights}, {recipe.state_bytes(name):g} for {states}")


def losses(c: DividedStepCost) -> Table:
    """Return the breakdown of a step, with the total time of partly hidden communication."""
    time_s = {name: c.parts_s.get(name, 0.0) for name in (*c.parts_s, *c.exchanged_s)}
    columns = (
        Column("what", "", cell=str),
        Column("time_s", "time", cell=lambda n: in_seconds(time_s[n])),
        Column("share", "of the step", cell=lambda n: Amount(time_s[n] / c.time_s, Unit.SHARE)),
        Column(
            "exchanged_s",
            "communication",
            legend="overlapped communication included",
            cell=lambda n: in_seconds(c.exchanged_s[n]) if n in c.exchanged_s else None,
        ),
    )
    ordered = sorted(time_s, key=lambda n: -time_s[n])
    return tabulate(columns, ordered)


def scale_document(view: ScalingCurve) -> Document:
    """Return a document with one row per number of devices."""
    length = f" of {view.seq} tokens" if view.seq > 1 else ""
    growth = (
        f"samples{length} grow with the devices"
        if view.is_weak
        else f"fixed number of samples{length}"
    )
    item = items(view.seq)
    # rows are costs, which have no efficiency: it is looked up by the identity of the cost
    efficiency = {id(p.cost): p.efficiency for p in view.points}
    head = (
        Column("gpus", "GPUs", Unit.COUNT),
        PARALLEL,
        Column("batch", "samples", Unit.COUNT, cell=lambda c: c.training.batch),
        Column("time_s", "step"),
        Column("range", "90 % interval", cell=lambda c: time_range(c.low_s, c.high_s)),
        Column("tokens_per_s", f"{item}/s", Unit.COUNT, cell=lambda c: round(c.tokens_per_s)),
        Column("efficiency", "scaling", cell=lambda c: Amount(efficiency[id(c)], Unit.SHARE)),
        *LAST,
    )
    rows: list[DividedStepCost] = []
    notes: list[Note] = []
    for p in view.points:
        c = p.cost
        if c is None:
            notes.append(Note(f"{p.gpus} GPUs: {p.why}", is_warning=True))
            continue
        # `misfits` has one note for all that do not fit
        if c.fits:
            rows.append(c)
    if view.is_largest and rows:
        limit = f"{MOST_TOKENS} tokens" if view.seq > 1 else f"{MOST_SAMPLES}"
        chosen = f"the largest power of two that fits and divides the samples, up to {limit}"
        notes.append(Note(f"micro-batch {view.micro_batch}: {chosen} (--micro-batch)"))
    notes += misfits(view)
    title = f"{view.model} on {view.target} · {growth}"
    tables = (tabulate(head, rows),) if rows else ()
    return Document(title, (Section("sizes", "devices", (*tables, *notes)),))


def misfits(view: ScalingCurve) -> Iterator[Note]:
    """Yield a note of the numbers of devices whose memory is too small."""
    full = [p.cost for p in view.points if p.cost is not None and not p.cost.fits]
    if not full:
        return
    least = min(full, key=lambda c: c.memory.total)
    need = size_text(least.memory.total)
    capacity = size_text(view.capacity_bytes)
    numbers = ", ".join(str(c.gpus) for c in full)
    yield Note(
        f"does not fit on {numbers} GPUs: needs at least {need} of {capacity}; `perfc plan` "
        "searches for settings that fit",
        is_warning=True,
    )


PLAN = ResultLayout("perfc-plan/1", TrainingPlan, plan_document, rows="pareto")
SCALE = ResultLayout("perfc-scale/1", ScalingCurve, scale_document, rows="points")
