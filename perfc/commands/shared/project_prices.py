"""Read the table ``[prices]`` of a project file."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable
from pathlib import Path

from perfc.common.toml_file import line_of
from perfc.deployment.prices import Prices
from perfc.deployment.prices.offers import LARGEST, Offer
from perfc.deployment.project_file import PRICES, check_top, read_project
from perfc.errors import ParseError, TargetError
from perfc.machine import load_machine

_ABOUT = ("currency", "source", "date")
"""Keys that apply to all prices of a project."""


def prices_in(path: Path | None) -> Prices:
    """Return the prices of a project file; none without a file or table.

    Raises:
        ParseError: for an invalid key or value, with its line.
    """
    if path is None:
        return Prices()
    tree, text, prefix = read_project(path)
    header = f"{prefix}{PRICES}"
    if not isinstance(tree, dict) or PRICES not in tree:
        return Prices()
    check_top(tree, path, text)
    return Prices(_read(tree[PRICES], lambda key: f"{path}:{line_of(text, f'{header}.{key}')}"))


def _read(table: object, place: Callable[[str], str]) -> dict[str, Offer]:
    """Return the prices of a table.

    Args:
        table: parsed table.
        place: function that returns the location of a key, for messages.

    Raises:
        ParseError: as for `prices_in`.
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
