"""Trains what the papers' tables name, each training once; what is there is kept."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfc.ir.record import record

from ...graph.datasets import load
from ...graph.predictor import Budget, GraphPredictor, Say, predictor
from ...graph.rows import Measurements
from ...graph.store import write_file
from ...training.graphs.bench import adapted, figures, scored
from ...training.graphs.protocols import Fold, folds, thinned
from .neighbours import places
from .published import Line, PaperTable, Rows

if TYPE_CHECKING:
    pass

if TYPE_CHECKING:
    from ...features.classes import Array

MOST_POINTS = 400
"""Of measured and predicted numbers that a run keeps for its chart."""


@record
class Preset:
    """How much time a training gets.

    Args:
        scale: of the papers' hidden size.
        limit_s: processor time of one training.
        epochs: most of one; None for the recipe's.
    """

    scale: float
    limit_s: float
    epochs: int | None = None


PRESETS: Mapping[str, Preset] = {
    "cpu": Preset(0.25, 240.0),
    "paper": Preset(1.0, 3 * 3600.0),
    "smoke": Preset(1 / 16, 2.0, 2),
}
"""``cpu`` ends within six hours on two cores; ``smoke`` only shows that everything runs."""


@record
class Job:
    """One training.

    Args:
        table: it is for.
        line: of the table.
        seed: of the split and of the training.
        graphs: folder of the data sets.
        preset: name of one of `PRESETS`.
        is_faithful: whether by the paper's recipe.
    """

    table: PaperTable
    line: Line
    seed: int
    graphs: Path
    preset: str
    is_faithful: bool

    @property
    def key(self) -> str:
        """Name of its result, the same for all tables that share the training."""
        t, x = self.table, self.line
        parts = [
            x.predictor, t.rows.name, t.protocol.value, t.quantity.value, t.samples, x.share,
            x.epochs, self.seed, self.preset, self.is_faithful,
        ]  # fmt: skip
        digest = hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:12]
        return f"{x.predictor.replace(':', '-')}-{t.rows.name.lower()}-{self.seed}-{digest}"

    def budget(self) -> Budget:
        """Time and epochs of the preset, never more epochs than the line has."""
        chosen = PRESETS[self.preset]
        epochs = [e for e in (chosen.epochs, self.line.epochs) if e is not None]
        pool = self.graphs / "graphs" / "processed" / "graphs"
        return Budget(
            self.seed, chosen.limit_s, None, chosen.scale, None, self.is_faithful,
            pool if pool.is_dir() else None, min(epochs, default=None),
        )  # fmt: skip


def jobs(
    tables: Sequence[PaperTable], seeds: Sequence[int], graphs: Path, preset: str, is_faithful: bool
) -> Iterator[Job]:
    """Every training that the tables need, those that several need once."""
    seen: set[str] = set()
    for table in tables:
        for line in table.lines:
            for seed in seeds:
                job = Job(table, line, seed, graphs, preset, is_faithful)
                if job.key not in seen:
                    seen.add(job.key)
                    yield job


def result_path(folder: Path, job: Job) -> Path:
    """Where the result of a training is kept."""
    return folder / "results" / f"{job.key}.json"


def stored(folder: Path, job: Job) -> Mapping[str, Any] | None:
    """The result of a training; None where there is none, or one of other rows."""
    path = result_path(folder, job)
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    is_same = isinstance(content, dict) and content.get("digest") == chosen_rows(job).digest
    return content if is_same else None


def run(job: Job, folder: Path, say: Say) -> Mapping[str, Any]:
    """Train, test and write the result; goes by what is there."""
    known = stored(folder, job)
    if known is not None:
        return known
    data = chosen_rows(job)
    scores, models = [], []
    last: Fold | None = None
    for fold in folds(data, job.table.protocol, (job.seed,), job.table.samples):
        if len(fold.train) and len(fold.test):
            model = learned(job, thinned(fold, job.line.share), say)
            scores.append(scored(adapted(model, fold), fold, fit_s=0.0))
            models.append(model)
            last = last or fold
    content = {
        "digest": data.digest,
        "rows": len(data),
        "slices": {f.slice: dataclasses.asdict(f) for f in figures(job.line.predictor, scores)},
        "curve": curve(models[0]) if models else [],
        "places": places(models[0], last.test) if last else [],
        "points": [p for s in scores for p in points(s.measured, s.value)][:MOST_POINTS],
        "parameters": parameters(models[0]) if models else 0,
    }
    write_file(result_path(folder, job), (json.dumps(content) + "\n").encode())
    return content


def learned(job: Job, fold: Fold, say: Say) -> GraphPredictor:
    """A predictor trained without what a fold tests, with its interval."""
    model = predictor(job.line.predictor, job.table.quantity)
    model.fit(fold.train, fold.validation, job.budget(), say)
    model.calibrate(fold.validation)
    return model


def curve(model: GraphPredictor) -> list[tuple[float, float]]:
    """Epoch and loss of a network; nothing of others."""
    trained = getattr(model, "trained", None)
    return [] if trained is None else [(line[0], line[2]) for line in trained.history]


def parameters(model: GraphPredictor) -> int:
    """Weights that a network has; 0 of others."""
    made = getattr(model, "made", None)
    return 0 if made is None else sum(p.numel() for p in made.parameters())


def points(measured: Array, value: Array) -> list[tuple[float, float]]:
    """Measured and predicted numbers, every so many of them."""
    step = max(len(measured) // MOST_POINTS, 1)
    return [(float(m), float(v)) for m, v in zip(measured[::step], value[::step], strict=True)]


@lru_cache(4)
def _rows(graphs: Path, rows: Rows) -> Measurements:
    return load(graphs, rows.dataset).where(rows.keeps)


def chosen_rows(job: Job) -> Measurements:
    """Rows of the table, of which its quantity was measured.

    Raises:
        DataError: the data set is not built.
    """
    return _rows(job.graphs, job.table.rows).measured(job.table.quantity)
