"""Find the price of a machine per hour: in the project file, its target file, or a dated table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from perfc.ir import record
from perfc.machine import Machine

from .offers import Offer, RentalTerms, offers_of

_SUFFIX = "_per_hour"
"""Ending of the key of a price in a target file, after the currency."""


@record
class Prices:
    """Prices of a project, which take precedence over target files and tables.

    Args:
        by_target: price by name of a target.
        terms: terms of offers from tables.
        cloud: cloud of offers from tables; empty for any.
    """

    by_target: Mapping[str, Offer] = field(default_factory=dict)
    terms: RentalTerms = RentalTerms.ON_DEMAND
    cloud: str = ""

    def of(self, machine: Machine) -> Offer | None:
        """Return the price of a machine; None if unknown.

        A slice without its own price costs its share of the card.

        Raises:
            ParseError: for an invalid table, or an unknown cloud.
        """
        price = self.by_target.get(machine.name)
        if price is None and machine.slice is not None:
            # a slice is named by its card, a slash and its size
            card = self.by_target.get(machine.name.rpartition("/")[0])
            price = None if card is None else card.part(machine.slice.card_share)
        # the price of the project, of the target's file, then of the first offer in the tables
        return price or price_of_target(machine) or next(iter(self.offers(machine)), None)

    def offers(self, machine: Machine) -> tuple[Offer, ...]:
        """Return the offers of tables on these terms, newest first, then cheapest.

        Raises:
            ParseError: as for `of`.
        """
        return offers_of(machine, self.terms, self.cloud)


def price_of_target(machine: Machine) -> Offer | None:
    """Return the price in a target file; None if it has none."""
    for key, rate in machine.facts.items():
        if key.startswith("price.") and key.endswith(_SUFFIX):
            currency = key.removeprefix("price.").removesuffix(_SUFFIX).upper()
            # a derived number has several sources with plus signs between: the file's is first
            source = machine.sources[rate.source.partition("+")[0]]
            return Offer(rate.value, currency, source.title, source.date)
    return None
