"""Compare models, settings and machines: `compare_models` is ``perfc.compare``."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import product
from typing import TYPE_CHECKING, Any, ClassVar, Unpack

from perfc.analyzers.runs.power_cap import cap_law
from perfc.api import Model, Report, analyze
from perfc.common.choice import member
from perfc.deployment import Deployment, DeploymentKeywords, with_signature
from perfc.deployment.prices import Offer, Prices, Region, region_named
from perfc.deployment.prices.regions import WORLD
from perfc.errors import ParseError, PerfcError
from perfc.frontend.pytorch import graph_of
from perfc.frontend.pytorch.torch_inputs import Inputs
from perfc.ir import record
from perfc.machine import Machine, load_machine
from perfc.view.report import Verdict
from perfc.view.report.names import runs_elsewhere
from perfc.view.result import Result

from .bill import HOST, Bill, Host
from .order import LimitStatus, Order

if TYPE_CHECKING:
    from ..tasks import Each

MILLION = 1e6
"""Number of images, tokens or runs that prices and carbon refer to."""
USUAL = ("a100", "h100", "l4", "t4")
"""Default targets."""


@record
class ModelSetting:
    """A model and its deployment on any machine.

    Args:
        model: model, as for ``perfc.analyze``.
        deployment: deployment; its target is ignored.
        values: contents of inputs that determine shapes.
        predictor: whole-run predictor, as for ``perfc.analyze``.
    """

    model: Any
    deployment: Deployment
    values: Mapping[str, object] = field(default_factory=dict)
    predictor: str = ""

    def continues(self, last: ModelSetting) -> bool:
        """Return True if a report of the setting ``last`` can be reused."""
        return (
            last.model is self.model
            and last.values is self.values
            and last.predictor == self.predictor
        )

    def report(self, machine: Machine, known: Report | None = None) -> Report:
        """Analyze the model on a machine.

        Args:
            machine: target machine.
            known: analysis of the same model and values in another deployment, to reuse.

        Raises:
            PerfcError: as for ``perfc.analyze``.
        """
        how = self.deployment.with_values({"target": str(machine.path)})
        if known is not None:
            return known.deployed(how)
        return analyze(self.model, deployment=how, values=self.values, predictor=self.predictor)


class TokenKind(Enum):
    """Kind of tokens that a row of a language model is about."""

    ALL = ""
    INPUT = "input"
    OUTPUT = "output"


@record
class Row:
    """One model on one machine.

    Args:
        verdict: headline of its report.
        runtime: runtime, with its streams.
        dtype: what-if precision; empty for the model's own.
        sizes: sizes of symbols by key.
        labels: labels of symbols by key.
        given: keys of the symbols with given sizes.
        price: price of the machine; None if unknown.
        region: region of the electricity; None for the world average.
        host_share: share of a host; a slice has the share of its card.
        predictor: requested whole-run predictor; empty for the best available.
        tokens: kind of tokens, of a language model that generates.
        load: load under which it serves, in words; empty if it does not.
        what_if: why the runtime does not run on the machine; empty if it does.
        slo_s: maximum time of a run; None without one.
        flop: floating-point operations of the kernels of a run; None for a run of one token.
        parameters: elements of the parameters.
    """

    verdict: Verdict
    runtime: str
    dtype: str
    sizes: Mapping[str, int]
    labels: Mapping[str, str]
    given: frozenset[str]
    price: Offer | None
    region: Region | None = None
    host_share: float = 1.0
    predictor: str = ""
    tokens: TokenKind = TokenKind.ALL
    load: str = ""
    what_if: str = ""
    slo_s: float | None = None
    flop: int | None = None
    parameters: int | None = None

    @classmethod
    def of(
        cls,
        report: Report,
        prices: Prices,
        region: Region | None = None,
        slo_s: float | None = None,
        *,
        predict: bool = True,
    ) -> Row:
        """Create the row of a report.

        Args:
            report: analysis of the model on its machine.
            prices: prices of machines.
            region: region of the electricity; the world average if None.
            slo_s: maximum time of a run.
            predict: predict times; otherwise use measured rates.
        """
        part = report.machine.slice
        return cls(
            Verdict.of(report, predict=predict),
            report.deployment.table_name,
            report.dtype,
            dict(report.env),
            report.source.labels,
            frozenset(report.given),
            price=prices.of(report.machine),
            region=region,
            host_share=1.0 if part is None else part.card_share,
            predictor=report.predictor,
            what_if=runs_elsewhere(report.kernels.runtime, report.machine),
            slo_s=slo_s,
            flop=report.flops,
            parameters=report.parameters,
        )

    @property
    def time_s(self) -> float:
        """Return the predicted time of a run."""
        return self.verdict.time_s

    @property
    def fits(self) -> bool:
        """Return True unless the run is known not to fit."""
        return self.verdict.memory.fits is not False

    @property
    def energy_j(self) -> float | None:
        """Return the energy of a run."""
        return None if self.verdict.energy is None else self.verdict.energy.mid

    @property
    def price_per_million(self) -> float | None:
        """Return the price of a million images, tokens or runs on a fully used machine."""
        if self.price is None:
            return None
        return self.price.of(self.time_s) / self.verdict.throughput.per_run * MILLION

    def bill(
        self,
        runs: float = 1.0,
        *,
        host: Host = HOST,
        pue: float | None = None,
        power_limit_w: float = math.inf,
    ) -> Bill:
        """Compute the bill of several runs: time, energy, carbon and money.

        Args:
            runs: number of runs.
            host: host of each board; a slice has its share.
            pue: power usage effectiveness of the data center; that of the tables by default.
            power_limit_w: power limit of the board, below its own.
        """
        time_s, board_j = self.verdict.expected, self.verdict.energy
        if board_j is not None and time_s.mid > 0 and power_limit_w < math.inf:
            # by the ratio of the limit to the mean power, the run takes longer at less power
            law, ratio = cap_law(), power_limit_w * time_s.mid / board_j.mid
            longer, less = law.time(ratio), law.power(ratio)
            time_s, board_j = time_s * longer, board_j * (longer * less)
        region = self.region or region_named(WORLD)
        host_part = host.part(self.host_share)
        return Bill.of(time_s, board_j, region, self.price, runs=runs, host=host_part, pue=pue)

    @property
    def bill_per_million(self) -> Bill:
        """Return the bill of a million images, tokens or runs."""
        return self.bill(MILLION / self.verdict.throughput.per_run)

    @property
    def competes(self) -> bool:
        """Return True if the row can be the best: it runs, fits, and meets the maximum time."""
        return not self.what_if and self.standing is not LimitStatus.MISSES

    @property
    def in_time(self) -> LimitStatus | None:
        """Return the status of the row against its maximum time; None without one."""
        return None if self.slo_s is None else self.standing

    @property
    def standing(self) -> LimitStatus:
        """Return the status of the row against its maximum time; one that fits holds without it."""
        limit_s = math.inf if self.slo_s is None else self.slo_s
        if not self.fits or self.time_s > limit_s:
            return LimitStatus.MISSES
        return LimitStatus.HOLDS if self.verdict.expected.high <= limit_s else LimitStatus.LIKELY


def _or_last(value: float | None) -> float:
    """Return a sort key by which unknown values come last."""
    return math.inf if value is None else value


_KEYS: Mapping[Order, Callable[[Row], Any]] = {
    Order.TIME: lambda r: r.time_s,
    Order.FLOOR: lambda r: r.verdict.floor_s,
    Order.THROUGHPUT: lambda r: -r.verdict.throughput.per_s,
    Order.ENERGY: lambda r: _or_last(r.energy_j),
    Order.MEMORY: lambda r: r.verdict.memory.total_bytes,
    Order.PRICE: lambda r: _or_last(r.price_per_million),
    Order.TARGET: lambda r: r.verdict.target,
}


@record
class Comparison(Result):
    """Rows of a comparison in the requested order.

    Args:
        rows: one row per setting and machine.
        order: sort order of the rows of each model; those that do not fit in memory come last, and
            after them those that do not run.
        slo_s: maximum time of a run; None without one.
        is_predicted: True if times are predictions; otherwise they are at measured rates.
        region: requested region of the electricity; None without one.
        left_out: predictors that do not cover the model, each with its reason.
    """

    layout: ClassVar[str] = "perfc.study.comparison.views:LAYOUT"
    rows: tuple[Row, ...]
    order: Order
    slo_s: float | None
    is_predicted: bool
    region: Region | None = None
    left_out: tuple[str, ...] = ()

    __repr__ = Result.__repr__

    @property
    def has_predictors(self) -> bool:
        """Return True if rows differ in the requested whole-run predictor."""
        return len({r.predictor for r in self.rows}) > 1

    @property
    def models(self) -> tuple[str, ...]:
        """Return the names of the models, in order."""
        return tuple(dict.fromkeys(r.verdict.model for r in self.rows))

    def place(self, row: Row) -> tuple[Any, ...]:
        """Return the sort key of a row: its model, whether it runs and fits, and the order."""
        model = self.models.index(row.verdict.model)
        return model, bool(row.what_if), not row.fits, _KEYS[self.order](row)

    @property
    def holds(self) -> bool:
        """Return True if a row that runs is predicted to meet ``slo_s``, or without one."""
        return self.slo_s is None or any(r.competes for r in self.rows)

    @property
    def currency(self) -> str:
        """Return the currency of all prices; empty without prices or with several currencies."""
        currencies = {r.price.currency for r in self.rows if r.price is not None}
        return currencies.pop() if len(currencies) == 1 else ""


@dataclass
class RowMaker:
    """Makes the row of a setting on a machine, from the last report where it can be reused.

    Args:
        prices: prices of the project.
        region: region of the electricity; the world average if None.
        slo_s: maximum time of a run.
        predict: predict times; otherwise use measured rates.
        skip: return why a predictor does not cover a model, instead of raising.
        last: last setting with its report; it does not leave the process.
    """

    prices: Prices
    region: Region | None
    slo_s: float | None
    predict: bool
    skip: bool
    last: tuple[ModelSetting, Report] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return RowMaker, (self.prices, self.region, self.slo_s, self.predict, self.skip)

    def __call__(self, task: tuple[ModelSetting, Machine]) -> Row | str:
        """Return the row, or the reason why there is none."""
        setting, machine = task
        known = self.last[1] if self.last and setting.continues(self.last[0]) else None
        try:
            report = setting.report(machine, known)
            self.last = setting, report
            return Row.of(report, self.prices, self.region, self.slo_s, predict=self.predict)
        except PerfcError as error:
            if not (self.skip and setting.predictor):
                raise
            return error.reason.removeprefix(f"{setting.predictor}: ")


def compare(
    settings: Sequence[ModelSetting],
    machines: Sequence[Machine],
    *,
    order: Order = Order.TIME,
    slo_s: float | None = None,
    prices: Prices | None = None,
    region: Region | None = None,
    predict: bool = True,
    skip: bool = False,
    each: Each = map,
) -> Comparison:
    """Analyze every setting on every machine; here, a model is read once per setting.

    Args:
        settings: models with their deployments.
        machines: targets.
        order: sort order of the rows.
        slo_s: maximum time of a run.
        prices: prices of the project.
        region: region of the electricity; the world average if None.
        predict: predict times; otherwise use measured rates.
        skip: leave out predictors that do not cover a model, instead of raising.
        each: applies a function to all settings and machines: `map`, or elsewhere.

    Raises:
        PerfcError: as for ``perfc.analyze``, or to sort by prices of several currencies.
    """
    make = RowMaker(prices or Prices(), region, slo_s, predict, skip)
    rows: list[Row] = []
    left_out: dict[str, dict[str, None]] = {}  # predictors in order, by the reason
    tasks = list(product(settings, machines))
    for (setting, _), answer in zip(tasks, each(make, tasks), strict=True):
        if isinstance(answer, Row):
            rows.append(answer)
        else:
            left_out.setdefault(answer, {})[setting.predictor] = None
    omitted = tuple(f"{', '.join(names)}: {reason}" for reason, names in left_out.items())
    result = Comparison(tuple(rows), order, slo_s, predict, region, omitted)
    if order is Order.PRICE and not result.currency:
        some = any(r.price is not None for r in rows)
        what = "prices are in several currencies" if some else "no known price"
        hint = "set them in [prices] of perfc.toml or [price] of a target file"
        raise ParseError(what, where="--sort", hint=hint)
    if order is Order.GIVEN:
        return result
    return replace(result, rows=tuple(sorted(rows, key=result.place)))


@with_signature
def compare_models(
    models: Model | Sequence[Model],
    targets: Sequence[str],
    input: Sequence[int] | None = None,
    *,
    inputs: Inputs | None = None,
    order: str = "time",
    slo_s: float | None = None,
    prices: Prices | None = None,
    region: str | None = None,
    values: Mapping[str, Any] | None = None,
    deployment: Deployment | None = None,
    **keywords: Unpack[DeploymentKeywords],
) -> Comparison:
    """Compare machines; this is ``perfc.compare``.

    Args:
        models: model as for ``perfc.analyze``, or a list of models.
        targets: names or files of the machines.
        input: extents of one example of a PyTorch module.
        inputs: inputs of a PyTorch module with several; see ``perfc.analyze``.
        order: sort order of the rows: ``time``, ``floor``, ``throughput``, ``energy``, ``memory``,
            ``price``, ``target`` or ``given``.
        slo_s: maximum time of a run, in seconds.
        prices: prices by target; otherwise those of target files, then of dated tables, apply.
        region: region of the electricity, by name or as grams of CO2 per kWh.
        values: contents of inputs that determine shapes.
        deployment: deployment of the models, as one value.
        keywords: keywords as for ``perfc.analyze``.

    Raises:
        PerfcError: as for ``perfc.analyze``, or without a target.
    """
    if not targets or isinstance(targets, str):  # a text is a sequence of letters
        raise ParseError("targets are a list of names", hint='["a100", "h100"]')
    how = (deployment or Deployment()).with_values({**keywords})
    graphs = [
        graph_of(model, input, inputs, how.dims)
        for model in (models if isinstance(models, list | tuple) else [models])
    ]
    settings = [ModelSetting(model, how, dict(values or {})) for model in graphs]
    machines = [load_machine(target) for target in targets]
    sort_order = member(Order, order, "order")
    where = None if region is None else region_named(region, "region")
    return compare(settings, machines, order=sort_order, slo_s=slo_s, prices=prices, region=where)
