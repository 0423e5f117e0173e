"""Trees as files: learned from every row, read without the library that grew them.

Their features are those of Table 6.3 of K. Panner Selvam's thesis, and those of the deployment.
`perfc train trees` writes them, `answers` reads them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from enum import Enum
from pathlib import Path

from perfc.analyzers.artefacts.arrays import packed, unpacked
from perfc.analyzers.artefacts.forest import Forest
from perfc.analyzers.graph.store import write_file
from perfc.errors import ParseError
from perfc.ir.record import frozen

from ..boosted import UNKNOWN, ForestSettings
from ..folds import HeldOutKind, folds_of
from ..predictors import WHOLE, PlainTrees
from ..rows import COLUMNS, Target, TreeRow

FORMAT = 2
"""Version of the files; those of another one are refused."""
MOST_CARD_BYTES = 1 << 16
"""Maximum bytes of a card; a longer file is damaged, and not parsed."""
QUANTILES = (0.05, 0.95)
"""Ends of a 90 % interval."""
LEAST_FOLDS, LEAST_ROWS = 2, 10
"""Folds and rows below which held-out rows give no interval."""
NEWEST = ("version", "day")
"""Columns in which the newest measured number stands for an unknown one."""
SHIPPED = ForestSettings(trees=1000)
"""The thesis's best settings with fewer trees, for the shipped files."""


class TreeFamily(Enum):
    """Kinds of rows that trees are fitted to."""

    SERVED = "served"
    """Language models behind a server."""
    PASSES = "passes"
    """Eager passes over a batch of sequences, as the thesis measured encoders."""


@frozen
class ServingTrees:
    """A forest that predicts the logarithm of one target, with its card.

    Args:
        target: predicted quantity.
        forest: the trees.
        rows: number of training rows.
        tables: tables of the rows.
        models: configurations of the rows.
        machines: targets of the rows.
        ends: ends of the 90 % interval as factors, by the kind of held-out rows.
        newest: largest number of each column of `NEWEST`.
    """

    target: Target
    forest: Forest
    rows: int
    tables: tuple[str, ...]
    models: frozenset[str]
    machines: frozenset[str]
    ends: Mapping[str, tuple[float, float]]
    newest: Mapping[str, float]

    def completed(self, features: Sequence[float]) -> list[float]:
        """Return features with the newest version and day in place of unknown ones."""
        named = zip(COLUMNS, features, strict=True)
        return [self.newest.get(n, x) if math.isnan(x) else x for n, x in named]

    def __call__(self, features: Sequence[float]) -> float:
        """Return the target of a row with features in the order of `COLUMNS`, in its unit."""
        import numpy as np

        # the number that stood for unknown ones in training
        row = [UNKNOWN if math.isnan(value) else value for value in features]
        return math.exp(float(self.forest(np.array([row], np.float32))[0]))


def train(
    rows: Sequence[TreeRow],
    folder: Path,
    family: TreeFamily = TreeFamily.SERVED,
    settings: ForestSettings | None = SHIPPED,
    say: Callable[[str], None] = lambda _: None,
) -> list[Path]:
    """Fit trees to every target that rows have, and write them into a folder with their cards.

    Args:
        rows: training rows.
        folder: output folder; created if missing.
        family: kind of the rows.
        settings: settings of the trees; None to choose them by a fifth of the rows.
        say: called with the error of held-out rows.
    """
    import numpy as np

    written: list[Path] = []
    for target in Target:
        of_target = [row for row in rows if row.target is target]
        if not of_target:
            continue
        learned = PlainTrees(WHOLE, settings)
        learned.fit(of_target, HeldOutKind.RANDOM)
        assert learned.trees is not None
        forest, table = learned.trees.forest, np.array([row.features for row in of_target])
        places = {name: COLUMNS.index(name) for name in NEWEST}
        # `read` checks format and columns, the rest describes the rows
        card = {
            "format": FORMAT,
            "target": target.value,
            "columns": COLUMNS,
            "base": forest.base,
            "settings": str(learned.trees.settings),
            "rows": len(of_target),
            "tables": sorted({row.source for row in of_target}),
            "models": sorted({row.model for row in of_target}),
            "machines": sorted({row.machine for row in of_target}),
            "ends": intervals(of_target, settings, say),
            "newest": {
                name: float(np.nanmax(table[:, i]))
                for name, i in places.items()
                if np.isfinite(table[:, i]).any()
            },
        }
        path = folder / f"{family.value}-{target.value}.npz"
        write_file(path, packed(forest.arrays()))
        write_file(path.with_suffix(".json"), (json.dumps(card, indent=1) + "\n").encode())
        written.append(path)
    return written


def intervals(
    rows: Sequence[TreeRow], settings: ForestSettings | None, say: Callable[[str], None]
) -> dict[str, tuple[float, float]]:
    """Return the ends of the 90 % interval as factors, for each kind of held-out rows."""
    import numpy as np

    from ..scores import left_out

    ends = {}
    for kind in HeldOutKind:
        if len(set(folds_of(rows, kind))) < LEAST_FOLDS or len(rows) < LEAST_ROWS:
            continue
        predicted, _ = left_out(rows, lambda: PlainTrees(WHOLE, settings), kind)
        # the interval is the prediction times quantiles of measured over predicted
        ratio = np.array([row.value for row in rows]) / predicted
        low, high = np.quantile(ratio, QUANTILES).tolist()
        ends[kind.value] = (low, high)
        what = f"{rows[0].target.value}, {kind.value}"
        say(f"{what}: {np.abs(1 / ratio - 1).mean():.1%}, 90 % within {low:.2f} to {high:.2f}")
    return ends


def read(folder: Path, family: TreeFamily, target: Target) -> ServingTrees:
    """Return the trees of a target and their card, as `train` wrote them.

    Raises:
        ParseError: there is none, or it reads other features.
    """
    path = folder / f"{family.value}-{target.value}.npz"
    try:
        text = path.with_suffix(".json").read_bytes()
        if len(text) > MOST_CARD_BYTES:
            raise ValueError("a card that is too long")
        card = json.loads(text)
        if card["format"] != FORMAT or tuple(card["columns"]) != COLUMNS:
            raise ValueError("it reads other features")
        names = tuple(f"c{i}" for i in range(len(COLUMNS)))
        forest = Forest.from_arrays(names, unpacked(path.read_bytes()), float(card["base"]))
        ends = {str(k): (float(low), float(high)) for k, (low, high) in card["ends"].items()}
        newest = {str(name): float(value) for name, value in card["newest"].items()}
    # a damaged card may be any JSON, its entries of any type
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        hint = "write it with `perfc train trees`"
        words = f"no trees of {target.value}: {error}"
        raise ParseError(words, where=str(path), hint=hint) from None
    return ServingTrees(
        target,
        forest,
        int(card["rows"]),
        tuple(map(str, card["tables"])),
        frozenset(map(str, card["models"])),
        frozenset(map(str, card["machines"])),
        ends,
        newest,
    )
