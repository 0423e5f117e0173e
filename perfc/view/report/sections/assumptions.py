"""Assumptions of a report: model, symbols, target, runtime and rates."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from perfc.deployment.step import training_types
from perfc.ir import Basis, DType, record
from perfc.ir.record import project
from perfc.machine import Rate
from perfc.machine import Unit as Engine
from perfc.passes.roofline.roofline import TILE, launch_s

from ..amounts import title
from ..formats.document import Column, Fact, Facts, Section, Table, tabulate
from ..units import DASH, LOWER_BOUND, Unit, quantity, time_text
from . import uncertainty
from .uncertainty import UncertainRate

if TYPE_CHECKING:
    from perfc.api import Report


@record
class SymbolValue:
    """A symbolic extent and the value used for it.

    Args:
        name: name in the model.
        value: the number used.
        origin: ``given``, ``default``, or ``data`` for the lower limit of a data-dependent extent.
        basis: meaning of the symbol, or the formula of a default, ``= past + seq``.
        is_bound: True if formulas contain its value, so that they hold only there.
    """

    name: str
    value: int
    origin: str
    basis: str
    is_bound: bool

    @property
    def label(self) -> str:
        """Return the name with its meaning if the name alone does not tell it: ``batch s72``."""
        stands_for = next((b for b in Basis if b.value == self.basis), Basis.NOTHING)
        return stands_for.labelled(self.name)


@record
class RateUsed:
    """Rates of one unit or memory level that times are computed from.

    Args:
        ceiling: the unit or memory level.
        dtype: element type of the work; empty for memory.
        key: entry of the target file.
        floor_per_s: peak rate of the hardware in flop, operations or bytes per second.
        floor_origin: origin of the peak rate.
        sustained_per_s: rate of the sustained time.
        sustained_origin: ``measured``, or ``vendor`` if it was not measured.
        source: documents and measurements of both rates.
    """

    ceiling: str
    dtype: str
    key: str
    floor_per_s: float
    floor_origin: str
    sustained_per_s: float
    sustained_origin: str
    source: str


@record
class SourceUsed:
    """A document or measurement behind the target's numbers.

    Args:
        title: title of the document.
        date: date of the document or measurement.
        origin: vendor, measured, bound or assumed.
    """

    title: str
    date: str
    origin: str


@record
class Assumptions:
    """Assumptions behind the numbers of a report.

    Args:
        path: file of the model.
        graph: name of the main graph.
        digest: SHA-256 of the file's graph.
        producer: program that wrote the file.
        ir_version: version of the ONNX format.
        opsets: domain to version; the empty domain is the one of ONNX itself.
        symbols: symbolic extents with the values used.
        target: name of the machine.
        target_description: product name of the machine.
        target_sources: sources of the machine's numbers.
        runtime: runtime whose fusion table groups nodes into kernels.
        runtime_title: description of the runtime.
        runtime_source: source of the fusion table.
        launch: eager or graph.
        launch_s: time between the starts of two empty kernels.
        launch_origin: origin of the launch overhead.
        dtype: what-if precision; empty for the model's own.
        trained_in: element types of the step of a configuration; empty for other runs.
        tf32: True if f32 products may use TF32, or the kind of products that may.
        rates: rates used, arithmetic first.
        uncertain_rates: rates that bind kernels and were not reproducible when measured.
        memory_model: assumptions of lower bound and sustained time, and what is not modeled.
    """

    path: str
    graph: str
    digest: str
    producer: str
    ir_version: int
    opsets: dict[str, int]
    symbols: tuple[SymbolValue, ...]
    target: str
    target_description: str
    target_sources: tuple[SourceUsed, ...]
    runtime: str
    runtime_title: str
    runtime_source: str
    launch: str
    launch_s: float
    launch_origin: str
    dtype: str
    trained_in: str
    tf32: bool | str
    rates: tuple[RateUsed, ...]
    uncertain_rates: tuple[UncertainRate, ...]
    memory_model: dict[str, str]


MEMORY_MODEL = (
    (
        "floor",
        "peak rates; device memory moves only data that exceeds L2, and in every run the weights "
        "that exceed it; Winograd filtering where it applies; attention without masked positions",
    ),
    (
        "sustained",
        "measured rates, else the vendor's; L2 holds the most recent traffic, up to its capacity; "
        f"matrix units process tiles of {TILE} x {TILE}, one per multiprocessor in a wave; "
        "a kernel shorter than its launch waits for it",
    ),
    ("left out", "workspace, bank conflicts, clocks below boost, host work"),
)
MEMORY_TITLES = {"floor": LOWER_BOUND, "left out": "not modeled"}
"""Printed labels of memory model entries that have other names in JSON."""


def collect(report: Report, unset: Mapping[str, int]) -> Assumptions:
    """Collect the assumptions of ``report``."""
    origin, machine, runtime = report.source.origin, report.machine, report.kernels.runtime
    overhead = machine.launch_overhead_s
    rates = tuple(rates_used(report))
    names = dict.fromkeys(n for r in rates for n in r.source.split("+"))
    if overhead is not None:
        names.setdefault(overhead.source)
    sources = [machine.sources[n] for n in names if n in machine.sources]
    return project(
        Assumptions,
        origin,
        path=report.path,
        graph=report.source.name,
        opsets=dict(origin.opsets),
        symbols=tuple(symbol_values(report, unset)),
        target=machine.name,
        target_description=machine.description,
        target_sources=tuple(SourceUsed(s.title, s.date, str(s.origin)) for s in sources),
        runtime=runtime.name,
        runtime_title=runtime.title,
        runtime_source=runtime.source,
        launch=runtime.launch.value,
        launch_s=launch_s(machine, runtime.launch),
        launch_origin=str(overhead.origin) if overhead else "",
        dtype=report.dtype,
        trained_in=training_types(report.deployment),
        tf32=(Engine.MATRIX, "tf32") in report.machine.compute and report.tf32.value,
        rates=rates,
        uncertain_rates=uncertainty.collect(report),
        memory_model=dict(MEMORY_MODEL),
    )


def symbol_values(report: Report, unset: Mapping[str, int]) -> Iterator[SymbolValue]:
    """Yield every symbol with the value used for it; ``unset`` are data-dependent extents."""
    for s in report.source.symbols:
        value = report.env[s.name]
        if s.name in report.given:
            stands_for = "" if s.basis is Basis.NOTHING else s.basis.value
            yield SymbolValue(s.name, value, "given", stands_for, s.is_bound)
        else:
            basis = s.basis.value if s.tie is None else f"= {s.tie}"
            yield SymbolValue(s.name, value, "default", basis, s.is_bound)
    for name, least in unset.items():
        yield SymbolValue(name, least, "data", "", False)


def symbols_in_words(symbols: Sequence[SymbolValue]) -> str:
    """Describe the values of symbols, grouped by origin."""
    given = ", ".join(f"{s.label} = {s.value}" for s in symbols if s.origin == "given")
    assumed = ", ".join(
        f"{s.name} = {s.value} ({s.basis})" for s in symbols if s.origin == "default"
    )
    least = ", ".join(f"{s.name} = {s.value}" for s in symbols if s.origin == "data")
    bound = ", ".join(s.name for s in symbols if s.is_bound)
    parts = (
        f"{given} (given)" if given else "",
        f"assumed, set with --dim: {assumed}" if assumed else "",
        f"lower limits, depend on the data: {least}" if least else "",
        f"formulas hold only at the given {bound}" if bound else "",
    )
    return "; ".join(filter(None, parts)) or "none, all extents are fixed"


def rates_used(report: Report) -> Iterator[RateUsed]:
    """Yield the rates of the units and memory levels that the kernels use."""
    machine = report.machine
    needed: dict[tuple[Engine, DType, bool], None] = {}
    for k in report.roofline.kernels:
        c = k.counts
        vector = k.vector_dtype
        for engine, count, dtype in (
            (Engine.MATRIX, c.mac, k.dtype),
            (Engine.VECTOR, c.alu, vector),
            (Engine.SPECIAL, c.sfu, vector),
            (Engine.INTEGER, c.integer, DType.I32),
        ):
            if count:
                # f32 may have two rates, with TF32 allowed and without; other types have one
                needed.setdefault((engine, dtype, k.tf32 or dtype is not DType.F32))
    order = list(Engine)
    # by unit as the target lists them, then by type, with TF32 first
    for engine, dtype, allow_tf32 in sorted(
        needed, key=lambda n: (order.index(n[0]), n[1].code, not n[2])
    ):
        peak = machine.entry(engine, dtype.code, allow_tf32=allow_tf32)
        sustained = peak.sustained or peak.nominal
        yield used(engine.value, dtype.code, peak.peak, sustained)
    for level in machine.memory:
        yield used(level.name, "", level.bandwidth, level.sustained or level.nominal)


def used(ceiling: str, dtype: str, floor: Rate, sustained: Rate) -> RateUsed:
    """Return one row of the table of rates."""
    names = dict.fromkeys([*floor.source.split("+"), *sustained.source.split("+")])
    return RateUsed(
        ceiling,
        dtype,
        floor.key,
        floor_per_s=floor.value,
        floor_origin=str(floor.origin),
        sustained_per_s=sustained.value,
        sustained_origin=str(sustained.origin),
        source="+".join(names),
    )


def section(view: Assumptions, work: str) -> Section:
    """Return the section of assumptions: facts and a table of rates."""
    opsets = ", ".join(f"{d or 'opset'} {v}" for d, v in view.opsets.items())
    precision = f"what-if {view.dtype}" if view.dtype else view.trained_in or "as in the model"
    if view.tf32:
        # a text is the kind of products that may use TF32
        products = view.tf32 if isinstance(view.tf32, str) else "products"
        precision += f"; f32 {products} may use TF32 (--no-tf32)"
    launch = f"{view.launch}, {time_text(view.launch_s)} each ({view.launch_origin})"
    facts = (
        ("model", f"{view.graph}, {opsets}, {view.producer or 'unknown producer'}"),
        ("symbols", symbols_in_words(view.symbols)),
        ("target", f"{view.target}: {view.target_description}"),
        ("sources", f"{dated(view.target_sources)} (perfc targets show {view.target})"),
        ("runtime", f"{view.runtime}: {view.runtime_title}; {work}"),
        ("launch", launch if view.launch_origin else "no overhead"),
        ("precision", precision),
        *((MEMORY_TITLES.get(name, name), words) for name, words in MEMORY_MODEL),
    )
    listed = Facts(tuple(Fact(label, None, words) for label, words in facts))
    doubt = uncertainty.note(view.uncertain_rates)
    notes = () if doubt is None else (doubt,)
    return Section("assumptions", "assumptions", (listed, rate_table(view.rates), *notes))


def dated(sources: Sequence[SourceUsed]) -> str:
    """Summarize sources by origin: their number and years."""
    parts: list[str] = []
    for origin in dict.fromkeys(s.origin for s in sources):
        same = [s for s in sources if s.origin == origin]
        years = sorted({s.date[:4] for s in same if s.date})
        span = f" ({'-'.join(dict.fromkeys((years[0], years[-1])))})" if years else ""
        parts.append(f"{len(same)} {origin}{span}")
    return ", ".join(parts)


def rate_table(rates: tuple[RateUsed, ...]) -> Table:
    """Return the table of peak and sustained rates with their origins."""
    columns = (
        Column("ceiling", cell=lambda r: title(r.ceiling)),
        Column("dtype", "type", is_spare=True, cell=lambda r: r.dtype or DASH),
        Column("floor_per_s", "peak rate", cell=lambda r: quantity(r.floor_per_s, unit_of(r))),
        Column("floor_origin", "origin", is_spare=True),
        Column(
            "sustained_per_s", "sustained", cell=lambda r: quantity(r.sustained_per_s, unit_of(r))
        ),
        Column("sustained_origin", "origin", is_spare=True),
        Column("key", "target entry", is_name=True),
    )
    return tabulate(columns, rates)


def unit_of(rate: RateUsed) -> Unit:
    """Return the unit of a rate."""
    if not rate.dtype:
        return Unit.BYTE_PER_S
    return Unit.FLOP_PER_S if rate.ceiling in ("matrix", "vector") else Unit.OP_PER_S
