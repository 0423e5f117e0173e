"""Weights that say every kernel takes its physical scale: a forest of one leaf."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from perfc.analyzers.artefacts.artefact import FORMAT, Artefact, schema_of
from perfc.analyzers.artefacts.card import Card
from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.features.classes import classes
from perfc.analyzers.features.distance import coordinates
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import complete, tabulate
from perfc.analyzers.intervals.conformal import Band, Bands, Calibration, Unseen
from perfc.machine import load_machine
from perfc_lab.data.weights import save


def write(
    folder: Path, name: str, dtypes: tuple[str, ...], targets: tuple[str, ...] = ("a100",)
) -> None:
    """Weights of the class ``name``, trained, so they say, on ``targets``."""
    kind = classes()[name]
    machines = [load_machine(t) for t in targets]
    one = complete(kind, {p: np.array([64.0]) for p in kind.parameters})
    features = tabulate(kind, one, dtypes[0], Sheet(machines[0]), Protocol.GRAPH).names
    parameters = (*kind.parameters, *kind.optional)
    leaf = Forest(
        features,
        np.array([-1], np.int16),
        np.zeros(1, np.float32),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        0.0,
    )
    spread = Forest(
        features,
        np.array([-1], np.int16),
        np.full(1, np.log(0.1), np.float32),
        np.zeros(1, np.int32),
        np.zeros(1, np.int32),
        0.0,
    )
    card = Card(
        name=name,
        class_name=name,
        format=FORMAT,
        schema=schema_of(name, parameters, features),
        parameters=parameters,
        features=features,
        protocols=(Protocol.GRAPH,),
        frameworks=("",),
        dtypes=dtypes,
        targets=tuple(m.name for m in machines),
        configurations=tuple((m.name, d, "") for m in machines for d in dtypes),
        places={d: tuple(coordinates(Sheet(m), d) for m in machines) for d in dtypes},
        bases={"factor": 0.0, "spread": 0.0},
        calibration=Calibration(Bands(Band(-1.0, 1.0), Unseen(0.2, Band(-3.0, 3.0)))),
        split="none",
        data={},
        metrics={},
        versions={},
        rows=1,
    )
    count = len(features)
    hull = np.full(count, 1e12)
    save(Artefact(card, leaf, spread, -hull, hull, np.zeros(count)), folder)
