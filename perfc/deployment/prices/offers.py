"""Read GPU prices of clouds per hour from dated tables in ``prices``, one file per source."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import replace
from enum import Enum
from functools import cache
from pathlib import Path

from perfc.common.choice import member
from perfc.errors import ParseError, TargetError
from perfc.ir import record
from perfc.machine import Machine, split

from .tables import amount_in, places, tables_in, text_in

HOUR_S = 3600.0
"""Seconds of an hour, by which clouds rent."""
LARGEST = 1e6
"""Maximum valid price per hour, in any currency."""


class RentalTerms(Enum):
    """Rental terms of a machine."""

    ON_DEMAND = "on-demand"
    """Rented for any time and never interrupted."""
    SPOT = "spot"
    """Cheaper, but may be interrupted at any time, which loses work since the last checkpoint."""
    RESERVED = "reserved"
    """Reserved for the time given in the table."""

    __hash__ = object.__hash__  # by identity: Enum hashes the name, in Python


class Market(Enum):
    """Kind of seller; prices from different kinds are not comparable."""

    LIST = "list price"
    """The published price of one provider."""
    MARKETPLACE = "marketplace"
    """Machines of third parties, each of which sets its price."""
    SURVEY = "survey"
    """Middle of the prices of several providers."""
    OWN = "given"
    """Price from a project or a target file."""

    __hash__ = object.__hash__  # by identity: Enum hashes the name, in Python


@record
class Offer:
    """Price of one GPU per hour.

    Args:
        per_hour: price of one GPU of the instance.
        currency: three letters, as ``USD``.
        source: source of the price.
        date: date of the source.
        terms: rental terms.
        cloud: cloud provider; empty for a price from a project or a target file.
        instance: name of the instance.
        gpus: GPUs of the instance, which are rented together.
        pue: PUE of the cloud's data centers; None if the table has none.
        market: kind of seller.
    """

    per_hour: float
    currency: str
    source: str
    date: str
    terms: RentalTerms = RentalTerms.ON_DEMAND
    cloud: str = ""
    instance: str = ""
    gpus: int = 1
    pue: float | None = None
    market: Market = Market.OWN

    def of(self, time_s: float) -> float:
        """Return the price of a time in seconds."""
        return self.per_hour * time_s / HOUR_S

    def part(self, share: float) -> Offer:
        """Return the offer for a slice of the card, at its share of the price."""
        return self if share == 1 else replace(self, per_hour=self.per_hour * share)


def offers_of(
    machine: Machine, terms: RentalTerms | None = None, cloud: str = ""
) -> tuple[Offer, ...]:
    """Return the offers for a machine in the tables, newest first, then cheapest.

    Args:
        machine: a card, or a slice at its share of the price.
        terms: requested terms; None for all.
        cloud: requested cloud; empty for all.

    Raises:
        ParseError: for an invalid table, or an unknown cloud.
    """
    # "" is the key of the offers of all targets
    by_target = all_offers()
    if cloud and cloud not in {o.cloud for o in by_target.get("", ())}:
        hint = f"there are {', '.join(sorted({o.cloud for o in by_target['']}))}"
        raise ParseError(f"no prices of {cloud[:32]!r}", where="--cloud", hint=hint)
    # tables list whole cards; a slice is named by its card, a slash and its size
    name, _ = split(machine.name)
    share = machine.slice.card_share if machine.slice is not None else 1.0
    matching = [
        o.part(share)
        for o in by_target.get(name, ())
        if terms in (None, o.terms) and (not cloud or o.cloud == cloud)
    ]
    # sorting is stable: offers of one date stay in order of their price
    matching.sort(key=lambda o: o.per_hour)
    return tuple(sorted(matching, key=lambda o: o.date, reverse=True))


def all_offers() -> Mapping[str, tuple[Offer, ...]]:
    """Return offers by target; the empty name has the offers of all targets.

    Raises:
        ParseError: for an invalid table.
    """
    return _in(places("prices"))


@cache
def _in(folders: tuple[Path, ...]) -> Mapping[str, tuple[Offer, ...]]:
    """Return the offers of the tables in some folders by target; the empty name has all."""
    by_target: dict[str, list[Offer]] = {"": []}
    for path, tree in tables_in(folders):
        for target, offer in _offers(path, tree):
            by_target.setdefault(target, []).append(offer)
            by_target[""].append(offer)
    return {name: tuple(offers) for name, offers in by_target.items()}


def _offers(path: Path, tree: Mapping[str, object]) -> Iterator[tuple[str, Offer]]:
    """Yield target and offer for each price of a table; top-level texts are defaults of rows."""
    where = os.fspath(path)
    tables = tree.get("offer")
    if not isinstance(tables, list) or not all(isinstance(t, dict) for t in tables):
        raise ParseError("needs tables [[offer]]", where=where)
    usual = {key: text_in(tree, key, path) for key in ("cloud", "currency", "source", "date")}
    if not (len(usual["currency"]) == 3 and usual["currency"].isalpha()):
        raise ParseError(f"{usual['currency']!r} is not a currency", where=where)
    # at least 1 by definition; more than 5 is a wrong unit, as percent
    pue = amount_in(tree, "pue", path, 1, 5)
    for table in tables:
        # keys of a row replace keys of its file
        market = member(Market, str({**tree, **table}.get("market", Market.LIST.value)), where)
        target = _target(text_in(table, "target", path), where)
        cloud = text_in({"cloud": usual["cloud"], **table}, "cloud", path)
        # a table has the price of an instance, which may have several cards
        gpus = amount_in(table, "gpus", path, 1, 1024) or 1.0
        name = text_in(table, "instance", path) if "instance" in table else ""
        for terms in RentalTerms:
            key = f"{terms.value.replace('-', '_')}_per_hour"
            # no offer is free: a price of 0 would come first among all
            amount = amount_in(table, key, path, 1e-4, LARGEST)
            if amount is not None:
                yield (
                    target,
                    Offer(
                        amount / gpus,
                        usual["currency"].upper(),
                        usual["source"],
                        usual["date"],
                        terms=terms,
                        cloud=cloud,
                        instance=name,
                        gpus=int(gpus),
                        pue=pue,
                        market=market,
                    ),
                )


def _target(name: str, where: str) -> str:
    """Return the name of a target for one of its names or aliases."""
    from perfc.machine import load_machine

    try:
        return load_machine(name).name
    except TargetError as error:
        error.where = where
        raise
