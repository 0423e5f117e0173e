"""Where the machines of cards stand: as their sheets say today."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc import testing
from perfc.analyzers.artefacts import artefact
from perfc.analyzers.features.distance import USUAL_POWER_W, coordinates, distance
from perfc.analyzers.features.sheet import Sheet
from perfc.machine import load_machine
from perfc_lab.data.weights import card_text
from perfc_lab.training.calibration.places import main, places_of

CARDS = sorted(artefact.SHIPPED.glob("*.json"))


@pytest.mark.parametrize("path", CARDS, ids=lambda p: p.stem)
def test_shipped_cards_have_the_places_of_todays_sheets(path: Path) -> None:
    card = artefact.read_card(path)
    found = places_of(card)
    assert found.keys() == card.places.keys()
    for dtype, places in found.items():
        np.testing.assert_allclose(np.array(card.places[dtype]), np.array(places), atol=1e-6)


def test_a_card_of_other_sheets_is_brought_up_to_date(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "softmax.json"
    shutil.copy(artefact.SHIPPED / path.name, path)
    good = path.read_bytes()
    card = artefact.read_card(path)
    stale = {d: tuple(p[:-2] + p[-1:] for p in places) for d, places in card.places.items()}
    path.write_text(card_text(replace(card, places=stale), card.arrays_sha256), encoding="utf-8")
    for written in ("softmax.json\n", ""):
        main([str(tmp_path)])
        assert capsys.readouterr().out == written
        assert path.read_bytes() == good


def test_power_counts_in_a_distance(tmp_path: Path) -> None:
    """Eight numbers: power alone apart by a factor of 4 is 2 / sqrt(8)."""
    l4, l40s = (coordinates(Sheet(load_machine(t)), "bf16") for t in ("l4", "l40s"))
    assert l40s[6] - l4[6] == pytest.approx(np.log2(350 / 72))
    high, low = (
        coordinates(Sheet(testing.machine(tmp_path, f"tdp_w {watts} sheet")), "f16")
        for watts in (400, 100)
    )
    assert distance(high, low) == pytest.approx(2 / np.sqrt(8))
    assert coordinates(Sheet(testing.machine(tmp_path)), "f16")[6] == pytest.approx(
        np.log2(USUAL_POWER_W)
    )
