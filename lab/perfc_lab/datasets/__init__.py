"""Data sets of measured models, by name: files of this folder declare them as subclasses."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from perfc.analyzers.features.rows import DataError
from perfc.analyzers.graph.dataset import GraphDataset
from perfc.analyzers.graph.measured_runs import MeasuredRuns
from perfc.common.declared import instances


@cache
def datasets() -> Mapping[str, GraphDataset]:
    """Return every data set by name, the user's measured runs among them."""
    # `MeasuredRuns` is not part of the lab, so that the search of this package does not find it
    declared = (*instances(__name__, GraphDataset), MeasuredRuns())
    return {dataset.name: dataset for dataset in sorted(declared, key=lambda d: d.name)}


def dataset(name: str) -> GraphDataset:
    """Return a data set by name.

    Raises:
        DataError: no such data set.
    """
    known = datasets()
    if name not in known:
        raise DataError(f"no data set {name!r}", hint=f"there are {', '.join(known)}")
    return known[name]
