"""Search for the machine, precision, parallelism and batch with the cheapest serving in an SLO.

`search` goes from cheap to exact: rooflines of all settings rule engines out, a steady-state model
estimates the rest, and `llm` simulates what is reported.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain, product
from operator import attrgetter
from typing import TYPE_CHECKING, ClassVar, TypeVar

from perfc.common.fitted import data_next_to
from perfc.deployment.prices import Prices
from perfc.errors import ModelError
from perfc.frontend.config import LanguageModel, Parallel, WeightFormat, precision_of
from perfc.ir import record
from perfc.machine import NOTHING, Machine, Reserve
from perfc.passes.runtimes import SERVING_DEFAULT, EngineKind
from perfc.view.result import Result

from .engine import Engine, kind_of, lacks
from .fleets import FLEETS, Slo, fleet_cost, fleets, holds
from .output.notes import beyond_positions
from .output.report import ServingReport
from .power import price_per_million
from .service import engine_for, llm
from .simulation.closed_loop import StepSeconds, by_rooflines, steady_times
from .simulation.load import Load

if TYPE_CHECKING:
    from perfc.study.tasks import Each

T = TypeVar("T")
_DATA = data_next_to(__file__)
RANKS = (1, 2, 4, 8)
"""Tensor-parallel ranks that are searched: numbers of GPUs within a node."""
USERS: tuple[int, ...] = tuple(_DATA["users"])
"""Concurrencies that are searched: powers of two, and values between the larger ones."""
MOST_CHECKED = 48
"""Maximum settings that are simulated, of those within the limits by a steady-state model."""
OF_ENGINE, MOST_DRAWN = 4, 32
"""Maximum settings of each engine's front, and of all fronts, that are simulated for the chart."""
NARROW = (
    (WeightFormat.F8, ""),
    (WeightFormat.NVFP4, "NVIDIA"),
    (WeightFormat.MXFP4_A4, "AMD"),
)
"""Formats to try in addition to the published one, each for one vendor's boards or for all."""
OF_LOAD: tuple[str, ...] = tuple(_DATA["load"])
"""Fields of a load that are options of `llm`, too."""
MONEY, GPU_TIME = "{} a million tokens", "GPU seconds a token"
"""Units of cost."""


@record
class ServingSetting:
    """One serving setting with its numbers, from `llm` or from the steady-state model.

    Args:
        target: machine.
        weights: format of the weights as requested.
        tensor: ranks of an engine.
        expert: expert-parallel degree.
        users: concurrent users of one engine.
        token_budget: tokens of a step.
        ttft_s: time to first token.
        tpot_s: time per output token after the first.
        tokens_per_s_per_gpu: output tokens per second and GPU.
        price_per_million: price of a million output tokens; None without a price.
        cost: sort key of settings, in the search's unit.
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
class SearchResult(Result):
    """Result of a search.

    Args:
        model: the served model.
        load: request lengths.
        slo: latency limits.
        settings: number of settings considered.
        misfits: number of those that do not fit in memory.
        ruled_out: number of settings that fit but are not estimated, as others beat the rooflines
            of their engine.
        cost_unit: unit of cost: money if every machine has a price in the same currency, else GPU
            time.
        unpriced: machines without a price.
        cheapest: cheapest setting within the limits; None if there is none.
        pareto: settings that no other beats in both cost and time per token.
        others: for the chart, a few settings of each machine, precision and parallelism that is
            estimated, within the limits or not; none of those ruled out.
        notes: warnings and assumptions that hold for all settings.
    """

    layout: ClassVar[str] = "perfc.serving.output.views:SEARCH"
    model: str
    load: Load
    slo: Slo
    settings: int
    misfits: int
    ruled_out: int
    cost_unit: str
    unpriced: tuple[str, ...]
    cheapest: ServingReport | None
    pareto: tuple[ServingReport, ...]
    others: tuple[ServingSetting, ...] = ()
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
    each: Each = map,
) -> SearchResult:
    """Return the cheapest setting and the Pareto front of cost against speed, simulated by `llm`.

    Args:
        model: model to serve.
        machines: machines to choose from.
        load: request lengths; the search chooses the concurrency.
        slo: latency limits.
        dtypes: formats of weights, "" for the published one; by default that and narrower ones.
        runtime: serving runtime.
        ranks: engine sizes to choose from.
        budgets: token budgets of a step to choose from; empty for the runtime's default.
        prices: prices by machine.
        reserve: memory of each device to hold back.
        each: applies a function to all settings that are simulated: `map`, or elsewhere.

    Raises:
        PerfcError: no setting can serve the model.
    """
    all_prices = prices or Prices()
    each_price = {m.name: all_prices.of(m) for m in machines}
    currencies = {p.currency if p is not None else "" for p in each_price.values()}
    currency = currencies.pop() if len(currencies) == 1 else ""
    query = _Query(model, machines, load, runtime, all_prices, reserve, is_priced=bool(currency))
    bounds = [  # no setting of an engine is better than with kernels at their rooflines
        (engine, [*_settings(engine, dtype, query, by_rooflines(engine))])
        for engine, dtype in _engines(query, dtypes, ranks, budgets)
    ]
    every, fitting = len(USERS) * len(bounds), sum([len(settings) for _, settings in bounds])
    estimated = list(_estimated(bounds, query, slo))
    candidates = [*chain.from_iterable(estimated)]
    held = _within(_holding(candidates, load, slo), query, slo, each)
    return SearchResult(
        model.name,
        load,
        slo,
        settings=every,
        misfits=every - fitting,
        ruled_out=fitting - len(candidates),
        cost_unit=MONEY.format(currency) if currency else GPU_TIME,
        unpriced=tuple([name for name, price in each_price.items() if price is None]),
        cheapest=held[0] if held else None,
        pareto=tuple(held if load.rate else _faster(held, _tpot_s)),
        others=() if load.rate else tuple(each(query.simulated, _drawn([*map(_front, estimated)]))),
        notes=beyond_positions(model, sum(load.longest)),
    )


def _drawn(fronts: Sequence[Sequence[ServingSetting]]) -> Sequence[ServingSetting]:
    """Return some settings of each engine's front, spread evenly, for the chart."""
    points = min(OF_ENGINE, math.ceil(MOST_DRAWN / max(1, len(fronts))))
    # evenly spaced along each front, so that its shape shows
    return [s for front in fronts for s in front[:: max(1, math.ceil(len(front) / points))]][
        :MOST_DRAWN
    ]


def _within(
    candidates: Sequence[ServingSetting], query: _Query, slo: Slo, each: Each
) -> list[ServingReport]:
    """Return the simulated reports within the limits, cheapest first."""
    if query.load.rate:
        # a fleet grows step by step: one task
        choose = partial(fleets, query=query, slo=slo, most=MOST_CHECKED)
        return next(iter(each(choose, [candidates])))
    by_cost = sorted(candidates, key=attrgetter("cost"))
    # the steady-state model is optimistic for full engines: then emptier ones are tried too
    for tried in _front(candidates), by_cost[:: max(1, len(by_cost) // MOST_CHECKED)]:
        if reports := [r for r in each(query, tried[:MOST_CHECKED]) if holds(r, slo)]:
            break
    return sorted(reports, key=lambda r: cost_of(r, is_priced=query.is_priced))


@record
class _Query:
    """Inputs common to all settings of a search; calling it simulates one setting.

    Args:
        model: model to serve.
        machines: machines to choose from.
        load: request lengths.
        runtime: serving runtime.
        prices: prices by machine.
        reserve: memory of each device to hold back.
        is_priced: True to order settings by money.
    """

    model: LanguageModel
    machines: Sequence[Machine]
    load: Load
    runtime: str
    prices: Prices
    reserve: Reserve
    is_priced: bool

    def __call__(self, s: ServingSetting, engines: int = 1, prefill: int = 0) -> ServingReport:
        """Return the report of `llm` for a setting, under its users or the rate of the load."""
        # by file, as a target of a project has no shipped name
        (target,) = [str(m.path) for m in self.machines if m.name == s.target]
        return llm(
            self.model,
            target,
            **{name: getattr(self.load, name) for name in OF_LOAD},
            concurrency=s.users,
            dtype=s.weights,
            parallel={"tp": s.tensor, "ep": s.expert, "dp": engines},
            runtime=self.runtime,
            prefill_gpus=prefill,
            token_budget=s.token_budget,
            prices=self.prices,
            reserve=self.reserve,
        )

    def simulated(self, s: ServingSetting) -> ServingSetting:
        """Return the setting with the numbers of its simulated report."""
        report = self(s)
        times, rate, spent = report.latencies, report.throughput, report.expenses
        assert times is not None
        assert rate is not None
        return replace(
            s,
            ttft_s=times.ttft.mean,
            tpot_s=times.tpot.mean if times.tpot is not None else 0.0,
            tokens_per_s_per_gpu=rate.output_tokens_per_s_per_gpu,
            price_per_million=None if spent is None else spent.price_per_million,
            cost=cost_of(report, is_priced=self.is_priced),
        )


def _engines(
    query: _Query, dtypes: Sequence[str], ranks: Sequence[int], budgets: Sequence[int]
) -> Iterator[tuple[Engine, str]]:
    """Yield the engines that the model can be divided into, each with a token budget."""
    model, kind = query.model, kind_of(query.runtime)
    for machine in query.machines:
        formats = dtypes or ("", *_narrower(model, machine, kind))
        for dtype, tensor, budget in product(formats, ranks, budgets or (None,)):
            # a rank has some columns of every expert, or under expert parallelism whole experts
            for expert in (1, tensor) if tensor > 1 and model.has_experts else (1,):
                engine = engine_for(
                    model,
                    str(machine.path),
                    dtype,
                    "",  # the default element type of the KV cache
                    Parallel(tensor, expert=expert),
                    query.runtime,
                    token_budget=budget,
                    reserve=query.reserve,
                )
                # degrees that do not divide the model fail here, before any estimate
                try:
                    engine.cost  # noqa: B018 - lowers the model
                except ModelError:
                    continue
                yield engine, dtype


def _narrower(model: LanguageModel, machine: Machine, kind: EngineKind) -> Iterator[str]:
    """Yield the supported formats with fewer bits than the published one."""
    published = precision_of(model.dtype, model.quantization, "", "").weights
    for form, vendor in NARROW:
        is_supported = machine.kind != "cpu" and vendor in ("", machine.vendor)
        code = getattr(form.multiplied, "code", "")
        if form.bits < published.bits and is_supported and not lacks(machine, kind, code):
            yield form.value


def _settings(
    engine: Engine, dtype: str, query: _Query, step_s: StepSeconds
) -> Iterator[ServingSetting]:
    """Yield the settings of an engine that fit in its memory, with mean times for ``step_s``."""
    load, budget = query.load, engine.kind.token_budget
    plan = engine.memory(load.isl, load.osl)
    fitting_users = plan.sequences(load.isl + load.osl, load.cached_tokens, load.cached_share)
    price = query.prices.of(engine.machine)
    for users in USERS:
        # a budget that decodes fill leaves no room for prompts
        if users > min(fitting_users, engine.kind.max_num_seqs) or budget <= users:
            continue
        ttft_s, tpot_s = steady_times(engine.kind, step_s, load, users, budget)
        rate = users * load.osl / (ttft_s + tpot_s * (load.osl - 1))
        rate_per_gpu = rate / engine.ranks
        million_price = None if price is None else price_per_million(price, rate_per_gpu)
        # without prices: GPU seconds of a token
        cost = million_price if query.is_priced and million_price is not None else 1 / rate_per_gpu
        yield ServingSetting(
            engine.machine.name,
            dtype,
            engine.parallel.tensor,
            engine.parallel.expert,
            users,
            budget,
            ttft_s,
            tpot_s,
            tokens_per_s_per_gpu=rate_per_gpu,
            price_per_million=million_price,
            cost=cost,
        )


def _estimated(
    bounds: Iterable[tuple[Engine, Sequence[ServingSetting]]], query: _Query, slo: Slo
) -> Iterator[list[ServingSetting]]:
    """Yield the estimated settings of each engine that is not ruled out.

    It is ruled out if enough others beat all its settings within the limits at rooflines, if any.

    Args:
        bounds: engines with their settings at rooflines.
        query: inputs of the search.
        slo: latency limits.
    """
    load = query.load
    # a list of fleets needs `FLEETS` better engines, while one setting beats a point of a front
    enough = FLEETS if load.rate else 1
    best: list[ServingSetting] = []
    # cheapest bounds first: the sooner a good setting is estimated, the more engines it rules out
    for engine, least in sorted(bounds, key=lambda pair: min((s.cost for s in pair[1]), default=0)):
        hopeful = _holding(least, load, slo)
        if all(sum([beats(b, s, load) for b in best]) >= enough for s in hopeful):
            continue
        settings = [*_settings(engine, least[0].weights, query, engine.cost.step_s)]
        yield settings
        within = _holding(settings, load, slo)
        if not load.rate:
            best = _front([*best, *within])
        elif within:
            best.append(min(within, key=lambda s: fleet_cost(s, load)))


def beats(one: ServingSetting, other: ServingSetting, load: Load) -> bool:
    """Return True if ``other`` is neither cheaper nor faster; of fleets, if it is not cheaper."""
    if load.rate:
        return fleet_cost(one, load) <= fleet_cost(other, load)
    return one.cost <= other.cost and one.tpot_s <= other.tpot_s


def _holding(settings: Iterable[ServingSetting], load: Load, slo: Slo) -> list[ServingSetting]:
    """Return the settings whose mean times are within the limits."""
    return [
        s for s in settings if slo.holds(s.ttft_s, s.tpot_s, s.ttft_s + s.tpot_s * (load.osl - 1))
    ]


def _front(settings: Iterable[ServingSetting]) -> list[ServingSetting]:
    """Return the Pareto front of cost and time per token, cheapest first."""
    return _faster(sorted(settings, key=attrgetter("cost", "tpot_s")), attrgetter("tpot_s"))


def _faster(ordered: Iterable[T], time_s: Callable[[T], float]) -> list[T]:
    """Return the items that are faster than all before them, from cheapest to fastest."""
    best: list[T] = []
    for setting in ordered:
        if not best or time_s(setting) < time_s(best[-1]):
            best.append(setting)
    return best


def cost_of(report: ServingReport, *, is_priced: bool) -> float:
    """Return the sort key of a report, in the unit that settings are ordered by."""
    expenses, rate = report.expenses, report.throughput
    if is_priced and expenses is not None and expenses.price_per_million is not None:
        return expenses.price_per_million
    return report.gpus / rate.output_tokens_per_s if rate is not None else math.inf


def _tpot_s(report: ServingReport) -> float:
    """Return the mean time per token of a report; infinite if there is none."""
    latencies = report.latencies
    return latencies.tpot.mean if latencies is not None and latencies.tpot else math.inf
