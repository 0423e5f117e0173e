"""Energy, carbon and money of runs: dated prices and grids, each with its source."""

from __future__ import annotations

from .bill import HOST, Bill, Host
from .offers import HOUR_S, Market, Offer, RentalTerms, offers_of
from .project_prices import Prices
from .regions import Region, region_named, regions

__all__ = [
    "HOST",
    "HOUR_S",
    "Bill",
    "Host",
    "Market",
    "Offer",
    "Prices",
    "Region",
    "RentalTerms",
    "offers_of",
    "region_named",
    "regions",
]
