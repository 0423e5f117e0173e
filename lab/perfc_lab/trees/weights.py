"""Trees of Table 6.3 as files: learned from every row, read without the library that grew them."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path

from perfc.analyzers.artefacts.arrays import packed, unpacked
from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.graph.store import write_file
from perfc.errors import ParseError
from perfc.ir.record import frozen

from .boosted import UNKNOWN, ForestSettings
from .folds import HeldOutKind
from .predictors import WHOLE, PlainTrees
from .rows import COLUMNS, Target, TreeRow

FORMAT = 1
MOST_CARD_BYTES = 1 << 16


@frozen
class ServingTrees:
    """What was read: a forest on the logarithm of one target."""

    target: Target
    forest: Forest

    def __call__(self, features: Sequence[float]) -> float:
        """The target of a row with features in the order of `COLUMNS`, in its unit."""
        import numpy as np

        row = [UNKNOWN if math.isnan(value) else value for value in features]
        return math.exp(float(self.forest(np.array([row], np.float32))[0]))


def train(
    rows: Sequence[TreeRow], folder: Path, settings: ForestSettings | None = None
) -> list[Path]:
    """Trees of every target that rows have, written into a folder with their cards.

    Args:
        rows: to learn from.
        folder: is made where there is none.
        settings: settings of the trees; None to choose them by a fifth of the rows.
    """
    written: list[Path] = []
    for target in Target:
        own = [row for row in rows if row.target is target]
        if not own:
            continue
        learned = PlainTrees(WHOLE, settings)
        learned.fit(own, HeldOutKind.RANDOM)
        assert learned.trees is not None
        forest = learned.trees.forest
        card = {
            "format": FORMAT, "target": target.value, "columns": COLUMNS, "base": forest.base,
            "settings": str(learned.trees.settings), "rows": len(own),
            "tables": sorted({row.source for row in own}),
            "models": sorted({row.model for row in own}),
            "machines": sorted({row.machine for row in own}),
        }  # fmt: skip
        path = folder / f"trees-{target.value}.npz"
        write_file(path, packed(forest.arrays()))
        write_file(path.with_suffix(".json"), (json.dumps(card, indent=1) + "\n").encode())
        written.append(path)
    return written


def read(folder: Path, target: Target) -> ServingTrees:
    """What `train` wrote.

    Raises:
        ParseError: there is none, or it reads other features.
    """
    path = folder / f"trees-{target.value}.npz"
    try:
        text = path.with_suffix(".json").read_bytes()
        if len(text) > MOST_CARD_BYTES:
            raise ValueError("a card that is too long")
        card = json.loads(text)
        if card["format"] != FORMAT or tuple(card["columns"]) != COLUMNS:
            raise ValueError("it reads other features")
        names = tuple(f"c{i}" for i in range(len(COLUMNS)))
        forest = Forest.from_arrays(names, unpacked(path.read_bytes()), float(card["base"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        hint = "write it with `perfc train trees`"
        words = f"no trees of {target.value}: {error}"
        raise ParseError(words, where=str(path), hint=hint) from None
    return ServingTrees(target, forest)
