"""Prices of machines and carbon intensities of grids, dated and with their sources."""

from __future__ import annotations

from .offers import HOUR_S, Market, Offer, RentalTerms, offers_of
from .project_prices import Prices
from .regions import Region, region_named, regions

__all__ = [
    "HOUR_S",
    "Market",
    "Offer",
    "Prices",
    "Region",
    "RentalTerms",
    "offers_of",
    "region_named",
    "regions",
]
