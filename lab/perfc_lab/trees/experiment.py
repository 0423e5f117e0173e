"""Compare trees, kernel sums and the graph network of the thesis's chapter 6 on published rows.

`perfc eval trees` calls `compared`; the page is laid out by `board`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.deployment.prices import region_named
from perfc.deployment.prices.regions import WORLD
from perfc.ir.record import record
from perfc.serving.simulation.metrics import MILLION

from ..board import Score
from ..serving.aic import AIC
from ..serving.tables import ML_ENERGY, TRTLLM
from . import predictors as ways
from .boosted import THESIS, ForestSettings
from .cache import NOTHING, NumberCache
from .folds import HeldOutKind, folds_of
from .graph_network import GraphNetwork, measurements, network_of
from .rows import QWEN, Target, TreeRow, rows_of
from .scores import Maker, Say, left_out, score_of, scores_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEARNED_FROM = (ML_ENERGY, TRTLLM, AIC)
"""Tables whose rows are trained on and tested in folds."""
# names of predictors on the board
PLAIN, SUM, RESIDUAL, GNN = "trees", "kernel sum", "trees on the kernel sum", "graph network"
ABLATED = ForestSettings(trees=100)
"""The thesis's best with fewer trees, under which sets of features have the same order."""
SPEED_ROWS = 256
"""Rows of one call whose speed is measured."""
SHORT_S = 2.0
"""Seconds of training of a network whose speed is measured."""


@record
class Speed:
    """Figure 6.7: rows predicted per second of processor time, once their features are known."""

    method: str
    rows_per_s: float


@record
class Quantised:
    """Figure 6.6: a format of weights compared with 16 bits at equal model and prompt length.

    Args:
        target: measured quantity.
        weights: publisher's name of the format.
        count: number of rows.
        measured: geometric mean of the measured values over those in 16 bits.
        predicted: geometric mean of the predicted values over those in 16 bits, by trees that were
            trained on none of the rows.
    """

    target: Target
    weights: str
    count: int
    measured: float
    predicted: float


@record
class Carbon:
    """Section 6.3.2: carbon of the electricity for a million tokens of a model.

    Args:
        model: name of the model's configuration.
        count: number of rows.
        measured_g: mean grams of CO2 by measured energy.
        predicted_g: mean grams of CO2 by energy from trees that were trained on none of the rows.
    """

    model: str
    count: int
    measured_g: float
    predicted_g: float


@record
class TreeComparison:
    """Everything that was compared.

    Args:
        scores: errors by target, method, folds and table.
        ablation: errors with each set of features of Table 6.6, by the name of the set.
        checks: scores of rows that nothing was learned from.
        speeds: rows a second, Figure 6.7.
        quantised: formats of weights, Figure 6.6.
        carbon: carbon of electricity, Section 6.3.2.
    """

    scores: tuple[Score, ...]
    ablation: tuple[Score, ...]
    checks: tuple[Score, ...]
    speeds: tuple[Speed, ...]
    quantised: tuple[Quantised, ...] = ()
    carbon: tuple[Carbon, ...] = ()


def compared(
    folder: Path,
    say: Say,
    *,
    is_full: bool = False,
    gnn_s: float = 20.0,
    cache: NumberCache = NOTHING,
) -> TreeComparison:
    """Return every predictor on every kind of folds.

    Args:
        folder: folder of the tables.
        say: called with the progress.
        is_full: whether all of the thesis's grid is tried on random folds, as the thesis did.
        gnn_s: longest training, in seconds, of a random fold's graph network; 0 for none. Folds of
            any other kind take as long together.
        cache: results of earlier runs of the same code.

    Raises:
        DataError: a table is missing.
        MissingExtraError: ``gnn_s`` is not 0, and PyTorch is not installed.
    """
    # without PyTorch this fails at once, not after the trees
    if gnn_s:
        network_of(Target.THROUGHPUT)
    rows = gathered(folder, (*LEARNED_FROM, QWEN), say)
    return compared_rows(rows, say, is_full=is_full, gnn_s=gnn_s, cache=cache)


def gathered(folder: Path, names: Sequence[str], say: Say) -> list[TreeRow]:
    """Return every row of some tables.

    Raises:
        DataError: a table is missing.
    """
    rows: list[TreeRow] = []
    for name in names:
        before = len(rows)
        rows += rows_of(name, folder)
        say(f"{name}: {len(rows) - before} numbers")
    return rows


def compared_rows(
    rows: Sequence[TreeRow],
    say: Say,
    *,
    is_full: bool = False,
    gnn_s: float = 20.0,
    cache: NumberCache = NOTHING,
) -> TreeComparison:
    """Return the comparison of `compared` on rows that were read before."""
    scores: list[Score] = []
    ablation: list[Score] = []
    for target in Target:
        train = learned_from(rows, target)
        for kind in kinds_of(train):
            settings = settings_of(train, kind, is_full, cache)
            say(f"{PLAIN}, {target.value}, {kind.value}: {settings}")
            limit_s = limit_of(train, kind, gnn_s)
            words_of = {PLAIN: settings, GNN: f"{limit_s:g} s"}
            for name, make in makers(settings, limit_s).items():
                words = str(words_of.get(name, ""))
                scores += scores_of(train, name, make, kind, say, cache, words)
            # sets of features are compared by trees with the same settings
            for line in ways.ABLATION:
                words = f"alone, {ABLATED}"
                every = scores_of(train, line.name, _with(line), kind, say, cache, words)
                # the last score is that of all tables together
                ablation += list(every)[-1:]
    return TreeComparison(
        tuple(scores),
        tuple(ablation),
        tuple(checked(rows)),
        tuple(speeds(rows, gnn_s)),
        tuple(quantised(rows)),
        tuple(carbon(rows)),
    )


def limit_of(rows: Sequence[TreeRow], kind: HeldOutKind, gnn_s: float) -> float:
    """Return the time limit of a fold's graph network; folds that are not random share one."""
    return gnn_s if kind is HeldOutKind.RANDOM else gnn_s / len(set(folds_of(rows, kind)))


def makers(settings: ForestSettings, gnn_s: float) -> dict[str, Maker]:
    """Return a maker of each predictor by its name; without time for it no graph network."""
    result: dict[str, Maker] = {
        PLAIN: lambda: ways.PlainTrees(settings=settings),
        SUM: ways.CalibratedSum,
        RESIDUAL: ways.ResidualTrees,
    }
    return result | {GNN: lambda: GraphNetwork(gnn_s)} if gnn_s else result


def settings_of(
    rows: Sequence[TreeRow], kind: HeldOutKind, is_full: bool, cache: NumberCache = NOTHING
) -> ForestSettings:
    """Return the settings of the plain trees, chosen once on the training rows of the first fold.

    The full grid is tried for random folds alone, as the thesis had no others.
    """
    folds = folds_of(rows, kind)
    chooser = ways.PlainTrees(is_full=is_full and kind is HeldOutKind.RANDOM)
    train = [row for row, fold in zip(rows, folds, strict=True) if fold != folds[0]]
    return chooser.choose(train, kind, cache)


def _with(line: ways.FeatureSet) -> Maker:
    """Return a maker of plain trees on a set of features; a loop's variable would be its last."""
    return lambda: ways.PlainTrees(line, ABLATED)


def learned_from(rows: Sequence[TreeRow], target: Target) -> list[TreeRow]:
    """Return the rows of a target for folds: of memory those of Qwen2.5, else `LEARNED_FROM`."""
    sources = (QWEN,) if target is Target.MEMORY else LEARNED_FROM
    return [row for row in rows if row.target is target and row.served.source in sources]


def kinds_of(rows: Sequence[TreeRow]) -> Iterator[HeldOutKind]:
    """Yield the folds that leave something to learn from."""
    for kind in HeldOutKind:
        if len(set(folds_of(rows, kind))) > 1:
            yield kind


def checked(rows: Sequence[TreeRow]) -> Iterator[Score]:
    """Yield the scores of rows of Qwen2.5 by predictors trained on the other tables."""
    train = learned_from(rows, Target.THROUGHPUT)
    # rows without parts have no kernel sum, which would answer NaN
    tested = [r for r in rows if r.source == QWEN and r.target is Target.THROUGHPUT and r.parts]
    makers: Mapping[str, Callable[[], ways.TreePredictor]] = {
        PLAIN: ways.PlainTrees,
        SUM: ways.CalibratedSum,
        RESIDUAL: ways.ResidualTrees,
    }
    if not train or not tested:
        return
    for name, make in makers.items():
        start = time.process_time()
        predictor = make()
        predictor.fit(train, HeldOutKind.MODEL)
        predicted = predictor.predict(tested)
        seconds = time.process_time() - start
        for runtime in dict.fromkeys(row.served.runtime for row in tested):
            places = [i for i, row in enumerate(tested) if row.served.runtime == runtime]
            of_runtime = [tested[i] for i in places]
            yield score_of(
                of_runtime,
                predicted[places],
                name,
                HeldOutKind.MODEL,
                f"{QWEN}, {runtime}",
                seconds,
            )


def speeds(rows: Sequence[TreeRow], gnn_s: float) -> Iterator[Speed]:
    """Yield the speeds of the trees with the thesis's best settings, and of the graph network."""
    train = learned_from(rows, Target.THROUGHPUT)
    if not train:
        return
    # rows are repeated if there are fewer
    repeated = [train[i % len(train)] for i in range(SPEED_ROWS)]
    plain = ways.PlainTrees(settings=THESIS)
    plain.fit(train, HeldOutKind.RANDOM)
    table = ways.table_of(repeated)
    assert plain.trees is not None
    yield Speed(PLAIN, rate_of(partial(plain.trees, table)))
    if gnn_s:
        # the time of a prediction does not depend on the weights
        network = GraphNetwork(min(gnn_s, SHORT_S))
        network.fit(train, HeldOutKind.RANDOM)
        assert network.network is not None
        yield Speed(GNN, rate_of(partial(network.network.predict, measurements(repeated))))


def rate_of(answer: Callable[[], object]) -> float:
    """Return rows per second of processor time: the best of five rounds, as load varies."""
    best = math.inf
    for _ in range(5):
        start = time.process_time()
        answer()
        best = min(best, time.process_time() - start)
    # a clock of coarse ticks may measure nothing
    return SPEED_ROWS / max(best, 1e-9)


def quantised(rows: Sequence[TreeRow]) -> Iterator[Quantised]:
    """Yield each format of weights of Qwen2.5 under transformers, by quantity."""
    for target in (Target.MEMORY, Target.THROUGHPUT):
        chosen = [
            row
            for row in rows
            if row.served.source == QWEN
            and row.target is target
            and row.served.runtime == "transformers"
        ]
        if not chosen:
            continue
        values, _ = left_out(chosen, lambda: ways.PlainTrees(settings=THESIS), HeldOutKind.RANDOM)
        # measured and predicted values in 16 bits, which the other formats are compared with
        in_16_bits = {
            (row.model, row.served.isl): (row.value, float(value))
            for row, value in zip(chosen, values, strict=True)
            if row.served.dataset == "BF16"
        }
        ratios: dict[str, list[tuple[float, float]]] = {}
        for row, value in zip(chosen, values, strict=True):
            base = in_16_bits.get((row.model, row.served.isl))
            if base is not None:
                # logarithms: the exponential of their mean is the geometric mean
                pair = math.log(row.value / base[0]), math.log(float(value) / base[1])
                ratios.setdefault(row.served.dataset, []).append(pair)
        for weights, pairs in sorted(ratios.items()):
            measured, predicted = (
                math.exp(math.fsum(c) / len(c)) for c in zip(*pairs, strict=True)
            )
            yield Quantised(target, weights, len(pairs), measured, predicted)


def carbon(rows: Sequence[TreeRow]) -> Iterator[Carbon]:
    """Yield the carbon of each model with measured energy, by the world's mean electricity."""
    measured_rows = learned_from(rows, Target.ENERGY)
    if not measured_rows:
        return
    # grams of a million tokens at one joule a token
    grams = region_named(WORLD).carbon_g(MILLION)
    values, _ = left_out(
        measured_rows, lambda: ways.PlainTrees(settings=THESIS), HeldOutKind.RANDOM
    )
    for model in dict.fromkeys(row.model for row in measured_rows):
        places = [i for i, row in enumerate(measured_rows) if row.model == model]
        measured = math.fsum(measured_rows[i].value for i in places) / len(places)
        predicted = math.fsum(float(values[i]) for i in places) / len(places)
        yield Carbon(model, len(places), measured * grams, predicted * grams)
