"""Find the price of a machine per hour: in the project file, its target file, or a dated table."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path

from perfc.common.toml_file import line_of
from perfc.deployment.project_file import PRICES, check_top, read_project
from perfc.errors import ParseError, TargetError
from perfc.ir import record
from perfc.machine import Machine, load_machine

from .offers import LARGEST, Offer, RentalTerms, offers_of

_SUFFIX = "_per_hour"
"""Ending of the key of a price in a target file, after the currency."""
_ABOUT = ("currency", "source", "date")
"""Keys that apply to all prices of a project."""


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

    @classmethod
    def read(cls, path: Path | None) -> Prices:
        """Read the table ``[prices]`` of a project file; empty without a file or table.

        Raises:
            ParseError: for an invalid key or value, with its line.
        """
        if path is None:
            return cls()
        tree, text, prefix = read_project(path)
        header = f"{prefix}{PRICES}"
        if not isinstance(tree, dict) or PRICES not in tree:
            return cls()
        check_top(tree, path, text)
        return cls(_read(tree[PRICES], lambda key: f"{path}:{line_of(text, f'{header}.{key}')}"))


def _read(table: object, place: Callable[[str], str]) -> dict[str, Offer]:
    """Return the prices of a table.

    Args:
        table: parsed table.
        place: function that returns the location of a key, for messages.

    Raises:
        ParseError: as for `Prices.read`.
    """
    if not isinstance(table, dict):
        raise ParseError("prices is not a table", where=place(""), hint="write [prices]")
    about = {key: _about(table.get(key), key, place(key)) for key in _ABOUT}
    prices: dict[str, Offer] = {}
    for name, value in table.items():
        if name in _ABOUT:
            continue
        try:
            machine = load_machine(name)
        except TargetError as error:
            error.where = place(name)
            raise
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not math.isfinite(value) or not 0 < value <= LARGEST:
            hint = f"an amount of {about['currency']} per hour, as in {name} = 1.5"
            raise ParseError(f"{name} = {value!r} is not a price", where=place(name), hint=hint)
        # the key is the name in the target file, as a project may use an alias
        prices[machine.name] = Offer(
            float(value), about["currency"], about["source"], about["date"]
        )
    return prices


def _about(value: object, key: str, where: str) -> str:
    """Return one of ``currency``, ``source`` and ``date``, which every price needs."""
    text = value.isoformat() if isinstance(value, datetime.date) else value
    # reports print the text in a line
    if not isinstance(text, str) or not text.strip() or len(text) > 200 or not text.isprintable():
        hint = 'prices need currency = "USD", source = "…" and date = 2026-01-31'
        raise ParseError(
            f"prices.{key} is missing, or not a one-line string", where=where, hint=hint
        )
    if key == "currency" and not (len(text) == 3 and text.isascii() and text.isalpha()):
        raise ParseError(f"{text!r} is not a currency", where=where, hint='three letters, as "USD"')
    return text.upper() if key == "currency" else text


def price_of_target(machine: Machine) -> Offer | None:
    """Return the price in a target file; None if it has none."""
    for key, rate in machine.facts.items():
        if key.startswith("price.") and key.endswith(_SUFFIX):
            currency = key.removeprefix("price.").removesuffix(_SUFFIX).upper()
            # a derived number has several sources with plus signs between: the file's is first
            source = machine.sources[rate.source.partition("+")[0]]
            return Offer(rate.value, currency, source.title, source.date)
    return None
