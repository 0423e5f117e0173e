"""Files of a shipped predictor: a readable card (TOML) and arrays (npz without pickle)."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.errors import PerfcError
from perfc.ir import entity

from ..features.table import class_of as kernel_class
from .arrays import unpacked
from .card import Card, parse_card
from .forest import Forest

if TYPE_CHECKING:
    from ..features.classes import Array

SHIPPED = Path(os.environ.get("PERFC_WEIGHTS") or Path(__file__).parents[1] / "weights")
"""Folder of the trained weights; the environment variable replaces the shipped one."""
Ready = Callable[[str, str], object]
"""Callback that gets name and schema before training, and raises an error to refuse them."""
FORMAT = 5
"""Version of the files; those of another one are refused."""
MAX_CARD_BYTES = 1 << 18
"""Maximum bytes of a card, which may come from elsewhere."""
HEAD_BYTES = 4096
"""Bytes in which the class stands, so that a list of artefacts parses no card."""
MAX_ARRAYS_BYTES = 16 << 20
"""Maximum bytes of the arrays of an artefact."""
FORESTS = ("factor", "spread")
CELL_ARRAYS = ("cells_kin", "cells_log2", "cells_count", "cells_efficiency")
HULL = ("hull_low", "hull_high", "middle")


class WeightsError(PerfcError):
    """Trained weights that are missing, damaged or of another schema."""


@entity
class Cells:
    """Training rows in summary: those whose parameters agree to a factor of two.

    Args:
        names: of the parameters.
        configuration: index of machine, element type and framework in the card's.
        log2: rounded logarithm of each parameter, ``[cells, parameters]``; -1 for zero.
        count: of rows.
        efficiency: floor over measured time, geometric mean.
    """

    names: tuple[str, ...]
    configuration: Array
    log2: Array
    count: Array
    efficiency: Array


@entity
class Artefact:
    """One trained predictor.

    Args:
        card: what it is, in words and numbers.
        factor: forest of ``log(time / scale)``.
        spread: forest of the log of its expected absolute error.
        hull_low: least value of each feature among the rows trained on.
        hull_high: largest value.
        middle: median.
        cells: the rows in summary, for naming near ones; None if left out or not read.
        more: further arrays of a predictor that has its own.
    """

    card: Card
    factor: Forest
    spread: Forest
    hull_low: Array
    hull_high: Array
    middle: Array
    cells: Cells | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def factor_of(self, *, measured: bool) -> Forest:
        """Return the forest for a measured machine, or the smaller one for any other machine."""
        general = self.card.general
        return self.factor if measured or not general else self.factor.first(general)


def schema_of(class_name: str, parameters: tuple[str, ...], features: tuple[str, ...]) -> str:
    """Return the digest of what weights and the code that reads them must have in common."""
    text = json.dumps([FORMAT, class_name, list(parameters), list(features)])
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_card(path: Path) -> Card:
    """Return the card of a file.

    Raises:
        WeightsError: it cannot be read, or is no card.
    """
    content = bounded_content(path, MAX_CARD_BYTES)
    try:
        return parse_card(content.decode())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise WeightsError(f"no model card: {error}", where=str(path)) from None


def class_of(path: Path) -> str:
    """Return the class that a card is of, without reading the rest of it where it need not be.

    Raises:
        WeightsError: it cannot be read, or is no card.
    """
    start = bounded_content(path, MAX_CARD_BYTES)[:HEAD_BYTES].decode(errors="replace")
    match = re.search(r'^  "class": "(\w+)",$', start, re.MULTILINE)
    return match[1] if match else read_card(path).class_name


def load(path: Path, *, cells: bool = False, card: Card | None = None) -> Artefact:
    """Read what `save` wrote; every array is checked before it is used.

    Args:
        path: of the card.
        cells: whether to read the training rows' summary too, which no prediction needs.
        card: what ``path`` holds, if it was read before.

    Raises:
        WeightsError: damaged, of another schema, or not belonging together.
    """
    card = card or read_card(path)
    expected = schema_of(card.class_name, card.parameters, card.features)
    if card.format != FORMAT or card.schema != expected:
        raise WeightsError(
            f"weights of schema {card.schema}, this version reads {expected}",
            hint="retrain them with `perfc train op`",
            where=str(path),
        )
    arrays_path = path.with_suffix(".npz")
    arrays = arrays_of(
        arrays_path,
        card.arrays_sha256,
        MAX_ARRAYS_BYTES,
        lambda name: cells or not name.startswith("cells_"),
    )
    try:
        return _assemble(card, arrays)
    except (ValueError, KeyError) as error:
        raise WeightsError(f"damaged weights: {error}", where=str(arrays_path)) from None


def _assemble(card: Card, arrays: Mapping[str, Any]) -> Artefact:
    forests = {
        name: Forest.from_arrays(
            card.features,
            {k.removeprefix(f"{name}_"): v for k, v in arrays.items() if k.startswith(f"{name}_")},
            card.bases[name],
        )
        for name in FORESTS
    }
    if not 0 <= card.general <= len(forests["factor"].roots):
        raise ValueError("a card that speaks of more trees than there are")
    for one in card.implementations:
        kind = kernel_class(card.class_name)
        if (len(one.choices), len(one.reasons)) != (len(kind.by_framework), len(kind.chosen_by)):
            raise ValueError("implementations of another class")
    hull = [np.asarray(arrays[name], np.float64) for name in HULL]
    if any(h.shape != (len(card.features),) or not np.isfinite(h).all() for h in hull):
        raise ValueError("hull of another number of features")
    cells = None
    if "cells_log2" in arrays:
        cells = Cells(
            (*card.parameters,),
            *(np.asarray(arrays[name]) for name in CELL_ARRAYS),
        )
        if cells.log2.shape != (len(cells.count), len(card.parameters)):
            raise ValueError("cells of another number of parameters")
    more = {k.removeprefix("more_"): v for k, v in arrays.items() if k.startswith("more_")}
    low, high, middle = hull
    return Artefact(card, forests["factor"], forests["spread"], low, high, middle, cells, more)


def arrays_of(
    path: Path, sha256: str, limit: int, wanted: Callable[[str], bool] = lambda name: True
) -> dict[str, Any]:
    """Return the arrays of a file that a card speaks of.

    Args:
        path: of the file.
        sha256: its digest, as the card states it.
        limit: most bytes that such a file has.
        wanted: whether an array of that name is read.

    Raises:
        WeightsError: it cannot be read, is too large, damaged, or another.
    """
    content = bounded_content(path, limit)
    if hashlib.sha256(content).hexdigest() != sha256:
        raise WeightsError("not the arrays that the card speaks of", where=str(path))
    try:
        return unpacked(content, wanted)
    except ValueError as error:
        raise WeightsError(f"damaged weights: {error}", where=str(path)) from None


def bounded_content(path: Path, limit: int) -> bytes:
    """Return the content of a file.

    Raises:
        WeightsError: it cannot be read, or is larger than ``limit`` bytes.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(limit + 1)
    except OSError as error:
        raise WeightsError(f"cannot read: {error.strerror}", where=str(path)) from None
    if len(content) > limit:
        raise WeightsError(f"such files end at {limit} bytes", where=str(path))
    return content
