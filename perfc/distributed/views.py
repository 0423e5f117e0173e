"""What plans and curves show: the best setting, where its time goes, and the front of both."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.view.report.document import (
    Amount,
    Cell,
    Column,
    Document,
    Fact,
    Facts,
    Note,
    Section,
    Table,
)
from perfc.view.report.units import Unit, plural, quantity

from .plan import SHOWN, PlanView
from .scale import MOST_SAMPLES, MOST_TOKENS, ScaleView
from .step import StepCost
from .training import GRADIENT_BYTES, WEIGHT_BYTES, state_bytes


def items(seq: int) -> str:
    """What is counted of samples of so many tokens; those of one are images or the like."""
    return "tokens" if seq > 1 else "items"


def columns(seq: int) -> tuple[Column, ...]:
    """Of the front, with samples of so many tokens."""
    return (
        Column("parallel", "divided", is_name=True),
        Column("micro_batch", "micro-batch", Unit.COUNT),
        Column("checkpointing", "computed again"),
        Column("time_s", "step"),
        Column("tokens_per_s_per_gpu", f"{items(seq)}/s a GPU", Unit.COUNT),
        Column("mfu", "MFU"),
        Column("memory_bytes", "memory"),
        Column("bottleneck", "beside computation"),
    )


def row(c: StepCost) -> tuple[Cell, ...]:
    """A setting as a line."""
    return (
        c.parallel.described(), float(c.training.micro_batch), c.training.checkpointing.value,
        Amount(c.time_s, Unit.SECOND), float(round(c.tokens_per_s / c.gpus)),
        Amount(c.mfu, Unit.SHARE), Amount(c.memory.total, Unit.BYTE), c.bottleneck,
    )  # fmt: skip


def plan_document(found: PlanView) -> Document:
    """The best setting and the front of time against memory."""
    each = f" of {found.seq} tokens" if found.seq > 1 else ""
    samples = f"{plural(found.batch, 'sample')}{each}"
    title = f"{found.model} on {found.gpus} × {found.target} · {samples}"
    sections: list[Section] = []
    best = found.best or found.smallest
    assert best is not None
    facts = Facts(tuple(step_facts(best, found.capacity_bytes)))
    looked = f"{found.settings:,} settings, {found.misfits:,} of them too large for the memory"
    notes = [Note(looked)]
    if found.best is None:
        what = "none fits; this one needs the least memory"
        notes.append(Note(what, is_warning=True))
    sections.append(Section("best", best.parallel.described(), (facts, *notes)))
    sections.append(Section("losses", "where a step goes", (losses(best),)))
    if found.pareto:
        rows = tuple([row(c) for c in found.pareto[:SHOWN]])
        front = Table(columns(found.seq), rows)
        sections.append(Section("pareto", "time against memory", (front,)))
    return Document(title, tuple(sections))


def step_facts(c: StepCost, capacity: float) -> Iterator[Fact]:
    """The step in a few lines."""
    ends = f"{quantity(c.low_s, Unit.SECOND)} to {quantity(c.high_s, Unit.SECOND)}"
    yield Fact("step", Amount(c.time_s, Unit.SECOND), f"{ends}, nine in ten")
    yield Fact("at best", Amount(c.floor_s, Unit.SECOND), "computation of one rank at the roofline")
    each = f"{c.tokens_per_s / c.gpus:,.0f} a GPU"
    yield Fact(items(c.training.seq), None, f"{c.tokens_per_s:,.0f} a second, {each}")
    inside = " inside masks and windows" if c.training.seq > 1 else ""
    of = f"of 16-bit peak; {c.model_flop:.3g} flop, 6 a MAC{inside}"
    yield Fact("MFU", Amount(c.mfu, Unit.SHARE), of)
    micro = f"{plural(c.micro_batches, 'micro-batch', 'micro-batches')} of {c.training.micro_batch}"
    yield Fact("samples", None, f"{micro}, {c.training.checkpointing.value} computed again")
    m = c.memory
    parts = (
        ("parameters", m.parameters), ("gradients", m.gradients), ("optimizer", m.optimizer),
        ("activations", m.activations), ("working", m.working), ("overhead", m.overhead),
    )  # fmt: skip
    words = ", ".join(f"{name} {quantity(n, Unit.BYTE)}" for name, n in parts if n)
    of = f"of {quantity(capacity, Unit.BYTE)}: " if capacity else ""
    yield Fact("memory of a GPU", Amount(m.total, Unit.BYTE), f"{of}{words}")
    name = c.training.optimizer
    each = f"{WEIGHT_BYTES:g} a weight, {GRADIENT_BYTES:g} its gradient, {state_bytes(name):g}"
    yield Fact("bytes", None, f"{each} its f32 copy and {name}: mixed precision")


def losses(c: StepCost) -> Table:
    """What the time goes to, and how long exchanges are that partly hide."""
    columns = (
        Column("what", ""), Column("time_s", "time"), Column("share", "of the step"),
        Column("exchanged_s", "exchanged", legend="what runs beside computation included"),
    )  # fmt: skip
    names = dict.fromkeys((*c.parts_s, *c.exchanged_s))
    rows = tuple(
        (
            name, Amount(c.parts_s.get(name, 0.0), Unit.SECOND),
            Amount(c.parts_s.get(name, 0.0) / c.time_s, Unit.SHARE),
            Amount(c.exchanged_s[name], Unit.SECOND) if name in c.exchanged_s else None,
        )
        for name in sorted(names, key=lambda n: -c.parts_s.get(n, 0.0))
    )  # fmt: skip
    return Table(columns, rows)


def scale_document(found: ScaleView) -> Document:
    """One line for each number of devices."""
    each = f" of {found.seq} tokens" if found.seq > 1 else ""
    how = (
        f"samples{each} grow with the devices" if found.is_weak else f"as many samples{each} on all"
    )
    item = items(found.seq)
    head = (
        Column("gpus", "GPUs", Unit.COUNT),
        Column("parallel", "divided", is_name=True),
        Column("batch", "samples", Unit.COUNT),
        Column("time_s", "step"),
        Column("range", "nine in ten"),
        Column("tokens_per_s", f"{item}/s", Unit.COUNT),
        Column("efficiency", "scaling"),
        Column("mfu", "MFU"),
        Column("memory_bytes", "memory"),
        Column("bottleneck", "beside computation"),
    )
    rows: list[tuple[Cell, ...]] = []
    notes: list[Note] = []
    for p in found.points:
        c = p.cost
        if c is None:
            notes.append(Note(f"{p.gpus} GPUs: {p.why}", is_warning=True))
            continue
        if not c.fits:
            continue
        ends = f"{quantity(c.low_s, Unit.SECOND)} to {quantity(c.high_s, Unit.SECOND)}"
        rows.append(
            (
                float(p.gpus), c.parallel.described(), float(c.training.batch),
                Amount(c.time_s, Unit.SECOND), ends, float(round(c.tokens_per_s)),
                Amount(p.efficiency, Unit.SHARE), Amount(c.mfu, Unit.SHARE),
                Amount(c.memory.total, Unit.BYTE), c.bottleneck,
            )
        )  # fmt: skip
    if found.is_largest and rows:
        most = f"{MOST_TOKENS} tokens" if found.seq > 1 else f"{MOST_SAMPLES}"
        chosen = f"the largest power of two that fits and divides the samples, up to {most}"
        notes.append(Note(f"micro-batch {found.micro_batch}: {chosen} (--micro-batch)"))
    notes += misfits(found)
    title = f"{found.model} on {found.target} · {how}"
    tables = (Table(head, tuple(rows)),) if rows else ()
    return Document(title, (Section("sizes", "devices", (*tables, *notes)),))


def misfits(found: ScaleView) -> Iterator[Note]:
    """The numbers of devices that are not listed since memory does not hold the model."""
    full = [p.cost for p in found.points if p.cost is not None and not p.cost.fits]
    if not full:
        return
    least = min(full, key=lambda c: c.memory.total)
    need = quantity(least.memory.total, Unit.BYTE)
    of = quantity(found.capacity_bytes, Unit.BYTE)
    some = ", ".join(str(c.gpus) for c in full)
    yield Note(
        f"does not fit on {some} GPUs: {need} of {of} at least; `perfc plan` looks for ways that "
        "fit", is_warning=True,
    )  # fmt: skip
