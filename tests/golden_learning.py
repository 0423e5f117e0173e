"""What training makes of drawn rows, as text for a golden file.

Questions of `tests/golden_estimates.py` that train something small::

    > forest levels=1                  a predictor of kernels: its card and what it predicts
    > steps folds=3                    factors of launches that are learned from whole steps
    > learned physics-residual device  a predictor of whole runs and its figures

Numbers that a library of trees or of optimization gives begin with ``~`` and may differ by two
hundredths.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from math import sin
from unittest.mock import patch

import numpy as np
import pytest

from lab.tests.analyzers.graph_rows import measurements
from lab.tests.analyzers.synthetic import matmul_rows
from perfc.analyzers.artefacts.artefact import Artefact
from perfc.analyzers.graph.predictor import GraphPredictor, TrainingBudget, predictor
from perfc.analyzers.intervals.conformal import Bands
from perfc_lab.training.calibration.calibrate import Calibrating
from perfc_lab.training.evaluate import CallerContext, RowSlice, everything, figure
from perfc_lab.training.evaluate import test as tested
from perfc_lab.training.fit import Recipe, train
from perfc_lab.training.graphs.bench import adapted, figures, scored
from perfc_lab.training.graphs.protocols import Fold, GraphProtocol, folds
from perfc_lab.whole_runs import boosted_totals, launch_costs, physics_residual, residual_fit
from tests.golden_estimates import numbers, text

SMALL = replace(residual_fit.RECIPE, trees=10)


def about(value: float) -> str:
    """A number that another release may change a little."""
    return f"~{value:.4g}"


def forest(given: Mapping[str, str]) -> Iterator[str]:
    """A predictor of kernels that is trained on drawn rows, and what it says of others."""
    pytest.importorskip("xgboost")
    asked = {k: float(v) if "." in v else int(v) for k, v in given.items()}
    recipe = Recipe(
        trees=12,
        depth=3,
        spread_trees=4,
        seed=3,
        left_out={"trees": 6, "depth": 2},
        **asked,  # type: ignore[arg-type]
    )
    blocks = [
        matmul_rows(target, 150 + 10 * i, i, framework)
        for i, (target, framework) in enumerate(
            itertools.product(("a100-sxm4-80gb", "h100-sxm5-80gb", "l40s"), ("one", "two"))
        )
    ]
    said: list[str] = []
    made = train(
        "matmul",
        blocks,
        recipe,
        ("n", "k"),
        data={"table": "digest"},
        calibrating=Calibrating(4, 2, 2),
        ready=lambda *words: said.extend(words),
    )
    card = made.card
    yield f"told {said[0]} before; {card.rows} rows; {card.split}; general {card.general}"
    yield f"frameworks {card.frameworks}, machines {card.targets}, of {card.protocols[0].value}"
    yield f"kin {' '.join('/'.join(kin) for kin in card.configurations)}"
    yield from (
        f"place of {d}: {' '.join(map(text, p))}" for d, ps in card.places.items() for p in ps
    )
    yield f"bases {' '.join(f'{n} {about(b)}' for n, b in card.bases.items())}"
    yield from banded("all", card.calibration.bands)
    for category, bands in card.calibration.categories.items():
        yield from banded(category, bands)
    cells = 0 if made.cells is None else len(made.cells.count)
    yield f"implementations: {len(card.implementations)}, cells: {cells}"
    yield from box(made)
    for asked_of, target in itertools.product(CallerContext, ("h100-sxm5-80gb", "t4")):
        result = tested(made, [matmul_rows(target, 40, 9, "two")], asked_of)
        line = figure("held out", RowSlice("all", everything, 0.5, "words"), result)
        assert line is not None
        yield f"{asked_of.value or 'everything'} on {target}: goal met {line.met}, " + ", ".join(
            f"{n} {about(getattr(line, n))}"
            for n in ("rows", "mape", "median", "coverage", "floor_holds", "width")
        )
        (one,) = result
        ends = zip(one.estimates.low_s, one.estimates.time_s, one.estimates.high_s, strict=True)
        yield from (f"  {' '.join(map(about, row))} s" for row in itertools.islice(ends, 3))


def banded(name: str, bands: Bands) -> Iterator[str]:
    """Ends of intervals, and how they grow with distance."""
    unseen = (
        "never left out"
        if bands.unseen is None
        else " ".join(
            f"{n} {about(v) if isinstance(v, float) else v}"
            for n, v in flat(dataclasses.asdict(bands.unseen))
        )
    )
    ends = (bands.seen.low, bands.seen.high, bands.levels.low, bands.levels.high)
    yield f"bands of {name}: {' '.join(map(about, ends))}; unseen: {unseen}"


def flat(stated: Mapping[str, object], path: str = "") -> Iterator[tuple[str, object]]:
    """Leaves of nested fields."""
    for name, value in stated.items():
        if isinstance(value, Mapping):
            yield from flat(value, f"{path}{name}.")
        else:
            yield f"{path}{name}", value


def box(made: Artefact) -> Iterator[str]:
    """What the rows that were trained on span."""
    names = made.card.features
    for title, ends in (("least", made.hull_low), ("most", made.hull_high)):
        yield f"{title} of features"
        yield from numbers(zip(names, ends.tolist(), strict=True))


def learned(name: str, protocol: str, given: Mapping[str, str]) -> Iterator[str]:
    """A predictor of whole runs, trained on made-up times of small networks."""
    data = measurements()
    noisy = [replace(r, time_s=r.time_s * (1 + 0.2 * sin(i))) for i, r in enumerate(data.rows)]
    data = data.of(noisy)
    fold = next(folds(data, GraphProtocol(protocol), (int(given.get("seed", "0")),), 6))
    said: list[str] = []
    made = predictor(name)
    with (
        patch.multiple(residual_fit, RECIPE=SMALL, ROUNDS=20),
        patch.multiple(physics_residual, RECIPE=SMALL, LEFT_OUT=SMALL),
        patch.multiple(boosted_totals, ROUNDS=20),
        patch.multiple(launch_costs, LEAST_ROWS=12),
    ):
        made.fit(fold.train, fold.validation, TrainingBudget(), said.append)
    made.calibrate(fold.validation)
    counts = [len(part) for part in (fold.train, fold.validation, fold.test, fold.few)]
    yield f"{fold.name}: rows to train, validate, test, adapt: {counts}; said {len(said)} lines"
    yield from outcome(made, fold)
    if len(fold.few):
        yield "after a few rows"
        yield from outcome(adapted(made, fold), fold)


def outcome(made: GraphPredictor, fold: Fold) -> Iterator[str]:
    """Figures of what is tested, and the first estimates."""
    one = scored(made, fold, fit_s=1.5)
    for line in figures("name", [one]):
        ratios = ("mape", "median", "rmse", "within_5", "within_10", "tau", "coverage")
        said = ", ".join(f"{n} {about(getattr(line, n))}" for n in ratios)
        yield f"{line.slice}: {line.rows} rows, {said}"
    result = made.estimates(fold.test)
    unfamiliar = np.zeros(len(one.rows)) if result.unfamiliar is None else result.unfamiliar
    for i, row in itertools.islice(enumerate(one.rows), 8):
        flags = {"far": result.far[i], "unknown": result.unknown[i], "kinless": unfamiliar[i]}
        ends = (result.low[i], result.value[i], result.high[i])
        said = " ".join([*map(about, ends), "s", *(name for name, is_so in flags.items() if is_so)])
        yield f"  {row.graph} on {row.target} at {row.batch}: {said}"


def answer(what: str, plain: list[str], given: Mapping[str, str]) -> Iterator[str]:
    """Lines that answer a question about training."""
    match what:
        case "forest":
            yield from forest(given)
        case "learned":
            yield from learned(plain[0], plain[1], given)
        case _:
            raise ValueError(f"no question: {what}")
