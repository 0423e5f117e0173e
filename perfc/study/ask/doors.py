"""Facts that other commands compute: the largest batch, prices, and other machines."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from perfc.view.report.units import Unit, quantity

from .elsewhere import Door, Elsewhere
from .fact import Citation, ReportFact

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.study.expenses import Prices


def facts_of_door(
    door: Elsewhere, report: Report, targets: Sequence[str], prices: Prices
) -> Iterator[ReportFact]:
    """Yield facts of another command on the model of a report; paths are of that command's JSON.

    Args:
        door: the command.
        report: report of the model.
        targets: machines that the question names; the default ones if it names none.
        prices: prices declared by the project.

    Raises:
        PerfcError: if the command would fail.
    """
    match door.door:
        case Door.FIT:
            yield largest_batch(report)
        case Door.COST:
            yield from bills(report, targets, prices, is_of_many=door.is_of_many)
        case Door.COMPARE:
            yield from side_by_side(report, targets, prices)


def largest_batch(report: Report) -> ReportFact:
    """Return the largest batch that the device holds, as ``perfc fit --batch auto`` does."""
    from perfc.study.fit import fitted
    from perfc.study.fit.views import FitView

    first = FitView.of(fitted(report, is_auto=True)).choices[0]
    where = f"on {report.machine.name} ({Door.FIT.value})"
    text = f"batch {first.largest:,} is the largest that fits {where}"
    cited = (Citation("choices[0].largest", first.largest, Unit.COUNT),
             Citation("choices[0].fits", first.fits, Unit.NONE))  # fmt: skip
    return ReportFact("largest batch", text if first.fits else f"no batch fits {where}", cited)


def side_by_side(report: Report, targets: Sequence[str], prices: Prices) -> Iterator[ReportFact]:
    """Yield the time on each machine, the fastest first, as ``perfc compare`` does."""
    from perfc.machine import load_machine
    from perfc.study.comparison import USUAL, ComparisonView, ModelSetting, Order, compare

    machines = [load_machine(name) for name in targets or USUAL]
    setting = ModelSetting(report.model, report.deployment, report.values, report.predictor)
    compared = compare([setting], machines, order=Order.TIME, prices=prices)
    for i, row in enumerate(ComparisonView.of(compared).rows):
        room = ", does not fit" if row.fits is False else ""
        text = f"{row.target}: {quantity(row.time_s, Unit.SECOND)}{room} ({Door.COMPARE.value})"
        cited = (Citation(f"rows[{i}].time_s", row.time_s, Unit.SECOND),
                 Citation(f"rows[{i}].fits", row.fits, Unit.NONE))  # fmt: skip
        yield ReportFact("machines", text if i or room else f"fastest {text}", cited)


def bills(
    report: Report, targets: Sequence[str], prices: Prices, *, is_of_many: bool
) -> Iterator[ReportFact]:
    """Yield what a million items cost on each machine, the cheapest first, as ``perfc cost``."""
    from perfc.machine import load_machine
    from perfc.study.comparison import USUAL, ModelSetting, Order, compare
    from perfc.study.comparison.amounts import figure
    from perfc.study.comparison.bill_views import amount
    from perfc.study.comparison.bills import BilledAmount, CostsView, costs

    names = (targets or USUAL) if is_of_many else ()
    machines = [load_machine(name) for name in names] or [report.machine]
    setting = ModelSetting(report.model, report.deployment, report.values, report.predictor)
    compared = compare([setting], machines, order=Order.GIVEN, prices=prices)
    billed = costs(compared, machines, BilledAmount(), prices)
    for i, row in enumerate(CostsView.of(billed).rows):
        if row.price is None or row.offer is None:
            text = f"{row.target}: no known price"
        else:
            place = "cheapest " if is_of_many and not i else ""
            cost = f"{figure(row.price.mid)} {row.offer.currency}"
            text = f"{place}{row.target}: {cost} for {amount(billed)}"
            if row.offer.cloud:
                text += f", {row.offer.cloud}, {row.offer.terms}, {row.offer.date}"
        mid = None if row.price is None else row.price.mid
        path = f"rows[{i}].price" if mid is None else f"rows[{i}].price.mid"
        yield ReportFact("price", f"{text} ({Door.COST.value})", (Citation(path, mid, Unit.NONE),))
