"""Read carbon intensities of grids and PUE of data centers from dated tables in ``regions``."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from perfc.errors import ParseError
from perfc.ir import record

from .tables import amount_in, places, tables_in, text_in

J_PER_KWH = 3.6e6
"""Joules of a kilowatt-hour, in which grids give their emissions."""
WORLD = "world"
"""Name of the region of the world's mean, which applies if no region is given."""
DIRTIEST_G = 1e5
"""Maximum grams of CO2 per kWh; coal emits about 1,000, so that more is a wrong unit."""


@record
class Region:
    """Electricity of a region.

    Args:
        name: name of a country, or of a cloud region.
        carbon_g_per_kwh: grams of CO2 equivalent per kWh.
        source: source of the number.
        date: date of the source.
        pue: energy of a data center over that of its computers; None if the table has none.
    """

    name: str
    carbon_g_per_kwh: float
    source: str
    date: str
    pue: float | None = None

    def carbon_g(self, energy_j: float) -> float:
        """Return the CO2 equivalent of an energy, in grams."""
        return energy_j / J_PER_KWH * self.carbon_g_per_kwh


def regions() -> Mapping[str, Region]:
    """Return all regions by name.

    Raises:
        ParseError: for an invalid table.
    """
    return _in(places("regions"))


@cache
def _in(folders: tuple[Path, ...]) -> Mapping[str, Region]:
    """Return the regions of the tables in some folders; the first of a name counts."""
    by_name: dict[str, Region] = {}
    for path, tree in tables_in(folders):
        for name, region in _regions(path, tree).items():
            # folders of users come first, so that their numbers replace shipped numbers
            by_name.setdefault(name, region)
    return by_name


def _regions(path: Path, tree: Mapping[str, object]) -> dict[str, Region]:
    """Return the regions of one table."""
    table = tree.get("carbon_g_per_kwh")
    if not isinstance(table, dict):
        raise ParseError("needs a table [carbon_g_per_kwh]", where=os.fspath(path))
    source, date = text_in(tree, "source", path), text_in(tree, "date", path)
    # at least 1 by definition; more than 5 is a wrong unit, as percent
    pue = amount_in(tree, "pue", path, 1, 5)
    grams = {name: amount_in(table, name, path, 0, DIRTIEST_G) for name in table}
    return {n: Region(n, g, source, date, pue) for n, g in grams.items() if g is not None}


def region_named(text: str, where: str = "--region") -> Region:
    """Return a region by name, or by its grams of CO2 per kWh.

    Raises:
        ParseError: if the text is neither.
    """
    # a number first: no region has a number as its name
    try:
        grams = float(text)
    except ValueError:
        known = regions()
        if text in known:
            return known[text]
        from difflib import get_close_matches

        # similar names, else the first names as examples
        near = get_close_matches(text[:64], known, 3) or list(known)[:8]
        hint = f"as {', '.join(near)}; or a number of grams per kWh"
        raise ParseError(f"no region {text[:32]!r}", where=where, hint=hint) from None
    if not 0 <= grams <= DIRTIEST_G:
        raise ParseError(f"{text[:32]} g per kWh", where=where, hint=f"0 to {DIRTIEST_G:.0f}")
    return Region(f"{grams:g} g/kWh", grams, "given", "now")
