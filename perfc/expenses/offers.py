"""What clouds ask for a GPU an hour: dated tables in ``prices``, one file a statement."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path

from perfc.choice import member
from perfc.errors import ParseError, TargetError
from perfc.ir.record import record
from perfc.machine import Machine, split

from .tables import amount_in, places, tables_in, text_in

HOUR_S = 3600.0
LARGEST = 1e6
"""An hour of no machine costs more, in any currency that is meant."""


class Terms(Enum):
    """On what terms a machine is rented."""

    ON_DEMAND = "on-demand"
    """As long as one likes, never taken away."""
    SPOT = "spot"
    """Cheaper, and may be taken away at any time: work since the last checkpoint is lost."""
    RESERVED = "reserved"
    """Bound for the time that the table says."""

    __hash__ = object.__hash__


class Market(Enum):
    """Who sells: prices of different kinds of sellers are not comparable."""

    LIST = "list price"
    """The published price of one provider."""
    MARKETPLACE = "marketplace"
    """Machines of third parties, priced by each of them."""
    SURVEY = "survey"
    """The middle of the prices of several providers."""
    OWN = "given"
    """A price that a project or a target file gives."""

    __hash__ = object.__hash__


@record
class Offer:
    """What one GPU costs an hour.

    Args:
        per_hour: amount, of one GPU of the instance.
        currency: three letters, as ``USD``.
        source: who says so.
        date: of that.
        terms: on which it is rented.
        cloud: that offers it; "" where a project or a target's file states the price.
        instance: its name there.
        gpus: of the instance, which cannot be rented one by one.
        pue: of the cloud's centres; None where the table says none.
        market: the kind of seller.
    """

    per_hour: float
    currency: str
    source: str
    date: str
    terms: Terms = Terms.ON_DEMAND
    cloud: str = ""
    instance: str = ""
    gpus: int = 1
    pue: float | None = None
    market: Market = Market.OWN

    def of(self, time_s: float) -> float:
        """What so many seconds cost."""
        return self.per_hour * time_s / HOUR_S

    def part(self, share: float) -> Offer:
        """The price of a slice, which keeps others from using that share of the card."""
        return self if share == 1 else replace(self, per_hour=self.per_hour * share)


def offers_of(machine: Machine, terms: Terms | None = None, cloud: str = "") -> tuple[Offer, ...]:
    """What the tables say a machine costs, the newest first, of a day the cheapest.

    Args:
        machine: a card, or a slice, which costs its share of the card.
        terms: asked for; None for all.
        cloud: asked for; "" for all.

    Raises:
        ParseError: a table that is none, or no table of that cloud.
    """
    every = all_offers()
    if cloud and cloud not in {o.cloud for o in every.get("", ())}:
        hint = f"there are {', '.join(sorted({o.cloud for o in every['']}))}"
        raise ParseError(f"no prices of {cloud[:32]!r}", where="--cloud", hint=hint)
    name = split(machine.name)[0]
    share = machine.slice.card_share if machine.slice is not None else 1.0
    found = [
        o.part(share)
        for o in every.get(name, ())
        if terms in (None, o.terms) and (not cloud or o.cloud == cloud)
    ]
    found.sort(key=lambda o: o.per_hour)
    return tuple(sorted(found, key=lambda o: o.date, reverse=True))


def all_offers() -> Mapping[str, tuple[Offer, ...]]:
    """Every offer by the name of the target; under "" all of them.

    Raises:
        ParseError: a table that is none.
    """
    return _in(places("prices"))


@cache
def _in(folders: tuple[Path, ...]) -> Mapping[str, tuple[Offer, ...]]:
    found: dict[str, list[Offer]] = {"": []}
    for path, tree in tables_in(folders):
        for target, offer in _offers(path, tree):
            found.setdefault(target, []).append(offer)
            found[""].append(offer)
    return {name: tuple(offers) for name, offers in found.items()}


def _offers(path: Path, tree: Mapping[str, object]) -> Iterator[tuple[str, Offer]]:
    where = os.fspath(path)
    tables = tree.get("offer")
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise ParseError("needs tables [[offer]]", where=where)
    usual = {key: text_in(tree, key, path) for key in ("cloud", "currency", "source", "date")}
    if not (len(usual["currency"]) == 3 and usual["currency"].isalpha()):
        raise ParseError(f"{usual['currency']!r} is no currency", where=where)
    pue = amount_in(tree, "pue", path, 1, 5)
    for table in tables:
        market = member(Market, str({**tree, **table}.get("market", Market.LIST.value)), where)
        target = _target(text_in(table, "target", path), where)
        cloud = text_in({"cloud": usual["cloud"], **table}, "cloud", path)
        gpus = amount_in(table, "gpus", path, 1, 1024) or 1.0
        name = text_in(table, "instance", path) if "instance" in table else ""
        for terms in Terms:
            key = f"{terms.value.replace('-', '_')}_per_hour"
            amount = amount_in(table, key, path, 1e-4, LARGEST)
            if amount is not None:
                yield target, Offer(
                    amount / gpus, usual["currency"].upper(), usual["source"], usual["date"],
                    terms, cloud, name, int(gpus), pue, market,
                )  # fmt: skip


def _target(name: str, where: str) -> str:
    from perfc.machine import load_machine

    try:
        return load_machine(name).name
    except TargetError as error:
        error.where = where
        raise
