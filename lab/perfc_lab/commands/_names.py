"""Names of data sources and data sets, for help and completion."""

from __future__ import annotations

from collections.abc import Iterable


def sources() -> Iterable[str]:
    """The sources of measured rows."""
    from ..data.source import sources as known

    return known()


def data_sets() -> Iterable[str]:
    """The data sets of whole models."""
    from ..datasets import datasets

    return datasets()
