"""Read model cards: training data, splits, scores and input features of a trained predictor."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from perfc.ir import record

from ..features.rows import Protocol
from ..intervals.conformal import LEVELS, Band, Bands, Calibration, Unseen
from .implementations import Implementation


@record
class Card:
    """Metadata of a predictor.

    Args:
        name: name of the predictor and stem of its files.
        class_name: class of kernels that it predicts.
        format: version of the layout of the files.
        schema: digest of class, parameters and features; code and weights must agree in it.
        parameters: parameters of the class, required and optional ones.
        features: names of the features, in the order of the forests' columns.
        protocols: protocols by which the rows were timed.
        frameworks: frameworks of the rows; the first is the default.
        dtypes: element types of the rows.
        targets: machines of the rows.
        configurations: combinations of machine, element type and framework among the rows.
        implementations: measured kernels by framework, if there are several frameworks.
        places: coordinates of every machine by element type, `perfc.analyzers.features.distance`;
            the machines of a type in alphabetical order.
        bases: constant that each forest adds to its trees.
        calibration: calibration of the intervals.
        split: how rows were held out for the metrics.
        data: SHA-256 of every table.
        metrics: metrics of held-out rows, by the name of the split and slice.
        versions: versions of the libraries that trained.
        rows: number of training rows.
        general: number of the factor's first trees that predict unmeasured machines; 0 for all.
        arrays_sha256: digest of the file of arrays, which is next to the card.
        notes: remarks for readers of the card.
    """

    name: str
    class_name: str
    format: int
    schema: str
    parameters: tuple[str, ...]
    features: tuple[str, ...]
    protocols: tuple[Protocol, ...]
    frameworks: tuple[str, ...]
    dtypes: tuple[str, ...]
    targets: tuple[str, ...]
    configurations: tuple[tuple[str, str, str], ...]
    places: Mapping[str, tuple[tuple[float, ...], ...]]
    bases: Mapping[str, float]
    calibration: Calibration
    split: str
    data: Mapping[str, str]
    metrics: Mapping[str, Mapping[str, float]]
    versions: Mapping[str, str]
    implementations: tuple[Implementation, ...] = ()
    rows: int = 0
    general: int = 0
    arrays_sha256: str = ""
    notes: tuple[str, ...] = field(default=())

    def has_rows(self, target: str, dtype: str) -> bool:
        """Return True if the training rows include that machine and type."""
        return any(measured[:2] == (target, dtype) for measured in self.configurations)


def parse_card(text: str) -> Card:
    """Return the card of a file's text.

    Raises:
        ValueError: it is no JSON, or a value is out of range.
        KeyError: a field is missing.
    """
    tree: dict[str, Any] = json.loads(text)
    calibration = tree["calibration"]
    # files call the configurations "kin"
    configurations = tuple((str(a), str(b), str(c)) for a, b, c in tree["kin"])
    names = {
        key: tuple(map(str, tree[key]))
        for key in ("frameworks", "dtypes", "targets", "parameters", "features", "notes")
    }
    return Card(
        name=str(tree["name"]),
        class_name=str(tree["class"]),
        format=int(tree["format"]),
        schema=str(tree["schema"]),
        protocols=tuple(Protocol(p) for p in tree["protocols"]),
        configurations=configurations,
        places={
            str(dtype): tuple(tuple(map(float, place)) for place in places)
            for dtype, places in tree["places"].items()
        },
        bases={str(k): float(v) for k, v in tree["bases"].items()},
        calibration=Calibration(
            _bands(calibration),
            {str(k): _bands(v) for k, v in calibration.get("categories", {}).items()},
        ),
        split=str(tree["split"]),
        data={str(k): str(v) for k, v in tree["data"].items()},
        metrics={
            str(k): {str(n): float(x) for n, x in v.items()} for k, v in tree["metrics"].items()
        },
        versions={str(k): str(v) for k, v in tree["versions"].items()},
        implementations=tuple(
            _parsed(listed, configurations) for listed in tree.get("implementations", ())
        ),
        rows=int(tree["rows"]),
        general=int(tree.get("general", 0)),
        arrays_sha256=str(tree["arrays_sha256"]),
        **names,
    )


def _bands(tree: Mapping[str, Any]) -> Bands:
    """Return conformal bands of machines with rows ("seen") and of machines without ("unseen").

    Raises:
        ValueError: numbers that are no bands.
    """
    levels = Band(*map(float, tree["levels"])) if "levels" in tree else LEVELS
    if not 0 < levels.low < 0.5 < levels.high < 1:
        raise ValueError("levels that are no quantiles on either side of the median")
    # null if no machine could be left out
    unseen = None
    if tree["unseen"]:
        error, low, high = map(float, tree["unseen"])
        if not (0 <= error < math.inf and low <= high):
            raise ValueError("errors of unseen machines that are none")
        unseen = Unseen(error, Band(low, high))
    return Bands(Band(*map(float, tree["seen"])), unseen, levels)


def _parsed(listed: Sequence[Any], known: Sequence[tuple[str, str, str]]) -> Implementation:
    """Return an implementation from its list of fields in a card.

    Raises:
        ValueError: its machine, element type and framework are no configuration of the card.
    """
    target, dtype, protocol, framework, choices, reasons = listed
    if (target, dtype, framework) not in known:
        raise ValueError(f"an implementation of {target}, {dtype}, {framework}, not measured")
    return Implementation(
        str(target),
        str(dtype),
        Protocol(protocol),
        str(framework),
        tuple(map(float, choices)),
        tuple(map(float, reasons)),
    )
