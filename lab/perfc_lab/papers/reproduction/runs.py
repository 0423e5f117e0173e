"""Train and test the lines of the papers' tables, each training once, and store results as JSON.

A result that exists is read, not trained again.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from math import inf, isfinite
from pathlib import Path
from typing import Any

import numpy as np

from perfc.analyzers.graph.dataset import load
from perfc.analyzers.graph.predictor import GraphPredictor, Say, TrainingBudget
from perfc.analyzers.graph.rows import Measurements, Quantity
from perfc.analyzers.graph.store import write_file
from perfc.ir.record import record

from ...datasets.unlabelled import unlabelled_graphs
from ...training.graphs.bench import Scored, by_family, figures, learned
from ...training.graphs.protocols import thinned
from ..networks.train import TrainRecipe, clock_s
from .few_rows import FewRows, tested_folds
from .neighbours import places
from .published import PaperTable, PublishedLine, RowSelection
from .verdict import convergence

MOST_POINTS = 400
"""Maximum pairs of measured and predicted numbers in a result, for charts."""
RESULT_FORMAT = 4
"""Version of the papers' recipes, which is part of a result's key. In this version PMGNS and TraPPM
read the tables that their authors' programs read; results of earlier versions are not used."""
REPEATED = 4.0
"""Time limit of a repeated training, over that of the preset."""
LEAST_OF_FAMILY = 5
"""Minimum tested rows of a family for an error by itself."""


@record
class Preset:
    """Size and time of trainings.

    Args:
        scale: factor on the papers' hidden units.
        limit_s: maximum processor time of a training.
        epochs: maximum epochs; None for those of the recipe.
        pretrained: folder of stages that trainings begin from; None for none.
        learned: digest of that folder.
    """

    scale: float
    limit_s: float
    epochs: int | None = None
    pretrained: Path | None = None
    learned: str = ""


PRESETS: Mapping[str, Preset] = {
    "cpu": Preset(0.25, 20.0),
    "paper": Preset(1.0, 3 * 3600.0),
    "smoke": Preset(1 / 16, 2.0, 2),
}
"""``cpu`` takes 3 h of one core for three seeds; ``smoke`` only shows that everything runs."""


@record
class Job:
    """One training.

    Args:
        table: table that the training is for.
        line: line of the table.
        seed: random seed of the split and of the training.
        graphs: folder of the data sets.
        preset: size and time.
        is_faithful: whether the recipe is the paper's.
    """

    table: PaperTable
    line: PublishedLine
    seed: int
    graphs: Path
    preset: Preset
    is_faithful: bool

    @property
    def key(self) -> str:
        """Return the name of its result, the same for all tables that share the training."""
        # every setting that the result depends on
        t, x, p = self.table, self.line, self.preset
        parts: list[object] = [
            x.predictor,
            t.rows.name,
            t.protocol.value,
            t.quantity.value,
            t.samples,
            x.share,
            x.epochs,
            self.seed,
            p.scale,
            p.limit_s,
            p.epochs,
            self.is_faithful,
        ]
        # the version is of the papers' recipes alone, so that other results keep their names
        parts += [RESULT_FORMAT] if self.is_faithful else []
        # settings that were added later: results of jobs without any of them keep their names
        further: list[object] = [t.curve, t.machines, t.most_tested, p.learned]
        parts += further if any(further) else []
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
        return f"{x.predictor.replace(':', '-')}-{t.rows.name.lower()}-{self.seed}-{digest}"

    def budget(self, limit_s: float) -> TrainingBudget:
        """Return the budget of a training; a line with given epochs has no time limit."""
        chosen = self.preset
        limit_s = limit_s if self.line.epochs is None else inf
        epochs = [e for e in (chosen.epochs, self.line.epochs) if e is not None]
        return TrainingBudget(
            self.seed,
            limit_s,
            None,  # no folder of checkpoints
            chosen.scale,
            None,  # no display of the progress
            self.is_faithful,
            unlabelled_graphs(self.graphs),
            min(epochs, default=None),
            chosen.pretrained,
        )


def jobs(
    tables: Sequence[PaperTable],
    seeds: Sequence[int],
    graphs: Path,
    preset: Preset,
    is_faithful: bool,
) -> Iterator[Job]:
    """Yield every training that the tables need; one that several tables share comes once."""
    seen: set[str] = set()
    for table in tables:
        for line in table.lines:
            for seed in seeds:
                job = Job(table, line, seed, graphs, preset, is_faithful)
                if job.key not in seen:
                    seen.add(job.key)
                    yield job


def result_path(folder: Path, job: Job) -> Path:
    """Return the path of the result of a training."""
    return folder / f"{job.key}.json"


def stored(folder: Path, job: Job) -> Mapping[str, Any] | None:
    """Return the stored result of a training; None without one, or if its rows have changed."""
    path = result_path(folder, job)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_same = isinstance(content, dict) and content.get("digest") == chosen_rows(job).digest
    return content if is_same else None


def run(job: Job, folder: Path, say: Say) -> Mapping[str, Any]:
    """Train, test and write the result; a training that did not converge is repeated, longer."""
    content = stored(folder, job)
    if content is None:
        content = tested(job, job.preset.limit_s, say)
        write_result(folder, job, content)
    if not is_final(job, content):
        first_s = float(content["processor_s"])
        content = {**tested(job, REPEATED * job.preset.limit_s, say), "is_repeated": True}
        content["processor_s"] += first_s
        write_result(folder, job, content)
    return content


def is_final(job: Job, content: Mapping[str, Any]) -> bool:
    """Return True if a training needs no repetition.

    Only trainings by the papers' recipes are repeated, as perfc's recipes anneal the learning rate
    to the time limit. A preset with a number of epochs need not converge. A training far from
    its extrapolated error would not converge in the longer time either.
    """
    progress = convergence(content)  # None for predictors without epochs, such as trees
    has_fixed_end = not job.is_faithful or job.preset.epochs is not None
    if progress is None or has_fixed_end or content.get("is_repeated"):
        return True
    return progress.is_adequate or not progress.is_near


def is_open(folder: Path, job: Job) -> bool:
    """Return True if a training, or its repetition, has yet to run."""
    content = stored(folder, job)
    return content is None or not is_final(job, content)


def write_result(folder: Path, job: Job, content: Mapping[str, Any]) -> None:
    """Write the result of a training to its file."""
    write_file(result_path(folder, job), (json.dumps(content) + "\n").encode())


def tested(job: Job, limit_s: float, say: Say) -> dict[str, Any]:
    """Return the result of a training of at most ``limit_s`` processor seconds."""
    data = chosen_rows(job)
    start = clock_s()
    scores: dict[Quantity, list[Scored]] = {job.table.quantity: []}
    # charts show the first fold, of the first model
    models, first_fold, few = [], None, FewRows(job.table.curve)
    for fold in tested_folds(job.table, data, job.seed):
        shown = thinned(fold, job.line.share)
        model = learned(job.line.predictor, shown, job.table.quantity, job.budget(limit_s), say)
        model, scored = few.score(model, fold)
        scores[job.table.quantity].append(scored)
        for quantity, other in scored_besides(model, scored).items():
            scores.setdefault(quantity, []).append(other)
        models.append(model)
        first_fold = first_fold or fold
    name, requested = job.line.predictor, scores.pop(job.table.quantity)
    besides = {q.value: next(iter(figures(name, each))) for q, each in scores.items()}
    every = {**{f.slice: f for f in figures(name, requested)}, **besides, **few.slices(name)}
    return {
        "digest": data.digest,
        "rows": len(data),
        "slices": {name: dataclasses.asdict(figure) for name, figure in every.items()},
        "families": {
            f.slice: {"rows": f.rows, "mape": f.mape, "rmse": f.rmse}
            for f in by_family(name, requested, LEAST_OF_FAMILY)
        },
        "curve": curve(models[0]) if models else [],
        "validation": validation(models[0]) if models else [],
        "planned_epochs": planned_epochs(models[0], job) if models else 0,
        "places": places(models[0], first_fold.test) if first_fold else [],
        "points": points(requested),
        "points_besides": {q.value: points(each) for q, each in scores.items()},
        "parameters": parameters(models[0]) if models else 0,
        "failures": getattr(models[0], "failure_rate", None) if models else None,
        "processor_s": clock_s() - start,
    }


def scored_besides(model: GraphPredictor, tested: Scored) -> Mapping[Quantity, Scored]:
    """Return the scores of the other quantities that a network predicts, on rows that have them."""
    from ..networks.several import SeveralQuantities

    if not isinstance(model, SeveralQuantities):
        return {}
    result = {}
    for quantity, value in model.every(tested.fold.test).items():
        measured = tested.fold.test.values(quantity)
        is_known = np.isfinite(measured) & (measured > 0)
        if quantity is not model.quantity and is_known.any():
            no_interval = np.full(len(value), np.nan)
            whole = replace(
                tested, measured=measured, value=value, low=no_interval, high=no_interval
            )
            result[quantity] = whole.where(is_known)
    return result


def curve(model: GraphPredictor) -> list[tuple[float, float]]:
    """Return epoch and loss of each epoch of a network; nothing for other predictors."""
    trained = getattr(model, "trained", None)
    return [] if trained is None else [(epoch, loss) for epoch, _, loss, *_ in trained.history]


def validation(model: GraphPredictor) -> list[float]:
    """Return the validation error of each epoch of a network; nothing for other predictors."""
    trained = getattr(model, "trained", None)
    return [] if trained is None else [error for _, _, _, error, _ in trained.history]


def planned_epochs(model: GraphPredictor, job: Job) -> int:
    """Return the epochs of a line, else those of a network's recipe; 0 for other predictors."""
    recipe = getattr(model, "recipe", None)
    return job.line.epochs or (recipe.epochs if isinstance(recipe, TrainRecipe) else 0)


def parameters(model: GraphPredictor) -> int:
    """Return the number of trained weights of a network; 0 for other predictors."""
    network = getattr(model, "made", None)
    if network is None:
        return 0
    return sum(p.numel() for p in network.parameters() if p.requires_grad)


def points(scores: Sequence[Scored]) -> list[tuple[float, float]]:
    """Return pairs of measured and predicted numbers, at most `MOST_POINTS` at equal steps."""
    pairs = [
        (float(m), float(v))
        for s in scores
        for m, v in zip(s.measured, s.value, strict=True)
        if isfinite(m) and isfinite(v)
    ]
    return pairs[:: max(len(pairs) // MOST_POINTS, 1)][:MOST_POINTS]


@cache
def _whole(graphs: Path, dataset: str) -> Measurements:
    """Return a data set; cached, so that tables of different rows share its graphs in memory."""
    return load(graphs, dataset)


@cache
def _rows(graphs: Path, rows: RowSelection) -> Measurements:
    """Return the selected rows of a data set."""
    return _whole(graphs, rows.dataset).where(rows.keeps)


def chosen_rows(job: Job) -> Measurements:
    """Return the rows of a job's table that have its quantity.

    Raises:
        DataError: the data set is not built.
    """
    return _rows(job.graphs, job.table.rows).measured(job.table.quantity)
