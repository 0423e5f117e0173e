"""Lay out serving reports and search results as documents, for text, tables and pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import attrgetter
from typing import Any

from perfc.view.report.formats.document import (
    Amount,
    Cell,
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
from perfc.view.report.units import (
    Unit,
    plural,
    ratio_text,
    share,
    size_text,
    time_range,
    time_text,
)
from perfc.view.result import ResultLayout

from ..search import SearchResult
from ..served import SimulatedLoad
from ..simulation.load import Load
from ..simulation.metrics import Quantiles
from .report import IntervalFactors, ServingReport

PRINTED = {"norms and elements": "norms and elementwise", "half": "16-bit"}
"""Words that text prints instead of short JSON values."""
DEVICE = "memory of a GPU"
LEAST_SHARE = 0.02
"""Share of a step below which text leaves a part out."""


def load_words(load: Load) -> str:
    """Return the load in words."""
    if load.trace:
        return f"trace {load.trace}"
    sizes = f"{load.isl} tokens in, {load.osl} out"
    if load.lengths:
        sizes += f" on average ({load.lengths.file})"
    if load.is_batch:
        return f"{sizes}, {plural(load.requests or load.concurrency, 'request')} at once"
    if load.rate:
        return f"{sizes}, {load.rate:g} requests a second"
    return f"{sizes}, {plural(load.concurrency, 'user')}"


def engine_words(r: ServingReport) -> str:
    """Return the engine's setting in words."""
    p = r.parallel
    degrees = (
        ("tp", p.tensor),
        ("pp", p.pipeline),
        ("ep", p.expert),
        ("attention dp", p.attention_data),
        ("dp", r.engines),
    )
    divided = ", ".join(f"{name} {n}" for name, n in degrees if n > 1)
    gpus = f"{r.gpus} × {r.target}"
    version = f" {r.version}" if r.version else ""
    stored = f"{PRINTED.get(r.weights, r.weights)} weights" + _of_experts(r)
    return " · ".join(filter(None, (gpus, divided, f"{r.runtime}{version}", stored)))


def _of_experts(r: ServingReport) -> str:
    """Return the format of the experts if it differs from that of the other weights, else ""."""
    return f", {r.experts} experts" if r.experts else ""


def document(r: ServingReport) -> Document:
    """Return the first screen of a serving report."""
    title = f"{r.model} on {engine_words(r)} · {load_words(r.load)}"
    memory = Facts(tuple(_memory(r)))
    notes = tuple(Note(n) for n in r.notes)
    if r.latencies is None:
        what = "the longest sequence" if r.memory.largest_concurrency else "even one request"
        note = Note(f"does not fit: there is no memory for {what}", is_warning=True)
        return Document(title, (Section("memory", DEVICE, (memory, note, *notes)),))
    # under a load that cannot be sustained, the first note is the warning about that: it follows
    # the numbers that it invalidates
    late = int(r.simulated is not None and r.simulated.is_late)
    warnings = tuple(replace(n, is_warning=True) for n in notes[:late])
    serving = Section(
        "serving",
        "latency and throughput",
        (_latencies(r), Facts(tuple(_delivered(r))), *warnings),
    )
    return Document(title, (serving, Section("memory", DEVICE, (memory, *notes[late:]))))


def _latencies(r: ServingReport) -> Table:
    """Return one line per latency, the mean with its prediction interval."""
    times = r.latencies
    assert times is not None
    named: tuple[tuple[str, Quantiles | None, IntervalFactors | None], ...] = (
        ("time to first token (TTFT)", times.ttft, r.ttft_band),
        ("time per output token (TPOT)", times.tpot, r.tpot_band),
        ("inter-token latency (ITL)", times.itl, None),
        ("end-to-end time per token", times.tpot_inclusive, None),
        ("end-to-end time", times.end_to_end, None),
    )
    columns = (Column("what", ""), Column("mean_s", "mean"), Column("range", "90 % interval"))
    tails = ("p50", "p90", "p99")
    rows: Iterator[tuple[Cell, ...]] = (
        (
            name,
            in_seconds(time.mean),
            _range(time.mean, band) if band else "",
            *(in_seconds(getattr(time, tail)) for tail in tails),
        )
        for name, time, band in named
        if time is not None
    )
    return Table((*columns, *(Column(f"{t}_s", t) for t in tails)), tuple(rows))


def _range(mean_s: float, band: IntervalFactors) -> str:
    if band.is_unknown:
        return f"at least {time_text(mean_s * band.low)}"
    return time_range(mean_s * band.low, mean_s * band.high)


def _upper(time_s: float, band: IntervalFactors) -> str:
    """Return the upper end of an interval, if it is known."""
    return "unknown" if band.is_unknown else time_text(time_s * band.high)


def _delivered(r: ServingReport) -> Iterator[Fact]:
    """Yield the throughput, steps and expenses."""
    rate, spent = r.throughput, r.expenses
    assert rate is not None
    assert spent is not None
    each = f"{rate.output_tokens_per_s_per_gpu:,.0f} per GPU, {rate.requests_per_s:.3g} requests/s"
    words = f"{rate.output_tokens_per_s:,.0f} tokens/s"
    if r.batch is not None and r.tpot_band is not None:
        b = r.batch
        ends = _range(b.time_s, r.tpot_band)
        # the same tokens in a longer batch are the lower end of the rate
        if not r.tpot_band.is_unknown:
            all_tokens = rate.output_tokens_per_s * b.time_s
            words += f", {all_tokens / b.high_s:,.0f} to {all_tokens / b.low_s:,.0f}"
        yield Fact("batch", in_seconds(b.time_s), f"{ends}; first step to last token")
    yield Fact("output", None, f"{words}: {each}")
    if d := r.drafts:
        rate_words = (
            f"{d.tokens_per_step:.2f} tokens per step, each accepted with {d.acceptance:.0%}"
        )
        yield Fact("drafts", None, f"{d.tokens} by {d.drafter}: {rate_words}")
    if i := r.images:
        tiles = f", {i.tiles} tiles" if i.tiles > 1 else ""
        size = f"{plural(i.count, 'image')} of {i.edge} × {i.edge} pixels{tiles}"
        yield Fact("images", None, f"{size}: {i.count * i.tokens} of the input tokens")
    if a := r.adapters:
        yield Fact("adapters", None, f"{a.count} of rank {a.rank}, used in rotation")
    parts = ", ".join(f"{p.what} {time_text(p.time_s)}" for p in r.first_token if p.time_s)
    yield Fact("first token", None, parts)
    for step in r.steps:
        words = f"{step.what}; lower bound {time_text(step.floor_s)}"
        host = f", {time_text(step.host_s)} host overhead" if step.host_s > 0 else ""
        goes = ", ".join(
            f"{PRINTED.get(p.what, p.what)} {p.time_s / step.time_s:.0%}"
            for p in step.parts
            if p.time_s >= LEAST_SHARE * step.time_s
        )
        yield Fact("step", in_seconds(step.time_s), f"{words}; {goes}" if goes else words + host)
    if spent.energy_j_per_token is not None:
        grams = f"{spent.carbon_g_per_million:,.0f} g CO2 per million tokens"
        carbon = f"per token; {grams}, grid: {spent.grid}, {spent.grid_date}"
        yield Fact("energy", Amount(spent.energy_j_per_token, Unit.JOULE), carbon)
    if spent.price_per_million is not None:
        price = f"{spent.price_per_million:.3g} {spent.currency} per million output tokens"
        if r.input_price_per_million is not None:
            price += f", {r.input_price_per_million:.3g} of prompts"
        yield Fact("price", None, f"{price}; rented, {spent.price_date}")
    if r.simulated is not None and r.simulated.half_width is not None:
        yield Fact("simulated", None, _certainty(r.simulated, r.load))
    if r.preempted:
        yield Fact("preempted", None, f"{plural(r.preempted, 'time')}: the pool was full")


def _certainty(view: SimulatedLoad, load: Load) -> str:
    """Return the length of a simulation and the confidence in its means, in words."""
    # an opening burst is measured from its start, a steady state after the warm-up
    measured = view.requests - view.warm_up_requests
    words = f"{view.requests:,} requests per replica, "
    is_burst = load.opening_burst > 0 and load.concurrency > 1
    burst = f"{share(load.opening_burst)} arrive at once (--opening-burst)"
    words += burst if is_burst else f"{measured:,} of them steady (MSER)"
    words += f"; means within {view.half_width:.1%} (95%)"
    if load.spread and not load.trace:
        words += f"; lengths up to {share(load.spread)} shorter (--spread)"
    if view.capacity_requests_per_s is not None:
        words += f"; sustains up to {view.capacity_requests_per_s:.3g} requests/s"
    return words


def _memory(r: ServingReport) -> Iterator[Fact]:
    """Yield the parts of a GPU's memory: weights, activations with overhead, and the pool."""
    m = r.memory
    whole = size_text(m.capacity_bytes)
    counts = f"of {whole}; {r.parameters / 1e9:,.4g} billion parameters"
    if r.active_parameters != r.parameters:
        counts += f", {r.active_parameters / 1e9:,.4g} billion active per token"
    yield Fact("weights", in_bytes(m.weight_bytes), counts)
    rest = m.activation_bytes + m.overhead_bytes
    yield Fact("activations", in_bytes(rest), "plus contexts, libraries, recorded graphs")
    users = plural(m.largest_concurrency, "user")
    # models with states alone have no tokens in the pool
    if m.kv_bytes_per_token:
        per_token = size_text(m.kv_bytes_per_token)
        users = f"{m.kv_tokens:,} tokens of {per_token}, {users}"
    users += f"; longest context {m.largest_context:,}"
    yield Fact(m.pool_name, in_bytes(max(m.pool_bytes, 0.0)), users)
    if m.vllm_kv_tokens is not None:
        words = f"GPU KV cache size {m.vllm_kv_tokens:,} tokens, with layers in groups of one size"
        yield Fact("as vLLM prints", None, words)


def search_document(result: SearchResult) -> Document:
    """Return the cheapest fleets of a rate, or the Pareto front of cost against speed."""
    title = f"{result.model} · {result.load.isl} tokens in, {result.load.osl} out · cheapest first"
    rows = [r for r in result.pareto if r.latencies is not None]
    looked = (
        f"{result.settings:,} settings, {result.misfits:,} of them too large or with too many "
        f"users, {result.ruled_out:,} ruled out by their rooflines"
    )
    notes = [Note(looked), *(Note(words, is_warning=True) for words in result.notes)]
    if result.unpriced:
        names = ", ".join(result.unpriced)
        notes.append(Note(f"no price for {names}: sorted by {result.cost_unit}"))
    table = tabulate(FLEET if result.load.rate else FRONT, rows)
    if not rows:
        notes.append(Note("no setting is within the limits", is_warning=True))
    name = "cost against speed"
    if result.load.rate:
        runtimes = dict.fromkeys(f" under {r.runtime} {r.version}" for r in result.pareto)
        name = f"fleets for {result.load.rate:g} requests/s{', '.join(runtimes)}"
    return Document(title, (Section("search", name, (table, *notes)),))


def with_price(form: Callable[[float, Any], str]) -> Callable[[ServingReport], str]:
    """Return the cell of the price of a million tokens; empty without one."""

    def cell(r: ServingReport) -> str:
        price = r.expenses.price_per_million if r.expenses else None
        return "" if price is None else form(price, r)

    return cell


TARGET = Column("target")
WEIGHTS = Column("weights", is_spare=True, cell=lambda r: r.weights + _of_experts(r))
FRONT = (
    TARGET,
    WEIGHTS,
    Column("gpus", "GPUs", Unit.COUNT),
    Column("expert", "ep", Unit.COUNT, is_spare=True, cell=attrgetter("parallel.expert")),
    Column("users", "users", Unit.COUNT, cell=attrgetter("load.concurrency")),
    Column("token_budget", "step tokens", Unit.COUNT, is_spare=True),
    Column("ttft_s", "TTFT", cell=lambda r: in_seconds(r.latencies.ttft.mean)),
    Column("tpot_s", "TPOT", cell=lambda r: in_seconds(r.latencies.tpot and r.latencies.tpot.mean)),
    Column(
        "tokens_per_s_per_gpu",
        "tokens/s per GPU",
        Unit.COUNT,
        cell=lambda r: round(r.throughput.output_tokens_per_s_per_gpu),
    ),
    Column("price", "per million", cell=with_price(lambda p, r: f"{p:.3g} {r.expenses.currency}")),
)
"""Columns of the Pareto front of cost against speed."""


def _degrees(r: ServingReport) -> str:
    """Return the degrees of a fleet: ``2 · 1 · 4``, with prefill workers ``+ 2``."""
    # a fleet divides by tensors only: the rest of its GPUs computes prompts
    prefill = r.gpus - r.engines * r.parallel.tensor
    engines = f"{r.parallel.tensor} · {r.parallel.expert} · {r.engines}"
    return f"{engines} + {prefill}" if prefill else engines


def _tail(quantiles: Quantiles | None, band: IntervalFactors | None) -> str:
    """Return the quantiles of a latency, and the upper end of the interval of p99."""
    if quantiles is None or band is None:
        return ""
    times = map(time_text, (quantiles.p50, quantiles.p90, quantiles.p99))
    return ", ".join([*times, _upper(quantiles.p99, band)])


def _joules(r: ServingReport) -> str:
    each_j = r.expenses.energy_j_per_token if r.expenses else None
    return "" if each_j is None else f"{each_j:.3g}"


def _headroom(r: ServingReport) -> str:
    """Return the sustained rate over that of the load."""
    capacity = r.simulated and r.simulated.capacity_requests_per_s
    return f"{ratio_text((capacity or 0.0) / r.load.rate, 2)} ×"


def _tails(name: str) -> Column:
    """Return the column of the quantiles of a latency, ``ttft`` or ``tpot``."""
    return Column(
        name,
        f"{name.upper()} p50, p90, p99, upper end",
        is_name=True,
        wraps=True,
        cell=lambda r: _tail(getattr(r.latencies, name), getattr(r, f"{name}_band")),
    )


FLEET = (
    TARGET,
    replace(WEIGHTS, is_spare=False),
    Column("degrees", "tp · ep · dp", legend="+ GPUs of prefill workers", cell=_degrees),
    Column("gpus", "GPUs", is_spare=True, cell=lambda r: str(r.gpus)),
    _tails("ttft"),
    _tails("tpot"),
    Column("headroom", "capacity over rate", is_spare=True, cell=_headroom),
    Column(
        "per_hour",
        "per hour",
        is_spare=True,
        # price per million tokens times tokens per second is the price of 1e6 s; an hour has 3600 s
        cell=with_price(lambda p, r: f"{p * r.throughput.output_tokens_per_s * 3.6e-3:.3g}"),
    ),
    Column(
        "prices",
        "per million out, in",
        cell=with_price(lambda p, r: f"{p:.3g}, {r.input_price_per_million:.3g}"),
    ),
    Column("energy", "J per token", is_spare=True, cell=_joules),
)
"""Columns of the fleets of a rate with their tails."""


PAGES = "perfc.serving.output.serving_page"
SERVED = ResultLayout("perfc-llm/1", ServingReport, document, f"{PAGES}:serving_page")
SEARCH = ResultLayout(
    "perfc-llm-search/1",
    SearchResult,
    search_document,
    f"{PAGES}:search_page",
    "pareto",
)
