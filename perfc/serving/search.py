"""Which machine, precision, parallelism and batch serve a model cheapest within its limits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import ClassVar

from perfc.durations import seconds_of
from perfc.errors import ModelError, ParseError
from perfc.expenses import Prices
from perfc.frontend.config import LanguageModel, Parallel, WeightFormat, precision_of
from perfc.ir.record import record
from perfc.machine import NOTHING, Machine, Reserve
from perfc.passes.runtimes import SERVING_DEFAULT, Batching, EngineKind

from .engine import Engine, kind_of, lacks
from .notes import beyond_positions
from .power import price_per_million
from .service import ServingReport, engine_for, llm
from .simulation.load import Load
from .simulation.scheduler import Chunk

RANKS = (1, 2, 4, 8)
USERS = (1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
MOST_CHECKED = 48
"""Settings within the limits that are simulated; a steady state says which."""
OF_ENGINE = 4
"""Further settings of each engine that are simulated for the chart."""
NARROW = (
    (WeightFormat.F8, ""), (WeightFormat.NVFP4, "NVIDIA"), (WeightFormat.MXFP4_A4, "AMD"),
)  # fmt: skip
"""Formats that are looked at beside the published one, on the boards of one vendor or of all."""
MONEY, GPU_TIME = "{} a million tokens", "GPU seconds a token"
"""Units of cost."""
LIMITS = ("ttft", "tpot", "e2e")


@record
class Slo:
    """What users must not wait longer for, means in seconds; None where nobody says.

    Args:
        ttft_s: first token.
        tpot_s: each further token.
        e2e_s: the whole answer.
    """

    ttft_s: float | None = None
    tpot_s: float | None = None
    e2e_s: float | None = None

    @classmethod
    def parse(cls, text: str, where: str = "--slo") -> Slo:
        """Of ``ttft=500ms,tpot=30ms``.

        Raises:
            ParseError: no such limit, or no duration.
        """
        found: dict[str, float] = {}
        for part in filter(None, (p.strip() for p in text.split(","))):
            name, equals, value = part.partition("=")
            if not equals or name not in LIMITS:
                hint = f"as in ttft=500ms,tpot=30ms; there are {', '.join(LIMITS)}"
                raise ParseError(f"{part[:32]!r} is no limit", where=where, hint=hint)
            found[f"{name}_s"] = seconds_of(value, where)
        return cls(**found)

    def holds(self, ttft_s: float, tpot_s: float, e2e_s: float) -> bool:
        """Whether times are within it."""
        limits = (ttft_s, self.ttft_s), (tpot_s, self.tpot_s), (e2e_s, self.e2e_s)
        return all(most is None or time_s <= most for time_s, most in limits)


@record
class Setting:
    """A way of serving: what `llm` says of it, or a first look by a steady state.

    Args:
        target: machine.
        weights: format as it was named.
        tensor: ranks of an engine.
        expert: ranks that experts are divided among.
        users: of one engine.
        token_budget: of a step.
        ttft_s: time to the first token.
        tpot_s: time of each further token.
        tokens_per_s_per_gpu: written.
        price_per_million: output tokens; None where nobody states a price.
        cost: what settings are ordered by, in the search's unit.
    """

    target: str
    weights: str
    tensor: int
    expert: int
    users: int
    token_budget: int
    ttft_s: float
    tpot_s: float
    tokens_per_s_per_gpu: float
    price_per_million: float | None
    cost: float


@record
class SearchResult:
    """A search.

    Args:
        model: that is served.
        load: sizes of requests.
        slo: limits.
        settings: that were looked at.
        misfits: those whose memory does not hold them.
        cost_unit: what cost is counted in: money, where each machine has a price in one currency.
        unpriced: machines whose price nobody states.
        cheapest: of those within the limits; None where none is.
        pareto: settings that no other beats in cost and in time per token.
        others: a few settings of each machine, precision and parallelism, whether within the limits
            or not.
        notes: what a reader must know of all of them.
    """

    document: ClassVar[str] = "perfc-llm-search/1"
    model: str
    load: Load
    slo: Slo
    settings: int
    misfits: int
    cost_unit: str
    unpriced: tuple[str, ...]
    cheapest: ServingReport | None
    pareto: tuple[ServingReport, ...]
    others: tuple[Setting, ...] = ()
    notes: tuple[str, ...] = ()


def search(
    model: LanguageModel,
    machines: Sequence[Machine],
    load: Load,
    slo: Slo,
    *,
    dtypes: Sequence[str] = (),
    runtime: str = SERVING_DEFAULT,
    ranks: Sequence[int] = RANKS,
    budgets: Sequence[int] = (),
    prices: Prices | None = None,
    reserve: Reserve = NOTHING,
) -> SearchResult:
    """The cheapest way of serving, and the front of cost against speed.

    Every setting that is given is simulated by `llm`.

    Args:
        model: what is served.
        machines: to choose from.
        load: sizes of requests; its concurrency is chosen.
        slo: limits.
        dtypes: formats of weights to choose from, "" for the published one; none for that and the
            narrower ones that a machine multiplies.
        runtime: that serves.
        ranks: of an engine.
        budgets: tokens of a step to choose from; none for the runtime's own.
        prices: of machines.
        reserve: memory of each device to hold back.

    Raises:
        PerfcError: the model serves nowhere so.
    """
    known = prices or Prices()
    each_price = {m.name: known.of(m) for m in machines}
    currencies = {p.currency if p is not None else "" for p in each_price.values()}
    currency = currencies.pop() if len(currencies) == 1 else ""
    ask = _Asked(model, machines, load, runtime, known, reserve, is_priced=bool(currency))
    found: list[Setting] = []
    some: list[Setting] = []
    looked = 0
    for engine, dtype in _engines(ask, dtypes, ranks, budgets):
        each = list(_settings(engine, dtype, load, known, is_priced=ask.is_priced))
        looked += len(USERS)
        found += each
        front = _front(each)
        some += front[:: max(1, math.ceil(len(front) / OF_ENGINE))]
    held = _within([s for s in found if slo.holds(*_times(s, load))], ask, slo)
    return SearchResult(
        model.name, load, slo, looked, looked - len(found),
        MONEY.format(currency) if currency else GPU_TIME,
        tuple([name for name, price in each_price.items() if price is None]),
        held[0] if held else None, tuple(_best(held)), tuple(map(ask.simulated, some)),
        beyond_positions(model, sum(load.longest)),
    )  # fmt: skip


def _within(found: Sequence[Setting], ask: _Asked, slo: Slo) -> list[ServingReport]:
    """Reports within the limits, the cheapest first, of settings that a first look has there."""
    held = [r for s in _front(found)[:MOST_CHECKED] if _holds(r := ask(s), slo)]
    if not held:
        # a steady state is a little kind to full engines: look at emptier ones too
        near = sorted(found, key=lambda s: s.cost)
        step = max(1, len(near) // MOST_CHECKED)
        held = [r for s in near[::step] if _holds(r := ask(s), slo)]
    return sorted(held, key=lambda r: cost_of(r, is_priced=ask.is_priced))


@record
class _Asked:
    """What is the same of all settings; gives the report of each.

    Args:
        model: what is served.
        machines: to choose from.
        load: sizes of requests.
        runtime: that serves.
        prices: of machines.
        reserve: memory of each device to hold back.
        is_priced: whether settings are ordered by money.
    """

    model: LanguageModel
    machines: Sequence[Machine]
    load: Load
    runtime: str
    prices: Prices
    reserve: Reserve
    is_priced: bool

    def __call__(self, s: Setting) -> ServingReport:
        """The report that `llm` gives of a setting."""
        load = self.load
        (target,) = [str(m.path) for m in self.machines if m.name == s.target]
        return llm(
            self.model, target, isl=load.isl, osl=load.osl, concurrency=s.users,
            spread=load.spread, cached_tokens=load.cached_tokens, cached_share=load.cached_share,
            seed=load.seed, dtype=s.weights, parallel={"tp": s.tensor, "ep": s.expert},
            runtime=self.runtime, token_budget=s.token_budget, prices=self.prices,
            reserve=self.reserve,
        )  # fmt: skip

    def simulated(self, s: Setting) -> Setting:
        """The setting with the numbers of its report."""
        report = self(s)
        found, rate, spent = report.latencies, report.throughput, report.expenses
        assert found is not None
        assert rate is not None
        return replace(
            s, ttft_s=found.ttft.mean, tpot_s=found.tpot.mean if found.tpot is not None else 0.0,
            tokens_per_s_per_gpu=rate.output_tokens_per_s_per_gpu,
            price_per_million=None if spent is None else spent.price_per_million,
            cost=cost_of(report, is_priced=self.is_priced),
        )  # fmt: skip


def _engines(
    ask: _Asked, dtypes: Sequence[str], ranks: Sequence[int], budgets: Sequence[int]
) -> Iterator[tuple[Engine, str]]:
    """Engines into which the model divides, each with a budget of its steps."""
    model, kind = ask.model, kind_of(ask.runtime)
    for machine in ask.machines:
        formats = dtypes or ("", *_narrower(model, machine, kind))
        for dtype, tensor, budget in product(formats, ranks, budgets or (kind.token_budget,)):
            for expert in (1, tensor) if tensor > 1 and _has_experts(model) else (1,):
                engine = engine_for(
                    model, str(machine.path), dtype, "", Parallel(tensor, 1, expert), ask.runtime,
                    budget=budget, reserve=ask.reserve,
                )  # fmt: skip
                try:
                    engine.cost  # noqa: B018 - lowers the model
                except ModelError:
                    continue
                yield engine, dtype


def _narrower(model: LanguageModel, machine: Machine, kind: EngineKind) -> Iterator[str]:
    """Formats of fewer bits than the published one that the machine and the runtime multiply."""
    published = precision_of(model.dtype, model.quantization, "", "").weights
    for form, vendor in NARROW:
        is_of = machine.kind != "cpu" and vendor in ("", machine.vendor)
        code = form.multiplied.code if form.multiplied is not None else ""
        if form.bits < published.bits and is_of and not lacks(machine, kind, code):
            yield form.value


def _has_experts(model: LanguageModel) -> bool:
    from perfc.frontend.config.model import Experts, mixers

    decoder = model.decoder
    layers = decoder.layers if decoder is not None else ()
    return any(isinstance(m, Experts) for layer in layers for m in mixers(layer))


def _settings(
    engine: Engine, dtype: str, load: Load, prices: Prices, *, is_priced: bool
) -> Iterator[Setting]:
    """Settings of an engine that its memory holds."""
    plan, budget = engine.memory(load.isl, load.osl), engine.kind.token_budget
    room = plan.sequences(load.isl + load.osl, load.cached_tokens, load.cached_share)
    price = prices.of(engine.machine)
    for users in USERS:
        if users > min(room, engine.kind.max_num_seqs) or budget <= users:
            continue
        ttft_s, tpot_s = steady(engine, load, users, budget)
        rate = users * load.osl / (ttft_s + tpot_s * (load.osl - 1))
        each = rate / engine.ranks
        spent = None if price is None else price_per_million(price, each)
        cost = spent if is_priced and spent is not None else 1 / each
        yield Setting(
            engine.machine.name, dtype, engine.parallel.tensor, engine.parallel.expert, users,
            budget, ttft_s, tpot_s, each, spent, cost,
        )  # fmt: skip


def steady(engine: Engine, load: Load, users: int, budget: int) -> tuple[float, float]:
    """Mean time to the first token, and of each further one, of users who ask again at once.

    Prompts come evenly; each takes the chunks that the budget leaves beside the decodes.
    """
    context = load.isl + load.osl / 2
    decode_s = engine.cost.step_s((), users, context)
    held = load.mean_cached_tokens
    prompt = load.isl - held
    is_apart = engine.kind.batching is Batching.PROMPTS_FIRST
    room = budget if is_apart else max(budget - users, 1)
    chunk = min(prompt, room)
    chunks = prompt / chunk
    mixed_s = engine.cost.step_s(
        (Chunk(chunk, held + (prompt - chunk) // 2),),
        0 if is_apart else users, context,
    )  # fmt: skip
    # in the time in which one request writes its answer, every user asks once
    steps = max(users - 1, 0) * chunks
    if is_apart:
        cycle_s = load.osl * decode_s + steps * mixed_s
    else:
        cycle_s = max(load.osl - steps, 0) * decode_s + steps * mixed_s
    tpot_s = cycle_s / load.osl
    load_share = min(steps * mixed_s / cycle_s, 0.95) if cycle_s else 0.0
    return chunks * mixed_s * (1 + load_share / (2 * (1 - load_share))), tpot_s


def _times(setting: Setting, load: Load) -> tuple[float, float, float]:
    whole_s = setting.ttft_s + setting.tpot_s * (load.osl - 1)
    return setting.ttft_s, setting.tpot_s, whole_s


def _front(found: Iterable[Setting]) -> list[Setting]:
    """Those that no other beats in cost and in time per token, the cheapest first."""
    best: list[Setting] = []
    least = math.inf
    for setting in sorted(found, key=lambda s: (s.cost, s.tpot_s)):
        if setting.tpot_s < least:
            best.append(setting)
            least = setting.tpot_s
    return best


def _holds(report: ServingReport, slo: Slo) -> bool:
    latencies = report.latencies
    if latencies is None:
        return False
    tpot_s = latencies.tpot.mean if latencies.tpot is not None else 0.0
    return slo.holds(latencies.ttft.mean, tpot_s, latencies.end_to_end.mean)


def cost_of(report: ServingReport, *, is_priced: bool) -> float:
    """What reports are ordered by, as settings are."""
    expenses, rate = report.expenses, report.throughput
    if is_priced and expenses is not None and expenses.price_per_million is not None:
        return expenses.price_per_million
    return report.gpus / rate.output_tokens_per_s if rate is not None else math.inf


def _best(held: Sequence[ServingReport]) -> Iterator[ServingReport]:
    """The front of what was simulated, the cheapest first."""
    least = math.inf
    for report in held:
        latencies = report.latencies
        tpot_s = latencies.tpot.mean if latencies is not None and latencies.tpot else math.inf
        if tpot_s < least:
            yield report
            least = tpot_s
