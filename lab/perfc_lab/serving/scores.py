"""Errors of serving predictions, by held-out folds."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

import numpy as np

from perfc.ir.record import record
from perfc.serving.host import BENCH, DISAGGREGATED, EXPERTS, HostModel, numbers_of
from perfc.serving.power import BoardPower

from ..board import Score, coverage_by_fold, score
from . import ServedRow, ServingQuantity, is_mixture
from .aic import AIC, DRAFTS_UNSTATED, STATED, UNSTATED
from .energy import energies_left_out, taught_boards
from .hosts import is_compiled, launch_of, shares_host
from .learn import LEAST_ROWS, config_of, fitted, is_warm, model_fold, of_other_hosts, random_fold
from .like import fitted_processes, placed, told_unseen
from .replay import ReplayedNumber, Unanswered, samples
from .tables import ML_ENERGY, ML_ENERGY_VLLM, TABLES, TRTLLM

if TYPE_CHECKING:
    from perfc.analyzers.features.process import Process

Say = Callable[[str], None]
EDGES = 0.05, 0.95
UNKNOWN_PROMPTS = "prompts that no cache knew"
"""Rows but for those of sweeps whose engines seem to know prompts beforehand."""
EAGER, SHARED = "-eager", "-shared"
"""Suffixes of names of host models: launched kernel by kernel, on shared hosts."""
TOLD_APART = {"trtllm": "1.0."}
"""Versions with several models, so that one can be held out; other versions are pooled."""


@record
class ServingEvidence:
    """Samples of all tables, and the rows without a sample."""

    samples: tuple[ReplayedNumber, ...]
    unanswered: tuple[Unanswered, ...]


def gathered(data: Path, say: Say, wanted: Sequence[str] = tuple(TABLES)) -> ServingEvidence:
    """Return the samples of all rows of some tables, replayed.

    Raises:
        DataError: a table is missing.
    """
    found: list[ReplayedNumber] = []
    missed: list[Unanswered] = []
    for name in wanted:
        before = len(found)
        for row in TABLES[name](data):
            each = samples(row)
            if isinstance(each, Unanswered):
                missed.append(each)
            else:
                found += [placed(s, law_name(s)) for s in each]
        say(f"{name}: {len(found) - before} numbers")
    return ServingEvidence(tuple(found), tuple(missed))


def law_name(sample: ReplayedNumber) -> str:
    """Return the name of the host model of a sample: its runtime and how that was driven.

    If several dense models and several mixtures of experts were run, each kind has its own. Of
    compiled engines, only one mixture of experts was run.
    """
    row = sample.row
    driven = _driven(row)
    is_apart = row.source == TRTLLM and has_experts(row) and not is_compiled(row)
    return f"{driven} {EXPERTS}" if is_apart else driven


def _driven(row: ServedRow) -> str:
    """Return the runtime, with its version if the version has its own host model."""
    if row.source == TRTLLM:
        if row.is_static:
            return f"{row.runtime}{BENCH} 0.9"
        series = row.version.removeprefix("post-").lstrip("v").split("@")[0]
        return f"{row.runtime}{BENCH} {'.'.join(series.split('.')[:2])}"
    if row.source == ML_ENERGY:
        return f"{row.runtime}{EAGER if row.is_eager else SHARED if shares_host(row) else BENCH}"
    if row.prefill:
        return f"{row.runtime}{DISAGGREGATED}"
    told = TOLD_APART.get(row.runtime, "")
    return (
        f"{row.runtime} {told.rstrip('.')}"
        if told and row.version.startswith(told)
        else row.runtime
    )


def has_experts(row: ServedRow) -> bool:
    """Return True if a row is of a mixture of experts."""
    return is_mixture(row.model)


def trained(evidence: ServingEvidence) -> dict[str, HostModel]:
    """Return the shipped host models, fitted to all rows, with intervals from held-out models.

    The host model of a runtime is fitted to its servers and to benchmarks of its newest version.
    """
    found: dict[str, HostModel] = {}
    every = _timed(evidence)
    unseen = dict(zip(map(id, every), told_unseen(every, law_name, model_fold), strict=True))
    for name in dict.fromkeys(map(law_name, evidence.samples)):
        taught_by = (name, f"{name}{BENCH}")
        own = [s for s in evidence.samples if law_name(s) in taught_by]
        timed = [s for s in own if s.quantity is not ServingQuantity.ENERGY_J]
        others = of_other_hosts(evidence.samples, law_name, name)
        law = replace(fitted(timed, others), **_bands(timed, [unseen[id(s)] for s in timed]))
        found[name] = replace(
            law,
            launch_s=launch_of(own[0].row),
            rows=len({s.row.name for s in own}),
            models=tuple(sorted({config_of(s) for s in own})),
            source=", ".join(sorted({s.row.source for s in own})),
            versions=versions_of([s.row for s in own]),
        )
    return found


def versions_of(rows: Iterable[ServedRow]) -> tuple[str, ...]:
    """Return major and minor numbers of the versions in the rows, the oldest first.

    Rows with disaggregated prefill have the version of their router and are skipped.
    """
    stated = [
        ML_ENERGY_VLLM if row.source == ML_ENERGY else row.version.removeprefix("post-")
        for row in rows if not row.prefill
    ]  # fmt: skip
    found = {numbers_of(text) for text in stated if text.lstrip("v")[:1].isdigit()}
    return tuple([".".join(map(str, numbers)) for numbers in sorted(found)])


def trained_boards(
    evidence: ServingEvidence, laws: Mapping[str, HostModel]
) -> dict[str, BoardPower]:
    """Return the shipped power models of boards, fitted to servers that record their steps.

    Energy was measured under one runtime; its boards represent all runtimes.
    """
    watched = [s for s in evidence.samples if s.row.source == ML_ENERGY and not s.row.is_eager]
    return taught_boards(watched, laws, law_name)


def trained_processes(
    evidence: ServingEvidence, laws: Mapping[str, HostModel]
) -> dict[str, Process]:
    """Return the shipped Gaussian processes, fitted to residuals of the shipped host models."""
    return fitted_processes(_timed(evidence), law_name, laws)


def _timed(evidence: ServingEvidence) -> list[ReplayedNumber]:
    return [s for s in evidence.samples if s.quantity is not ServingQuantity.ENERGY_J]


def _bands(own: Sequence[ReplayedNumber], unseen: Sequence[float]) -> dict[str, Any]:
    """Return the ends of the intervals, from predictions of held-out models."""
    ratios = _ratios(own, unseen)
    found: dict[str, float] = {}
    for prefix, is_first in (("ttft", True), ("tpot", False)):
        values = [
            (model_fold(s), r)
            for s, r in zip(own, ratios, strict=True)
            if (s.quantity is ServingQuantity.TTFT_S) is is_first and not is_warm(s.row)
        ]
        if values:
            low, high = edges_of_unseen(values)
            found |= {f"{prefix}_low": min(low, 1.0), f"{prefix}_high": max(high, 1.0)}
    return found


def _ratios(own: Sequence[ReplayedNumber], expected: Sequence[float]) -> list[float]:
    return [s.value / max(p, 1e-12) for s, p in zip(own, expected, strict=True)]


def edges(ratios: Sequence[float]) -> tuple[float, float]:
    """Return the two quantiles, of one more row than there are (conformal)."""
    ordered = sorted(ratios)
    count = len(ordered)
    low = max(0, math.floor(EDGES[0] * (count + 1)) - 1)
    high = min(count - 1, math.ceil(EDGES[1] * (count + 1)) - 1)
    return ordered[low], ordered[high]


def edges_of_unseen(ratios: Sequence[tuple[str, float]]) -> tuple[float, float]:
    """The ends that hold nine in ten rows of a model of which none was seen.

    From the middle of what models are in their middles, each model has the factor that holds nine
    in ten of its own rows, up or down. A further one has that factor's conformal quantile over
    models, the largest where there are fewer than nine (as Dunn, Wasserman and Ramdas, 2023,
    section 3, do with groups). One model says nothing of others: then these are its `edges`.

    Args:
        ratios: model of each row, and what was measured over what was predicted without it.
    """
    groups: dict[str, list[float]] = {}
    for model, ratio in ratios:
        groups.setdefault(model, []).append(math.log(ratio))
    told = [g for g in groups.values() if len(g) >= LEAST_ROWS] or list(groups.values())
    if len(told) < 2:
        return edges([r for _, r in ratios])
    share, center = EDGES[1] - EDGES[0], median(map(median, told))
    widths = sorted([_ranked(share, [abs(v - center) for v in g]) for g in told])
    width = _ranked(share, widths)
    return math.exp(center - width), math.exp(center + width)


def _ranked(share: float, values: Sequence[float]) -> float:
    """The conformal quantile: a share of one more value than there are."""
    ordered = sorted(values)
    return ordered[min(len(ordered), math.ceil(share * (len(ordered) + 1))) - 1]


def scored(evidence: ServingEvidence) -> Iterator[Score]:
    """Yield the scores of every table and quantity, by random folds and by models."""
    every = _timed(evidence)
    for folds, fold_of in (("random", random_fold(evidence.samples)), ("model", model_fold)):
        pairs = list(zip(every, told_unseen(every, law_name, fold_of), strict=True))
        watched = [s for s in evidence.samples if s.row.source == ML_ENERGY]
        pairs += energies_left_out(watched, law_name, fold_of)
        for source in (AIC, TRTLLM, ML_ENERGY):
            for quantity in ServingQuantity:
                for rows, takes in _kinds(source):
                    some = [
                        (s, p) for s, p in pairs
                        if s.row.source == source and s.quantity is quantity and takes(s.row)
                    ]  # fmt: skip
                    if some:
                        yield _score(source, quantity, rows, folds, some, fold_of)


def _kinds(source: str) -> tuple[tuple[str, Callable[[ServedRow], bool]], ...]:
    """Which rows of a table stand apart."""
    if source == AIC:
        return (
            ("dense", lambda r: not has_experts(r)),
            (f"dense, {UNKNOWN_PROMPTS}", lambda r: not (has_experts(r) or is_warm(r))),
            ("experts", lambda r: has_experts(r) and not r.prefill),
            ("prompts apart, workers stated", lambda r: r.dataset == STATED),
            ("prompts apart, workers not stated", lambda r: r.dataset == UNSTATED),
            (
                f"prompts apart, {DRAFTS_UNSTATED}",
                lambda r: bool(r.prefill) and r.dataset == DRAFTS_UNSTATED,
            ),
        )
    return (
        ("dense", lambda r: not has_experts(r)), ("experts", has_experts), ("all", lambda r: True)
    )  # fmt: skip


def _score(
    source: str, quantity: ServingQuantity, rows: str, folds: str,
    pairs: Sequence[tuple[ReplayedNumber, float]], fold_of: Callable[[ReplayedNumber], str],
) -> Score:  # fmt: skip
    ratios = [s.value / max(p, 1e-12) for s, p in pairs]
    names = [fold_of(s) for s, _ in pairs]

    def ends(fold: Hashable) -> tuple[float, float]:
        each = list(zip(names, ratios, strict=True))
        others = [(name, r) for name, r in each if name != fold] or each
        is_model = fold_of is model_fold
        return edges_of_unseen(others) if is_model else edges([r for _, r in others])

    coverage, width = coverage_by_fold(ratios, names, ends)
    measured, predicted = np.array([(s.value, max(p, 1e-12)) for s, p in pairs]).T
    if quantity is ServingQuantity.TOKENS_PER_S:
        # the error of a rate is that of its time
        measured, predicted = 1 / measured, 1 / predicted
    return score(
        folds, rows, measured, predicted, has_order=True,
        source=source, quantity=quantity.value, coverage=coverage, width=width,
    )  # fmt: skip
