"""Update the coordinates of machines in cards, from the current data sheets.

    python -m perfc_lab.training.calibration.places [FOLDER]

A card has the coordinates of the machines that it learned from. They change if a data sheet
changes, or the definition of distance. Bands stay as they were learned.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from perfc.analyzers.artefacts import artefact
from perfc.analyzers.artefacts.card import Card
from perfc.analyzers.features.distance import place
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of
from perfc.analyzers.runs.runtime_runs import CLASS as RUN
from perfc.common.whole_file import write_whole
from perfc.machine import load_machine

from ...data.weights import card_text

# coordinates of machines by element type
Places = Mapping[str, tuple[tuple[float, ...], ...]]


def places_of(card: Card) -> Places:
    """Return the coordinates of a card's machines by element type, as its predictor reads them.

    Raises:
        PerfcError: a machine has no target any more.
    """
    places: dict[str, tuple[tuple[float, ...], ...]] = {}
    for dtype in card.places:
        # predictors of whole runs have other coordinates than those of kernels
        if card.class_name == RUN:
            places[dtype] = tuple(place(t, dtype) for t in card.targets)
            continue
        names = sorted({target for target, element, _ in card.configurations if element == dtype})
        kind = class_of(card.class_name)
        places[dtype] = tuple(kind.place(Sheet(load_machine(t)), dtype) for t in names)
    return places


def main(arguments: Sequence[str]) -> None:
    """Update every card of a folder, by default that of the shipped weights, and print its name."""
    folder = Path(arguments[0]) if arguments else artefact.SHIPPED
    for path in sorted(folder.glob("*.json")):
        card = artefact.read_card(path)
        text = card_text(replace(card, places=places_of(card)), card.arrays_sha256)
        if text != path.read_text(encoding="utf-8"):
            write_whole(path, text.encode())
            print(path.name)


if __name__ == "__main__":
    main(sys.argv[1:])
