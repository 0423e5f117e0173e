"""Fit the laws of serving that ship, and score predictions of models that were left out of fits.

``perfc train serving`` writes the results of `trained`, `trained_boards` and `trained_processes`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from random import Random
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.errors import PerfcError
from perfc.ir.record import frozen, record
from perfc.serving.host import BENCH, DISAGGREGATED, EXPERTS, HostModel, numbers_of
from perfc.serving.power import BoardPower

from ..board import Score, score
from . import ServedRow, ServingQuantity, is_mixture
from .energy import fitted_boards
from .hosts import is_compiled, launch_of, write_of
from .learn import LEAST_ROWS, config_of, fitted, fold_of_model, is_warm, model_fold, of_other_hosts
from .like import fitted_processes, placed, unseen_errors
from .questions import PrintedNumber, answer, predicted, question, shipped
from .replay import ReplayedNumber, Unanswered, samples
from .tables import ML_ENERGY, ML_ENERGY_VLLM, TABLES, TRTLLM

if TYPE_CHECKING:
    from perfc.analyzers.features.process import Process

Say = Callable[[str], None]
EDGES = 0.05, 0.95
"""Quantiles at the ends of a 90 % interval."""
EAGER = "-eager"
"""Suffix of the names of host models of servers without CUDA graphs, which launch every kernel."""
SATURATED = f"vllm {'.'.join(map(str, numbers_of(ML_ENERGY_VLLM)))}"
"""Name of the host model of ML.ENERGY's servers, whose users take all sequences all the time."""
SEPARATE_VERSIONS = {"trtllm": ("1.0.", "trtllm 1.0"), "vllm": ("0.12.", SATURATED)}
"""By runtime, the start of a version with a separate host model, and the name of that. Such a
version has rows of several models, so that one can be held out; other versions share a host model.
vLLM 0.12 shares that of ML.ENERGY: before 0.14 its host prepares a step ahead only where a setting
says so (InferenceX)."""


@record
class ServingEvidence:
    """Samples of all tables, and the rows that cannot be simulated."""

    samples: tuple[ReplayedNumber, ...]
    unanswered: tuple[Unanswered, ...]


def gathered(data: Path, say: Say, wanted: Sequence[str] = tuple(TABLES)) -> ServingEvidence:
    """Return the samples of all rows of some tables, from simulations; ``say`` gets their number.

    Raises:
        DataError: a table is missing.
    """
    numbers: list[ReplayedNumber] = []
    missed: list[Unanswered] = []
    for name in wanted:
        before = len(numbers)
        for row in TABLES[name](data):
            row_samples = samples(row)
            if isinstance(row_samples, Unanswered):
                missed.append(row_samples)
            else:
                numbers += [placed(s, law_name(s)) for s in row_samples]
        say(f"{name}: {len(numbers) - before} numbers")
    return ServingEvidence(tuple(numbers), tuple(missed))


def law_name(sample: ReplayedNumber) -> str:
    """Return the name of the host model of a sample: its runtime, benchmark and version.

    Where several dense models and several mixtures of experts were measured, each kind has a host
    model. Compiled engines were measured with a single mixture, which shares theirs.
    """
    row = sample.row
    has_experts_law = row.source == TRTLLM and is_mixture(row.model) and not is_compiled(row)
    return _driven(row) + f" {EXPERTS}" * has_experts_law


def _driven(row: ServedRow) -> str:
    """Return the name of a row's host model, without the word for experts."""
    if row.source == TRTLLM:
        if row.is_static:
            return f"{row.runtime}{BENCH} 0.9"
        return f"{row.runtime}{BENCH} {'.'.join(row.release.split('.')[:2])}"
    if row.source == ML_ENERGY:
        if row.is_eager:
            return f"{row.runtime}{EAGER}"
        return SATURATED
    if row.prefill:
        return f"{row.runtime}{DISAGGREGATED}"
    # " " is the start of no version
    version, name = SEPARATE_VERSIONS.get(row.runtime, (" ", ""))
    return name if row.version.startswith(version) else row.runtime


def trained(
    evidence: ServingEvidence, unseen: Mapping[int, float] | None = None
) -> dict[str, HostModel]:
    """Return the host models to ship, fitted to all rows, with intervals from held-out models.

    Args:
        evidence: replayed rows.
        unseen: prediction of each sample without its model, by the sample's `id`.
    """
    laws: dict[str, HostModel] = {}
    every = _timed(evidence)
    # `answers` gives them, as it trains laws for every fold with the same held-out predictions
    if unseen is None:
        unseen = dict(zip(map(id, every), unseen_errors(every, law_name, model_fold), strict=True))
    for name in dict.fromkeys(map(law_name, evidence.samples)):
        of_law = [s for s in evidence.samples if law_name(s) == name]
        timed = [s for s in of_law if s.quantity is not ServingQuantity.ENERGY_J]
        # a prior for servers with few rows
        others = of_other_hosts(evidence.samples, law_name, name)
        law = replace(fitted(timed, others), **_bands(timed, [unseen[id(s)] for s in timed]))
        laws[name] = replace(
            law,
            launch_s=launch_of(of_law[0].row),
            write_s=max(write_of(s.row) for s in of_law),
            rows=len({s.row.name for s in of_law}),
            models=tuple(sorted({config_of(s.row.model) for s in of_law})),
            source=", ".join(sorted({s.row.source for s in of_law})),
            versions=versions_of([s.row for s in of_law]),
        )
    # vLLM's offline benchmark has the host model of saturated servers, without a time per request
    if SATURATED in laws:
        laws[f"vllm{BENCH}"] = replace(laws[SATURATED], request_s=0.0, token_s=0.0)
    return laws


def versions_of(rows: Iterable[ServedRow]) -> tuple[str, ...]:
    """Return major and minor numbers of the versions in the rows, the oldest first.

    Rows with disaggregated prefill are skipped, as their version is that of a router.
    """
    texts = [
        ML_ENERGY_VLLM if row.source == ML_ENERGY else row.release
        for row in rows
        if not row.prefill
    ]
    versions = {numbers_of(text) for text in texts if text[:1].isdigit()}
    return tuple([".".join(map(str, numbers)) for numbers in sorted(versions)])


def trained_boards(
    evidence: ServingEvidence, laws: Mapping[str, HostModel]
) -> dict[str, BoardPower]:
    """Return the power of boards to ship, fitted to servers that record their steps as CUDA graphs.

    Energy was measured under one runtime alone, whose boards stand for those of all runtimes.
    """
    watched = [s for s in evidence.samples if s.row.source == ML_ENERGY and not s.row.is_eager]
    return fitted_boards(watched, laws, law_name)


def trained_processes(
    evidence: ServingEvidence, laws: Mapping[str, HostModel]
) -> dict[str, Process]:
    """Return the Gaussian processes to ship, fitted to the errors of the host models to ship."""
    return fitted_processes(_timed(evidence), law_name, laws)


def _timed(evidence: ServingEvidence) -> list[ReplayedNumber]:
    """Return the samples of times, which hosts are fitted to."""
    return [s for s in evidence.samples if s.quantity is not ServingQuantity.ENERGY_J]


def _bands(numbers: Sequence[ReplayedNumber], unseen: Sequence[float]) -> dict[str, Any]:
    """Return the fields of `HostModel` with the ends of its intervals.

    ``unseen`` are the predictions of ``numbers`` by laws without their model.
    """
    ratios = _ratios(numbers, unseen)
    bands: dict[str, float] = {}
    for prefix, is_first in (("ttft", True), ("tpot", False)):
        values = [
            (model_fold(s), r)
            for s, r in zip(numbers, ratios, strict=True)
            if (s.quantity is ServingQuantity.TTFT_S) is is_first and not is_warm(s.row)
        ]
        if values:
            low, high = edges_of_unseen(values)
            # an interval holds the prediction itself
            bands |= {f"{prefix}_low": min(low, 1.0), f"{prefix}_high": max(high, 1.0)}
    return bands


def _ratios(numbers: Sequence[ReplayedNumber], expected: Sequence[float]) -> list[float]:
    """Return measured over predicted times."""
    return [s.value / max(p, 1e-12) for s, p in zip(numbers, expected, strict=True)]


def edges(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the ends of an interval of ratios: conformal quantiles, which count one more row."""
    ordered = sorted(ratios)
    count = len(ordered)
    low = max(0, math.floor(EDGES[0] * (count + 1)) - 1)
    high = min(count - 1, math.ceil(EDGES[1] * (count + 1)) - 1)
    return ordered[low], ordered[high]


def edges_of_unseen(ratios: Sequence[tuple[str, float]]) -> tuple[float, float]:
    """Return the interval that holds nine in ten ratios of a model that has no row here.

    The center is the median of the models' medians. The width of a model is the factor around the
    center that holds nine in ten of its rows. The result has the conformal quantile of the widths
    over models, which is the largest width for fewer than nine models (as Dunn, Wasserman and
    Ramdas, 2023, section 3, do with groups). For a single model it is `edges` of its rows.

    Args:
        ratios: model of each row, and measured over predicted value without that model.
    """
    groups: dict[str, list[float]] = {}
    for model, ratio in ratios:
        groups.setdefault(model, []).append(math.log(ratio))
    # models of few rows say little about a width; they count only if there are no others
    large = [g for g in groups.values() if len(g) >= LEAST_ROWS] or list(groups.values())
    if len(large) < 2:
        return edges([r for _, r in ratios])
    # widths are of logarithms, where a ratio and its inverse are equally far from 1
    share, center = EDGES[1] - EDGES[0], median(map(median, large))
    widths = sorted([_ranked(share, [abs(v - center) for v in g]) for g in large])
    width = _ranked(share, widths)
    return math.exp(center - width), math.exp(center + width)


def _ranked(share: float, values: Sequence[float]) -> float:
    """Return the conformal quantile of values, which counts one more value than there are."""
    ordered = sorted(values)
    return ordered[min(len(ordered), math.ceil(share * (len(ordered) + 1))) - 1]


# slices of a table that are scored separately; a row is in the first whose condition it meets
KINDS: Mapping[str, Callable[[ServedRow], bool]] = {
    "prefill on other GPUs": lambda r: bool(r.prefill),
    "experts": lambda r: is_mixture(r.model),
    "dense": lambda r: True,
}


def kind_of_row(row: ServedRow) -> str:
    """Return the name of the slice that a row is in."""
    return next(name for name, takes in KINDS.items() if takes(row))


@frozen
class Answered:
    """Prediction of ``perfc.llm`` for a row, by laws without the row's model.

    Args:
        row: measured row.
        printed: predicted number of each measured quantity; empty without a prediction.
        reason: why there is no prediction.
    """

    row: ServedRow
    printed: Mapping[ServingQuantity, PrintedNumber]
    reason: str = ""


def sampled(evidence: ServingEvidence, count: int) -> list[ServedRow]:
    """Return at most ``count`` runs of each table and slice, drawn at random; for 0 all.

    A run that was published several times counts once.
    """
    every_row = [s.row for s in evidence.samples] + [u.row for u in evidence.unanswered]
    runs: dict[tuple[str, str], dict[object, ServedRow]] = {}
    for row in every_row:
        runs.setdefault((row.source, kind_of_row(row)), {}).setdefault(row.run, row)
    drawn: list[ServedRow] = []
    for group in runs.values():
        runs_of_slice = list(group.values())
        Random(0).shuffle(runs_of_slice)  # a fixed seed: the same rows in every run
        drawn += runs_of_slice[: count or None]
    return drawn


def answers(evidence: ServingEvidence, rows: Sequence[ServedRow], say: Say) -> list[Answered]:
    """Return the predictions of `perfc.llm` for rows, each with laws fitted without its model."""
    every = _timed(evidence)
    unseen = unseen_errors(every, law_name, model_fold)
    by_id = dict(zip(map(id, every), unseen, strict=True))
    every_answer: list[Answered] = []
    for fold in dict.fromkeys(fold_of_model(row.model) for row in rows):
        rest = ServingEvidence(tuple(s for s in evidence.samples if model_fold(s) != fold), ())
        in_fold = [row for row in rows if fold_of_model(row.model) == fold]
        laws, is_offline = trained(rest, by_id), any(row.source == TRTLLM for row in in_fold)
        # processes correct offline benchmarks alone, which are all of this table
        processes = trained_processes(rest, laws) if is_offline else {}
        with shipped(laws, trained_boards(rest, laws), processes):
            every_answer += map(answered, in_fold)
        say(f"{fold}: {len(every_answer)} of {len(rows)} rows")
    return every_answer


def answered(row: ServedRow) -> Answered:
    """Return the prediction of ``perfc.llm`` for a row."""
    try:
        return Answered(row, predicted(answer(row), row))
    except PerfcError as error:
        return Answered(row, {}, error.message)


def scored(every: Sequence[Answered]) -> Iterator[Score]:
    """Yield the score of every table, quantity and slice."""
    groups: dict[tuple[str, ServingQuantity, str], list[Answered]] = {}
    for each in every:
        for quantity in each.row.measured:
            key = each.row.source, quantity, kind_of_row(each.row)
            groups.setdefault(key, []).append(each)
    for (source, quantity, kind), group in groups.items():
        yield _score([a for a in group if a.printed], source, quantity, kind, len(group))


def biases(every: Sequence[Answered]) -> Iterator[Score]:
    """Yield the scores of the answered rows by model, runtime and machine."""
    groups: dict[tuple[str, ServingQuantity, str], list[Answered]] = {}
    for each in every:
        row = each.row
        for quantity in each.printed:
            name = f"{config_of(row.model)}, {row.runtime} on {row.target.partition('-')[0]}"
            groups.setdefault((row.source, quantity, name), []).append(each)
    for (source, quantity, name), group in groups.items():
        if len(group) >= LEAST_ROWS:
            yield _score(group, source, quantity, name, len(group))


def _score(
    rows: Sequence[Answered], source: str, quantity: ServingQuantity, name: str, count: int
) -> Score:
    """Return the score of answers to rows of one table, quantity and slice."""
    printed = [a.printed[quantity] for a in rows]
    measured = np.array([a.row.measured[quantity] for a in rows])
    value, low, high = np.array([(p.value, p.low, p.high) for p in printed]).reshape(-1, 3).T
    if quantity is ServingQuantity.TOKENS_PER_S:
        # errors of rates are those of times: 1 / rate, whose interval ends swap
        measured, value, low, high = 1 / measured, 1 / value, 1 / high, 1 / low
    command = question(rows[0].row).command if rows else ""
    result = score(
        "model",
        name,
        measured,
        value,
        low,
        high,
        source=source,
        quantity=quantity.value,
        unanswered=count - len(rows),
        predictor=command,
    )
    # a quantity without an interval, as energy, has no coverage
    return replace(result, coverage=math.nan) if np.isnan(low).all() else result
