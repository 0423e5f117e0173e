"""Write the weights of a predictor: a readable card in JSON and arrays in ``.npz``.

Each file is written in one step; the card comes last, so that it always has its arrays.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import numpy as np

from perfc.analyzers.artefacts.arrays import packed
from perfc.analyzers.artefacts.artefact import (
    CELL_ARRAYS,
    FORESTS,
    HULL,
    Artefact,
    WeightsError,
    read_card,
)
from perfc.analyzers.artefacts.card import Card
from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.artefacts.implementations import Implementation, choices_of
from perfc.analyzers.features.table import class_of, complete
from perfc.analyzers.intervals.conformal import Bands, Calibration
from perfc.common.whole_file import write_whole

from .rows import Rows


def save(artefact: Artefact, folder: Path, *, overwrite: bool = False) -> Path:
    """Write card and arrays of a predictor into a folder, and return the path of the card.

    Raises:
        WeightsError: weights of another schema are there and ``overwrite`` is off.
    """
    card = artefact.card
    target = check_replaceable(card.name, card.schema, folder, overwrite=overwrite)
    arrays: dict[str, Any] = {name: getattr(artefact, name) for name in HULL}
    for name in FORESTS:
        forest: Forest = getattr(artefact, name)
        arrays |= {f"{name}_{key}": value for key, value in forest.arrays().items()}
    if artefact.cells is not None:
        # the first field, the names of parameters, follows from the class
        arrays |= dict(zip(CELL_ARRAYS, astuple(artefact.cells)[1:], strict=True))
    arrays |= {f"more_{name}": value for name, value in artefact.more.items()}
    content = packed(arrays)
    folder.mkdir(parents=True, exist_ok=True)
    # the card has the digest, so that arrays of another training are refused
    digest = hashlib.sha256(content).hexdigest()
    write_whole(target.with_suffix(".npz"), content)
    write_whole(target, card_text(card, digest).encode())
    return target


def check_replaceable(name: str, schema: str, folder: Path, *, overwrite: bool) -> Path:
    """Return the path of a predictor's card, unless weights of another schema are there.

    Raises:
        WeightsError: weights of another schema are there and ``overwrite`` is off.
    """
    target = folder / f"{name}.json"
    if target.exists() and not overwrite:
        present = read_card(target)
        if present.schema != schema:
            raise WeightsError(
                f"weights of schema {present.schema} are there, these are {schema}",
                hint="--force replaces them",
                where=str(target),
            )
    return target


def record(path: Path, metrics: Mapping[str, Mapping[str, float]]) -> None:
    """Write metrics into the card at a path, in place of its earlier metrics.

    Raises:
        WeightsError: there is no card.
    """
    card = read_card(path)
    write_whole(path, card_text(replace(card, metrics=metrics), card.arrays_sha256).encode())


def card_text(card: Card, arrays_sha256: str) -> str:
    """Return the card as JSON, with one value per line."""
    content: dict[str, object] = {
        "name": card.name,
        "class": card.class_name,
        "format": card.format,
        "schema": card.schema,
        "arrays_sha256": arrays_sha256,
        "split": card.split,
        "rows": card.rows,
        "general": card.general,
        "protocols": [p.value for p in card.protocols],
        "frameworks": card.frameworks,
        "dtypes": card.dtypes,
        "targets": card.targets,
        "parameters": card.parameters,
        "features": card.features,
        "kin": card.configurations,
        "implementations": [
            [k.target, k.dtype, k.protocol.value, k.framework, k.choices, k.reasons]
            for k in card.implementations
        ],
        "notes": card.notes,
        "bases": card.bases,
        "calibration": _calibration(card.calibration),
        "data": card.data,
        "versions": card.versions,
        "places": card.places,
        "metrics": card.metrics,
    }
    return _value(content) + "\n"


def _calibration(calibration: Calibration) -> dict[str, object]:
    """Return a calibration as a mapping: bands of all kernels, then those of each category."""

    def of(bands: Bands) -> dict[str, object]:
        """Return bands as lists of two ends; those of unseen machines follow a common error."""
        seen, levels = ([band.low, band.high] for band in (bands.seen, bands.levels))
        far = bands.unseen
        unseen = [far.error, far.band.low, far.band.high] if far else []
        return {"seen": seen, "unseen": unseen, "levels": levels}

    categories = {name: of(bands) for name, bands in calibration.categories.items()}
    return {**of(calibration.bands), "categories": categories}


def _value(value: object, indent: str = "") -> str:
    """Return a value as JSON: mappings over lines, lists on one line, floats with nine digits."""
    match value:
        case Mapping() if value:
            inner = f"{indent}  "
            lines = (f"{inner}{json.dumps(k)}: {_value(v, inner)}" for k, v in value.items())
            return "{\n" + ",\n".join(lines) + f"\n{indent}}}"
        # nine digits restore a number of 32 bits exactly
        case float() if math.isfinite(value):
            return f"{value:.9g}"
        case list() | tuple():
            return f"[{', '.join(_value(item) for item in value)}]"
        case _:
            return json.dumps(value, ensure_ascii=False)


def implementations(blocks: Iterable[Rows]) -> tuple[Implementation, ...]:
    """Return the implementations of measured rows: which kernels a framework chooses, and for what.

    They serve to distinguish frameworks, so that rows of a single framework have none.
    """
    blocks = list(blocks)
    if len({b.framework for b in blocks}) < 2:
        return ()
    distinct: set[Implementation] = set()
    for block in blocks:
        kind = class_of(block.class_name)
        count = len(kind.by_framework)
        # a row of `choices_of` has the framework's choices first, then what they depend on
        for values in np.unique(choices_of(kind, complete(kind, block.columns)), axis=0).tolist():
            choices, reasons = tuple(values[:count]), tuple(values[count:])
            distinct.add(
                Implementation(
                    block.target, block.dtype, block.protocol, block.framework, choices, reasons
                )
            )
    return tuple(
        sorted(
            distinct,
            key=lambda kernel: (kernel.protocol.value, repr(kernel)),
        )
    )
