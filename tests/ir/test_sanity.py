"""What must hold of every prediction holds of odd models on old, new and small machines."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc.machine import load_machine
from tests.oracles import sanity
from tests.oracles.sanity_models import MODELS

TARGETS = ("m40", "a100", "rtx4090", "mi300x", "b200", "cpu")


@pytest.mark.parametrize("name", MODELS)
def test_predictions_of_odd_models_are_sane(name: str, tmp_path: Path) -> None:
    path = tmp_path / f"{name}.onnxtxt"
    path.write_text(MODELS[name], encoding="utf-8")
    result, refused, count = sanity.checked(
        [path], [load_machine(t) for t in TARGETS], (1, 64), seed=1
    )
    assert not refused
    assert count == 2 * len(TARGETS) * 2
    for claim, tally in result.items():
        assert tally.looked
        if "high ≤" in claim or (name == "graph" and "no less time" in claim):
            # a wide interval is honest; the work of messages is of edges, which stay as they are
            continue
        assert not tally.broken, (claim, max(tally.broken))
