"""Score training runs by laws that were not fitted to them.

A run is predicted by a law without its model, or, for NeuSight's on several GPUs, without any run
on several. Scaling is the throughput of a GPU among many over that among eight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import mean

import numpy as np

from perfc.analyzers.runs.run_law import RunLaw
from perfc.ir.record import record

from ..board import Score, score
from ..splitting import grouped
from . import RunRow
from .learn import Tangent, fit, group_of, predicted_s, usable
from .questions import answered_s
from .rows import rows

Say = Callable[[str], None]
ALONE = "torch-f32"
"""Framework of NeuSight's rows; rows of several GPUs are predicted by a law of rows of one GPU."""
SCALED_SEQ = 2048
"""Tokens per sample of llm-foundry's rows on many numbers of GPUs, which scaling is taken from."""


@record
class RunAnswer:
    """A measured run with its prediction by a law that was not fitted to it.

    Args:
        row: measured run.
        predicted_s: prediction by a law without rows of its model; for ``ALONE``, without rows of
            several GPUs.
    """

    row: RunRow
    predicted_s: float

    @property
    def error(self) -> float:
        """Return the relative error of the prediction."""
        return self.predicted_s / self.row.step_s - 1


@record
class Scaling:
    """Throughput of each GPU of a run, as a share of the throughput of each GPU of a run on eight.

    Args:
        model: model that is trained.
        cluster: name of the target.
        gpus: number of GPUs.
        measured: share as measured.
        predicted: share as predicted by a law without rows of the model.
    """

    model: str
    cluster: str
    gpus: int
    measured: float
    predicted: float


@record
class DistributedEvidence:
    """Predictions of held-out runs, and the laws of all rows.

    Args:
        answers: held-out runs with their predictions.
        laws: laws by group, each fitted to all rows of the group.
    """

    answers: tuple[RunAnswer, ...]
    laws: dict[str, RunLaw]


def gathered(data: Path, say: Say) -> DistributedEvidence:
    """Return predictions of held-out runs, and laws of all rows; ``say`` gets progress and errors.

    ``data`` is the folder of the tables.
    """
    usable_rows = list(usable(list(rows(data)), say))
    say(f"{len(usable_rows)} runs")
    # how predicted times change with each number of a law: fits need no further predictions. A key
    # is an identity, as a row has no hash and repeats of a setting are equal
    tangents = {id(r): Tangent.of(r) for r in usable_rows}
    groups = grouped(usable_rows, group_of)
    answers: list[RunAnswer] = []
    laws: dict[str, RunLaw] = {}
    for name, members in sorted(groups.items()):
        predictions = list(held_out(members, tangents))
        answers += predictions
        # the interval comes from held-out errors, the law from all rows
        ratios = sorted(a.row.step_s / a.predicted_s for a in predictions)
        law = fit(members, tangents)
        models = tuple(sorted({r.model for r in members}))
        laws[name] = with_band(law, ratios, len(members), models, members[0].source)
        error = f"{mean(abs(a.error) for a in predictions):.1%}" if predictions else "none left out"
        say(f"{name}: {len(members)} rows, {error}")
    return DistributedEvidence(tuple(answers), {**laws, **dict(pooled(groups, tangents))})


def held_out(members: Sequence[RunRow], tangents: dict[int, Tangent]) -> Iterator[RunAnswer]:
    """Yield the predictions of each model by a law that was fitted to the others.

    For ``ALONE``, rows of several GPUs are predicted by a law of the rows of one.
    """
    for model in sorted({r.model for r in members}):
        others = [r for r in members if base_name(r.model) != base_name(model)]
        if members[0].framework == ALONE:
            # these rows test whether links are predicted without rows of links
            others = [r for r in members if r.parallel.devices == 1]
        law = fit(others, tangents)
        for row in members:
            is_seen = members[0].framework == ALONE and row.parallel.devices == 1
            if row.model == model and not is_seen:
                yield RunAnswer(row, answered_s(row, law))


def base_name(model: str) -> str:
    """Return a model's name in one spelling: ``LLAMA3_70B`` is ``LLAMA3-70B``, without remarks."""
    return model.partition(" (")[0].replace("_", "-")


def with_band(
    law: RunLaw, ratios: Sequence[float], count: int, models: tuple[str, ...], source: str
) -> RunLaw:
    """Return the law with its interval and sources.

    ``ratios`` are measured over predicted times in ascending order.
    """
    ends = (law.low, law.high)
    # the ends of fewer than five runs remain those of the prior; below twenty they are the extremes
    if len(ratios) >= 5:
        ends = ratios[int(0.05 * len(ratios))], ratios[int(0.95 * len(ratios))]
    # at least 5 % either way of the prediction
    low, high = min(ends[0], 0.95), max(ends[1], 1.05)
    return replace(law, low=low, high=high, rows=count, models=models, source=source)


POOLED = ("megatron",)
"""Current frameworks, whose rows the laws of any framework are fitted to; without TorchTitan, whose
GPUs were limited to 500 W."""
OLDER = "llm-foundry"
"""Framework that stands in on generations of GPUs without a current one; its attention kernels are
of 2023."""


def pooled(
    groups: dict[str, list[RunRow]], tangents: dict[int, Tangent]
) -> Iterator[tuple[str, RunLaw]]:
    """Yield the names and laws of runs under any framework: by generation, and of all together."""
    by_name: dict[str, list[RunRow]] = {}
    for name, members in groups.items():
        # groups are named "framework architecture"
        framework, _, arch = name.partition(" ")
        has_newer = any(f"{f} {arch}" in groups for f in POOLED)
        if framework in POOLED or (framework == OLDER and not has_newer):
            by_name.setdefault(f"any {arch}", []).extend(members)
            by_name.setdefault("any", []).extend(members)
    for name, members in by_name.items():
        law = fit(members, tangents)
        # in-sample ratios, narrower than those of held-out models
        ratios = sorted(r.step_s / predicted_s(r, law) for r in members)
        models = tuple(sorted({r.model for r in members}))
        sources = ", ".join(sorted({r.source for r in members}))
        yield name, with_band(law, ratios, len(members), models, sources)


def scored(evidence: DistributedEvidence) -> Iterator[Score]:
    """Yield the scores by source, with dense models, models with experts and links separately.

    Then those of dense models and of models with experts of all sources together.
    """
    groups = grouped(evidence.answers, lambda answer: (answer.row.source, what(answer.row)))
    for (source, kind), answers in sorted(groups.items()):
        yield score_of(source, kind, answers)
    sources = ("llm-foundry", "megatron-bridge", "nemo", "torchtitan")
    for is_sparse, name in ((False, "dense"), (True, "experts")):
        all_answers = [
            a for a in evidence.answers if a.row.source in sources and a.row.is_sparse is is_sparse
        ]
        if all_answers:
            yield score_of("llm_train_throughput", f"{name}, all sources", all_answers)


def score_of(source: str, part: str, answers: Sequence[RunAnswer]) -> Score:
    """Return the score of some answers."""
    measured, predicted = np.array([(a.row.step_s, a.predicted_s) for a in answers]).T
    split = "links left out" if source == "neusight" else "model left out"
    return score(split, part, measured, predicted, source=source)


def what(row: RunRow) -> str:
    """Return the part that a row is scored in: parallelism for NeuSight, else dense or experts."""
    if row.source == "neusight":
        return row.parallel.described().partition(",")[0]
    return "experts, model left out" if row.is_sparse else "dense, model left out"


def scalings(evidence: DistributedEvidence) -> Iterator[Scaling]:
    """Yield the scaling of each model that llm-foundry ran on eight GPUs and on more.

    Batch sizes differ with the number of GPUs, as in the source.
    """
    members = [
        a
        for a in evidence.answers
        if a.row.source == "llm-foundry"
        and a.row.training.seq == SCALED_SEQ
        and a.row.weights == "bf16"
    ]
    for key in sorted({(a.row.model, a.row.cluster) for a in members}):
        by_gpus = sorted(
            (a for a in members if (a.row.model, a.row.cluster) == key),
            key=lambda a: a.row.parallel.devices,
        )
        first = by_gpus[0]
        for a in by_gpus[1:]:
            if first.row.parallel.devices == 8 and a.row.parallel.devices > 8:
                yield Scaling(
                    *key,
                    a.row.parallel.devices,
                    rate(a.row, a.row.step_s) / rate(first.row, first.row.step_s),
                    rate(a.row, a.predicted_s) / rate(first.row, first.predicted_s),
                )


def rate(row: RunRow, step_s: float) -> float:
    """Return the samples a second of one GPU; all rows compared have samples of one length."""
    return row.training.batch / step_s / row.parallel.devices
