"""Read and check the two files of a shipped predictor: its card (JSON) and its arrays (npz).

The operator predictor has one such pair per class of kernels; the laboratory trains and writes it.
"""

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
"""Callback of programs that train an artefact, for their annotations alone: it gets name and schema
before the training, and raises an error to refuse them."""
FORMAT = 5
"""Version of the files; files of another version are refused."""
MAX_CARD_BYTES = 1 << 18
"""Maximum bytes of a card, so that files of unknown origin take bounded memory."""
HEAD_BYTES = 4096
"""First bytes of a card, which include its class: a list of artefacts parses no whole card."""
MAX_ARRAYS_BYTES = 16 << 20
"""Maximum bytes of the file of arrays of an artefact, as `MAX_CARD_BYTES`."""
FORESTS = ("factor", "spread")
"""Prefixes of the arrays of the two forests."""
CELL_ARRAYS = ("cells_kin", "cells_log2", "cells_count", "cells_efficiency")
"""Arrays of `Cells` in the order of its fields; ``kin`` is the name of a configuration in files."""
HULL = ("hull_low", "hull_high", "middle")
"""Arrays with one number per feature."""


class WeightsError(PerfcError):
    """Trained weights that are missing, damaged or of another schema."""


@entity
class Cells:
    """Summary of the training rows: rows whose parameters agree to a factor of two are one cell.

    Args:
        names: names of the parameters.
        configuration: index of machine, element type and framework in the card's configurations.
        log2: rounded binary logarithm of each parameter, ``[cells, parameters]``; -8 for zero.
        count: number of rows of each cell.
        efficiency: lower bound over measured time, geometric mean of the rows of a cell.
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
        card: metadata: data, splits, scores, names of features.
        factor: forest of ``log(time / scale)``, where the scale is a physical estimate in seconds.
        spread: forest of the logarithm of the factor's expected absolute error.
        hull_low: least value of each feature in the training rows.
        hull_high: largest value of each feature.
        middle: median of each feature.
        cells: summary of the training rows, for explanations; None if left out or not read.
        more: arrays of a predictor besides its two forests, by name; the predictor knows their use.
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
        """Return the forest for a measured machine, or the smaller one for any other machine.

        The first ``card.general`` trees were grown as for machines that were held out; later trees
        fit the residuals of the measured machines.
        """
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
    """Return the class of kernels of a card, from its first bytes where possible.

    Raises:
        WeightsError: it cannot be read, or is no card.
    """
    start = bounded_content(path, MAX_CARD_BYTES)[:HEAD_BYTES].decode(errors="replace")
    # a line of the file as the laboratory writes it, indented by two; any other form is parsed
    match = re.search(r'^  "class": "(\w+)",$', start, re.MULTILINE)
    return match[1] if match else read_card(path).class_name


def load(path: Path, *, cells: bool = False, card: Card | None = None) -> Artefact:
    """Read the artefact of a card; every array is checked before it is used.

    Args:
        path: path of the card; the arrays are next to it under the same stem.
        cells: True to read the summary of the training rows as well; explanations alone need it.
        card: content of ``path``, if it was read before.

    Raises:
        WeightsError: files that are damaged, of another schema, or of two different trainings.
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
    """Return the artefact of a card and its arrays, whose shapes are checked against the card."""
    forests = {
        name: Forest.from_arrays(
            card.features,
            {k.removeprefix(f"{name}_"): v for k, v in arrays.items() if k.startswith(f"{name}_")},
            card.bases[name],
        )
        for name in FORESTS
    }
    # files may come from other people: a matching digest proves only that card and arrays belong
    # together, not that they are sound
    if not 0 <= card.general <= len(forests["factor"].roots):
        raise ValueError("a card that speaks of more trees than there are")
    # an implementation is a measured kernel of a framework: it has a value for each parameter of
    # the class that the framework chooses, and for each by which it chooses. The class is looked up
    # only here: predictors of runs have neither implementations nor a class of kernels
    for implementation in card.implementations:
        kind = kernel_class(card.class_name)
        if (len(implementation.choices), len(implementation.reasons)) != (
            len(kind.by_framework),
            len(kind.chosen_by),
        ):
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
    """Return the arrays of a file to which a card refers.

    Args:
        path: path of the file.
        sha256: digest of the file according to the card.
        limit: maximum size of the file in bytes.
        wanted: function from the name of an array to True if it is read.

    Raises:
        WeightsError: it cannot be read, is too large, damaged, or has another digest.
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
            content = stream.read(limit + 1)  # one byte more shows that the file is too large
    except OSError as error:
        raise WeightsError(f"cannot read: {error.strerror}", where=str(path)) from None
    if len(content) > limit:
        raise WeightsError(f"such files end at {limit} bytes", where=str(path))
    return content
