"""Compute costs of many runs on each machine: time, energy, carbon and money, at all offers.

``perfc compare --price`` passes a `Comparison` to `costs`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from perfc.deployment.prices import Offer, Prices, offers_of
from perfc.ir import record
from perfc.machine import Machine
from perfc.view.result import Result

from .bill import HOST, Bill, Host
from .rows import MILLION, Comparison, Row, TokenKind


@record
class BilledAmount:
    """Amount of runs, given as runs or items; a million items by default.

    Args:
        runs: training steps, or runs of a model.
        items: images, tokens or runs that they process.
    """

    runs: float | None = None
    items: float | None = None

    def of(self, row: Row) -> float:
        """Return the number of runs of a row, by the items per run."""
        if self.runs is not None:
            return self.runs
        # a run may process several items, as a batch of images
        return (MILLION if self.items is None else self.items) / row.verdict.throughput.per_run


@record
class Priced:
    """A row of a comparison with its bill.

    Args:
        row: one model on one machine.
        bill: bill of all runs at the selected price.
        offers: bills at every known offer for the machine.
    """

    row: Row
    bill: Bill
    offers: tuple[Bill, ...]


@record
class Costs(Result):
    """Bills of each model, cheapest first; rows without a price and what-ifs come last."""

    layout: ClassVar[str] = "perfc.study.comparison.bill_views:LAYOUT"
    rows: tuple[Priced, ...]
    amounts: BilledAmount
    host: Host
    is_predicted: bool


def costs(
    comparison: Comparison,
    machines: Sequence[Machine],
    amounts: BilledAmount,
    prices: Prices,
    *,
    host: Host = HOST,
    pue: float | None = None,
    power_limit_w: float = math.inf,
) -> Costs:
    """Compute the bills of the rows of a comparison.

    Args:
        comparison: comparison, in any order.
        machines: machines of its rows.
        amounts: amount of runs.
        prices: prices of the project, and the cloud of other offers.
        host: host of each board.
        pue: power usage effectiveness of the data center; that of the tables by default.
        power_limit_w: power limit of every board, below its own.

    Raises:
        ParseError: for an invalid price table, or an unknown cloud.
    """
    by_name = {m.name: m for m in machines}
    rows: list[Priced] = []
    for row in comparison.rows:
        bill = row.bill(amounts.of(row), host=host, pue=pue, power_limit_w=power_limit_w)
        offers = offers_of(by_name[row.verdict.target], None, prices.cloud)
        # offers differ only in their price: one bill serves for all
        rows.append(Priced(row, bill, tuple(replace(bill, offer=o) for o in _distinct(offers))))
    kind_order = list(TokenKind)
    # by model and kind of tokens, then by price
    rows.sort(
        key=lambda r: (
            comparison.models.index(r.row.verdict.model),
            kind_order.index(r.row.tokens),
            bool(r.row.what_if),
            math.inf if r.bill.price is None else r.bill.price.mid,
        )
    )
    return Costs(tuple(rows), amounts, host, comparison.is_predicted)


def _distinct(offers: Sequence[Offer]) -> Sequence[Offer]:
    """Return offers without duplicates, cheapest first."""
    # instances of other sizes may have the same price for a GPU: reversed, so that the first in the
    # table replaces them
    by_terms = {(o.cloud, o.terms, o.date, round(o.per_hour, 4)): o for o in reversed(offers)}
    return sorted(by_terms.values(), key=lambda o: o.per_hour)


def item_of(row: Row) -> str:
    """Return the kind of items of a row, as ``images`` and ``input tokens``."""
    return " ".join(filter(None, (row.tokens.value, row.verdict.throughput.item.value)))
