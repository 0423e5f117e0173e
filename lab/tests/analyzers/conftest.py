from __future__ import annotations

import pytest

from perfc.analyzers.artefacts.artefact import Artefact
from perfc_lab.training.fit import Recipe, train

from .synthetic import blocks

QUICK = Recipe(trees=20, depth=4, spread_trees=5, left_out={"trees": 10, "depth": 3})


@pytest.fixture(scope="session")
def trained() -> Artefact:
    return train("matmul", blocks(), QUICK, ("n", "k"))
