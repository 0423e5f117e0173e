"""One row a model, way of running and machine: the headlines of their reports."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from enum import Enum
from typing import TYPE_CHECKING, Any, Unpack

from perfc.analyzers.runs.power_cap import cap_law
from perfc.api import Model, analyze
from perfc.choice import member
from perfc.deployment import Deployment, DeploymentKeywords
from perfc.errors import ParseError
from perfc.expenses import HOST, Bill, Host, Offer, Prices, Region, region_named
from perfc.expenses.regions import WORLD
from perfc.frontend.torch_inputs import Inputs
from perfc.frontend.torch_module import graph_of
from perfc.ir.record import record
from perfc.machine import load_machine
from perfc.presentation import WIDTH, data_frame
from perfc.report import Verdict

if TYPE_CHECKING:
    import pandas

    from perfc.machine import Machine

MILLION = 1e6
USUAL = ("a100", "h100", "l4", "t4")
"""Targets where nobody names any."""


class Order(Enum):
    """What rows are sorted by; the best comes first, what is not known last."""

    GIVEN = "given"
    """As models, runtimes, precisions and targets were named."""
    TIME = "time"
    FLOOR = "floor"
    THROUGHPUT = "throughput"
    ENERGY = "energy"
    MEMORY = "memory"
    PRICE = "price"
    TARGET = "target"

    __hash__ = object.__hash__


class Standing(Enum):
    """How a run stands to the time that it may take."""

    HOLDS = "yes"
    """Even the slowest of nine in ten runs is in time."""
    LIKELY = "likely"
    """The expected time is; the end of the interval is not."""
    MISSES = "no"
    """The expected time is longer, or the memory does not hold the run."""


@record
class Setting:
    """A model, and how it is run on some machine.

    Args:
        model: what ``perfc.analyze`` takes.
        deployment: how it is run; its target is not looked at.
        values: contents of inputs that drive shapes.
        predictor: of the whole run, as ``perfc.analyze`` takes it.
    """

    model: Any
    deployment: Deployment
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    predictor: str = ""


@record
class Row:
    """One model run in one way on one machine.

    Args:
        verdict: the headline of its report.
        runtime: whose kernels run, with its streams.
        dtype: what-if precision; "" for the model's own.
        sizes: of symbols, by their keys.
        labels: what people read for those keys.
        given: those that nobody had to assume.
        price: of the machine; None where nobody states one.
        region: whose electricity it is; None for the world's.
        host_share: of a host that the machine has; a slice has its card's share.
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

    @property
    def time_s(self) -> float:
        """Expected time of a run."""
        return self.verdict.time_s

    @property
    def fits(self) -> bool:
        """Whether the machine has the memory, as far as anybody knows."""
        return self.verdict.memory.fits is not False

    @property
    def energy_j(self) -> float | None:
        """Energy of a run."""
        return None if self.verdict.energy is None else self.verdict.energy.mid

    @property
    def price_per_million(self) -> float | None:
        """What a million images, tokens or runs cost, the machine never idle."""
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
        """What so many runs come to: time, energy, carbon and money.

        Args:
            runs: how many.
            host: around each board; a slice has its share.
            pue: of the centre, where the tables' is not meant.
            power_limit_w: of the board, below its own.
        """
        time_s, board_j = self.verdict.expected, self.verdict.energy
        if board_j is not None and time_s.mid > 0 and power_limit_w < math.inf:
            law, demand = cap_law(), power_limit_w * time_s.mid / board_j.mid
            longer, less = law.time(demand), law.power(demand)
            time_s, board_j = time_s * longer, board_j * (longer * less)
        where = self.region or region_named(WORLD)
        around = host.part(self.host_share)
        return Bill.of(time_s, board_j, where, self.price, runs=runs, host=around, pue=pue)

    @property
    def bill_per_million(self) -> Bill:
        """What a million images, tokens or runs come to."""
        return self.bill(MILLION / self.verdict.throughput.per_run)

    def standing(self, slo_s: float) -> Standing:
        """How the row stands to a time that a run may take."""
        if not self.fits or self.time_s > slo_s:
            return Standing.MISSES
        return Standing.HOLDS if self.verdict.expected.high <= slo_s else Standing.LIKELY


def _or_last(value: float | None) -> float:
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
class Comparison:
    """Rows in the order asked for.

    Args:
        rows: one for each setting and machine.
        order: of the rows; what does not fit into memory comes behind what does.
        slo_s: time that a run may take; None where nobody said one.
        is_predicted: whether times are predictions; else they are those at measured rates.
        region: whose electricity was asked for; None where nobody said.
    """

    rows: tuple[Row, ...]
    order: Order
    slo_s: float | None
    is_predicted: bool
    region: Region | None = None

    def __repr__(self) -> str:
        """The table that ``perfc compare`` prints."""
        from perfc.report import text

        from .views import document

        return text.render(document(self), WIDTH).rstrip()

    def _repr_html_(self) -> str:
        """The table for a notebook."""
        from perfc.report.notebook_document import render

        from .views import document

        return render(document(self))

    def to_dict(self) -> dict[str, object]:
        """The JSON document, schema ``perfc-compare/1``."""
        from perfc.report.json_form import enveloped

        from .data_form import SCHEMA, ComparisonView

        return enveloped(SCHEMA, ComparisonView.of(self))

    def to_pandas(self) -> pandas.DataFrame:
        """A row each in the order asked for; columns as ``-o machines.csv`` names them.

        Raises:
            MissingExtraError: pandas is not installed.
        """
        from .data_form import cells

        header, rows = cells(self)
        return data_frame(header, rows)

    @property
    def holds(self) -> bool:
        """Whether some row is expected to be in time; true where no time was said."""
        if self.slo_s is None:
            return True
        return any(r.standing(self.slo_s) is not Standing.MISSES for r in self.rows)

    @property
    def currency(self) -> str:
        """Of all prices; "" where there are none, or of several currencies."""
        found = {r.price.currency for r in self.rows if r.price is not None}
        return found.pop() if len(found) == 1 else ""


def compare(
    settings: Sequence[Setting],
    machines: Sequence[Machine],
    *,
    order: Order = Order.TIME,
    slo_s: float | None = None,
    prices: Prices | None = None,
    region: Region | None = None,
    predict: bool = True,
    on_row: Callable[[Row], None] | None = None,
) -> Comparison:
    """Analyse every setting on every machine; a model is read once for each setting.

    Args:
        settings: models and how they are run.
        machines: targets.
        order: of the rows.
        slo_s: time that a run may take.
        prices: stated by a project.
        region: whose electricity it is; the world's where it is None.
        predict: whether times are predicted.
        on_row: called with each row that is done.

    Raises:
        PerfcError: as ``perfc.analyze``; prices of several currencies to sort by.
    """
    known = prices or Prices()
    rows: list[Row] = []
    for setting in settings:
        first = analyze(setting.model, str(machines[0].path), deployment=setting.deployment,
                        values=setting.values, predictor=setting.predictor)  # fmt: skip
        for i, machine in enumerate(machines):
            report = first if i == 0 else first.under(str(machine.path))
            how = report.deployment
            row = Row(
                Verdict.of(report, predict=predict), how.table_name, report.dtype, dict(report.env),
                report.source.labels, frozenset(report.given), known.of(machine), region,
                1.0 if machine.slice is None else machine.slice.card_share,
            )  # fmt: skip
            rows.append(row)
            if on_row is not None:
                on_row(row)
    found = Comparison(tuple(rows), order, slo_s, predict, region)
    if order is Order.PRICE and not found.currency:
        some = any(r.price is not None for r in rows)
        what = "prices are in several currencies" if some else "no known price"
        hint = "set them in [prices] of perfc.toml or [price] of a target file"
        raise ParseError(what, where="--sort", hint=hint)
    if order is Order.GIVEN:
        return found
    ordered = sorted(rows, key=lambda r: (not r.fits, _KEYS[order](r)))
    return Comparison(tuple(ordered), order, slo_s, predict, region)


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
        models: what ``perfc.analyze`` takes, or a list of such.
        targets: names or files of the machines.
        input: extents of one example of a PyTorch module.
        inputs: of a PyTorch module with several; see ``perfc.analyze``.
        order: of the rows: ``time``, ``floor``, ``throughput``, ``energy``, ``memory``, ``price``,
            ``target`` or ``given``.
        slo_s: time that a run may take, in seconds.
        prices: by target; else those of target files count, else those of dated tables.
        region: whose electricity it is, by name or as grams of CO2 a kWh.
        values: contents of inputs that drive shapes.
        deployment: how the models are run, as one value.
        keywords: as of ``perfc.analyze``.

    Raises:
        PerfcError: as ``perfc.analyze``; no target.
    """
    if not targets or isinstance(targets, str):
        raise ParseError("targets are a list of names", hint='["a100", "h100"]')
    how = (deployment or Deployment()).with_values({**keywords})
    several = [
        graph_of(model, input, inputs, how.dims)
        for model in (models if isinstance(models, list | tuple) else [models])
    ]
    settings = [Setting(model, how, dict(values or {})) for model in several]
    machines = [load_machine(target) for target in targets]
    wanted = member(Order, order, "order")
    where = None if region is None else region_named(region, "region")
    return compare(settings, machines, order=wanted, slo_s=slo_s, prices=prices, region=where)
