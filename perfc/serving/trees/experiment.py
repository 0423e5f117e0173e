"""The whole comparison of chapter 6 on published rows, and what the trees add to the kernel sum."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from perfc.ir.record import record

from ..evidence.tables import AIC, ML_ENERGY, TRTLLM
from . import predictors as ways
from .boosted import THESIS
from .folds import LeftOut, folds_of
from .graph_network import GraphNetwork, measurements
from .rows import QWEN, Target, TreeRow, rows_of
from .scores import Maker, Say, TreeScore, score, scores_of

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Array = NDArray[np.float64]

LEARNED_FROM = (ML_ENERGY, TRTLLM, AIC)
PLAIN, SUM, RESIDUAL, GNN = "trees", "kernel sum", "trees on the kernel sum", "graph network"
SPEED_ROWS = 256


@record
class Speed:
    """Figure 6.7: rows that a trained predictor answers in a second of processor time, features known."""

    method: str
    rows_per_s: float


@record
class Quantised:
    """Figure 6.6: one format of weights; measured means and the errors of trees that saw its model.

    Args:
        weights: format.
        target: that was measured.
        count: of rows.
        measured: geometric mean of the rows, over that of 16 bits of the same model and length.
        mape: of the trees on random folds.
    """

    weights: str
    target: Target
    count: int
    measured: float
    mape: float


@record
class Comparison:
    """Everything that was compared.

    Args:
        scores: by target, method, folds and table.
        ablation: of Table 6.6, by the name of the feature set.
        checks: of rows that nothing was learned from.
        speeds: of Figure 6.7.
        quantised: of Figure 6.6.
        carbon: grams a million tokens by Eq. 6.1 of the tested rows, measured and predicted.
    """

    document: ClassVar[str] = "perfc-eval-trees/1"
    scores: tuple[TreeScore, ...]
    ablation: tuple[TreeScore, ...]
    checks: tuple[TreeScore, ...]
    speeds: tuple[Speed, ...]
    quantised: tuple[Quantised, ...] = ()


def compared(folder: Path, say: Say, *, is_full: bool = False, gnn_s: float = 20.0) -> Comparison:
    """Every predictor on every kind of folds.

    Args:
        folder: of the tables.
        say: is told how far it is.
        is_full: whether all of the thesis's grid is tried.
        gnn_s: longest training of a graph network, for each fold; 0 for none.

    Raises:
        DataError: a table is missing.
    """
    rows: list[TreeRow] = []
    for name in (*LEARNED_FROM, QWEN):
        before = len(rows)
        rows += rows_of(name, folder)
        say(f"{name}: {len(rows) - before} numbers")
    return compared_rows(rows, say, is_full=is_full, gnn_s=gnn_s)


def compared_rows(
    rows: Sequence[TreeRow], say: Say, *, is_full: bool = False, gnn_s: float = 20.0
) -> Comparison:
    """`compared` of rows that were read."""
    makers: dict[str, Maker] = {
        PLAIN: lambda: ways.PlainTrees(is_full=is_full), SUM: ways.Sum, RESIDUAL: ways.ResidualTrees,
    }  # fmt: skip
    if gnn_s:
        makers[GNN] = lambda: GraphNetwork(gnn_s)
    found: list[TreeScore] = []
    ablation: list[TreeScore] = []
    for target in Target:
        taught = learned_from(rows, target)
        for kind in kinds_of(taught):
            for name, make in makers.items():
                found += scores_of(taught, name, make, kind, say)
            for line in ways.ABLATION:
                made = _with(line)
                ablation += list(scores_of(taught, line.name, made, kind, say))[-1:]
    return Comparison(
        tuple(found), tuple(ablation), tuple(checked(rows)), tuple(speeds(rows, gnn_s)),
    )  # fmt: skip


def _with(line: ways.FeatureSet) -> Maker:
    return lambda: ways.PlainTrees(line, THESIS)


def learned_from(rows: Sequence[TreeRow], target: Target) -> list[TreeRow]:
    """Rows of a target for folds: memory has no others than those that nothing shipped may learn."""
    sources = (QWEN,) if target is Target.MEMORY else LEARNED_FROM
    return [row for row in rows if row.target is target and row.served.source in sources]


def kinds_of(rows: Sequence[TreeRow]) -> Iterator[LeftOut]:
    """The folds that leave something to learn from."""
    for kind in LeftOut:
        if len(set(folds_of(rows, kind))) > 1:
            yield kind


def checked(rows: Sequence[TreeRow]) -> Iterator[TreeScore]:
    """Rows of Qwen2.5 by predictors that learned the other tables."""
    taught = learned_from(rows, Target.THROUGHPUT)
    asked = [r for r in rows if r.source == QWEN and r.target is Target.THROUGHPUT and r.parts]
    makers: Mapping[str, Callable[[], ways.Predictor]] = {
        PLAIN: ways.PlainTrees, SUM: ways.Sum, RESIDUAL: ways.ResidualTrees,
    }  # fmt: skip
    if not taught or not asked:
        return
    for name, make in makers.items():
        start = time.process_time()
        predictor = make()
        predictor.fit(taught, LeftOut.MODEL)
        said = predictor.predict(asked)
        seconds = time.process_time() - start
        for runtime in dict.fromkeys(row.served.runtime for row in asked):
            places = [i for i, row in enumerate(asked) if row.served.runtime == runtime]
            some = [asked[i] for i in places]
            yield score(some, said[places], name, LeftOut.MODEL, f"{QWEN}, {runtime}", seconds)


def speeds(rows: Sequence[TreeRow], gnn_s: float) -> Iterator[Speed]:
    """Of the trees with the thesis's best settings, and of the graph network."""
    taught = learned_from(rows, Target.THROUGHPUT)
    if not taught:
        return
    asked = [taught[i % len(taught)] for i in range(SPEED_ROWS)]
    plain = ways.PlainTrees(settings=THESIS)
    plain.fit(taught, LeftOut.RANDOM)
    table = ways.table_of(asked)
    assert plain.trees is not None
    yield Speed(PLAIN, rate_of(partial(plain.trees, table)))
    if gnn_s:
        network = GraphNetwork(gnn_s)
        network.fit(taught, LeftOut.RANDOM)
        assert network.network is not None
        yield Speed(GNN, rate_of(partial(network.network.predict, measurements(asked))))


def rate_of(answer: Callable[[], object]) -> float:
    """Rows a second of processor time: the best of a few rounds, as others use the machine too."""
    best = 1e9
    for _ in range(5):
        start = time.process_time()
        answer()
        best = min(best, time.process_time() - start)
    return SPEED_ROWS / max(best, 1e-9)
