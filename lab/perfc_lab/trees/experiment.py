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
"""The thesis's best with fewer trees, whose order of feature sets is the same."""
SPEED_ROWS = 256
"""Rows of one call whose speed is measured."""
SHORT_S = 2.0
"""Training before the speed of a network is measured."""


@record
class Speed:
    """Figure 6.7: rows that are answered in a second of processor time, features known."""

    method: str
    rows_per_s: float


@record
class Quantised:
    """Figure 6.6: one format of weights on rows that a model and length have in 16 bits too.

    Args:
        target: that was measured.
        weights: format, as its publisher calls it.
        count: number of rows.
        measured: geometric mean of what was measured over the same in 16 bits.
        predicted: the same of trees that saw none of the rows.
    """

    target: Target
    weights: str
    count: int
    measured: float
    predicted: float


@record
class Carbon:
    """Section 6.3.2: energy times the carbon of electricity, by the tested rows of a model.

    Args:
        model: name of its configuration.
        count: number of rows.
        measured_g: mean of a million tokens, from measured energy.
        predicted_g: the same from trees that saw none of the rows.
    """

    model: str
    count: int
    measured_g: float
    predicted_g: float


@record
class TreeComparison:
    """Everything that was compared.

    Args:
        scores: by target, method, folds and table.
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
        gnn_s: longest training of a random fold's graph network, 0 for none; folds of any other
            kind share as much.
        cache: results that are known, of the same code.

    Raises:
        DataError: a table is missing.
        MissingExtraError: there is time for a network, and no PyTorch.
    """
    # fails now, not after the trees, where PyTorch is not installed
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
    """Return `compared` of rows that were read."""
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
    """Return every way of predicting."""
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

    All of the grid is for random folds, as the thesis had no others.
    """
    folds = folds_of(rows, kind)
    chooser = ways.PlainTrees(is_full=is_full and kind is HeldOutKind.RANDOM)
    train = [row for row, fold in zip(rows, folds, strict=True) if fold != folds[0]]
    return chooser.choose(train, kind, cache)


def _with(line: ways.FeatureSet) -> Maker:
    return lambda: ways.PlainTrees(line, ABLATED)


def learned_from(rows: Sequence[TreeRow], target: Target) -> list[TreeRow]:
    """Return the rows of a target for folds; those of memory teach nothing that ships."""
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
    repeated = [train[i % len(train)] for i in range(SPEED_ROWS)]  # where rows are fewer
    plain = ways.PlainTrees(settings=THESIS)
    plain.fit(train, HeldOutKind.RANDOM)
    table = ways.table_of(repeated)
    assert plain.trees is not None
    yield Speed(PLAIN, rate_of(partial(plain.trees, table)))
    if gnn_s:
        # how fast it answers does not depend on what it learned
        network = GraphNetwork(min(gnn_s, SHORT_S))
        network.fit(train, HeldOutKind.RANDOM)
        assert network.network is not None
        yield Speed(GNN, rate_of(partial(network.network.predict, measurements(repeated))))


def rate_of(answer: Callable[[], object]) -> float:
    """Return rows per second of processor time: the best of five rounds, as load varies."""
    best = 1e9
    for _ in range(5):
        start = time.process_time()
        answer()
        best = min(best, time.process_time() - start)
    return SPEED_ROWS / max(best, 1e-9)


def quantised(rows: Sequence[TreeRow]) -> Iterator[Quantised]:
    """Yield formats of Qwen2.5 under transformers, one at a time."""
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
    """Yield the carbon of the rows with energy, on random folds, with the world's electricity."""
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
