"""Plan a check: each model with each of its budgets, and analyze what the cache does not have."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from perfc.common.repository import remedy
from perfc.errors import ModelError, PerfcError
from perfc.ir import Module, record
from perfc.review.diff.figures import Figure, Metric

from ..code.imports import digest_of
from ..code.model import CodeModel, including
from . import sizing
from .cache import FigureCache
from .config import Budget, Config
from .lock import digests
from .lock.baseline import BaselineCase, Entry
from .verdict import BaselineStatus, Result

SOURCE = ".py"
"""Suffix of source files."""
UNCOVERED = "no budget is about it"
"""Note on a model without a budget."""


@record
class PlannedCheck:
    """A model with its budget; ``where`` is the place of its sizes."""

    case: BaselineCase
    path: Path | CodeModel
    budget: Budget
    where: str


def models_of(config: Config, files: Sequence[str]) -> list[str]:
    """Return the models of files: relative paths, modules, and those that include a source."""
    modules = config.modules
    sources = [f for f in files if f.endswith(SOURCE) and Path(f).is_file()]
    models = [
        m for f in files if f not in sources for m in config.modules_of(f) or [relative(config, f)]
    ]
    return models + including(modules, map(Path, sources))


def relative(config: Config, file: str) -> str:
    """Make a file name relative to the folder of the budgets, with slashes.

    Folders may be links to the project or into it; links to models are not resolved.
    """
    result = Path(os.path.relpath(file, config.root)).as_posix()
    if not result.startswith(".."):
        return result
    folder, name = os.path.split(os.path.abspath(file))
    real = os.path.relpath(os.path.realpath(folder), os.path.realpath(config.root))
    return Path(real, name).as_posix()


def planned(config: Config, models: Iterable[str]) -> tuple[list[PlannedCheck], list[Result]]:
    """Return each model with each of its budgets, and the models without a budget.

    Raises:
        PerfcError: an unknown target in a budget.
    """
    from perfc.machine import load_machine

    plan: dict[BaselineCase, PlannedCheck] = {}
    skipped: list[Result] = []
    targets: dict[str, str] = {}
    for model in dict.fromkeys(models):
        covering = [b for b in config.budgets if b.covers(model)]
        if not covering:
            case = BaselineCase(model, "")
            skipped.append(Result(case, BaselineStatus.SKIPPED, notes=(UNCOVERED,)))
        for budget in covering:
            if budget.target not in targets:
                try:
                    targets[budget.target] = load_machine(budget.target).name
                except PerfcError as error:
                    # budgets without a line are the built-in ones, whose target is an option
                    error.where = f"{config.path}:{budget.line}" if budget.line else "--target"
                    raise
            path = CodeModel(budget.module) if budget.module else config.root / model
            deployment = budget.deployment.for_model(model if budget.module else path)
            case = BaselineCase.of(model, targets[budget.target], deployment)
            # two budgets with one setting: one case with the limits of both
            if case in plan:
                rules = (*plan[case].budget.rules, *budget.rules)
                plan[case] = replace(plan[case], budget=replace(budget, rules=rules))
            else:
                where = config.place(budget.dims_line)
                plan[case] = PlannedCheck(case, path, budget, where)
    return list(plan.values()), skipped


@record
class CaseFigures:
    """Figures of a case, and True if they were computed now."""

    entry: Entry
    was_analysed: bool


def measure(
    config: Config, plan: Sequence[PlannedCheck], *, is_cached: bool = True
) -> tuple[dict[BaselineCase, CaseFigures], list[str]]:
    """Return the figures of every case, cached for unchanged models, and the errors."""
    cache = FigureCache(config.root, is_used=is_cached)
    measured: dict[BaselineCase, CaseFigures] = {}
    errors: list[str] = []
    for p in plan:
        try:
            measured[p.case] = one(p, cache)
        except PerfcError as error:
            name = config.shown(p.case.model)
            # errors have the path that was read, users know the name that is shown
            text = str(error).replace(str(p.path), name)
            line = text if name in text else f"{name}: {text}"
            errors.append(line)
    cache.close()
    return measured, list(dict.fromkeys(errors))  # one per model, not per budget


def one(p: PlannedCheck, cache: FigureCache, digest: str = "") -> CaseFigures:
    """Return the figures of one case; ``digest`` is that of a module at another revision.

    Raises:
        PerfcError: the model cannot be analyzed.
    """
    target = target_of(p.budget)
    try:
        if not digest:
            path = p.path
            digest = digest_of(path.module) if isinstance(path, CodeModel) else cache.digest(path)
    except FileNotFoundError:
        name = p.case.model
        raise ModelError("no such file", hint=remedy(name), where=name) from None
    except OSError as error:
        raise ModelError(error.strerror or "cannot be read", where=p.case.model) from None
    cached = cache.get(p.case, digest, target)
    if cached is not None:
        return CaseFigures(cached, was_analysed=False)
    entry, is_alone = analyzed(p, target)
    if is_alone:
        # the digest is of one file: it does not change with side files of weights
        cache.put(p.case, digest, target, entry)
    return CaseFigures(entry, was_analysed=True)


def target_of(budget: Budget) -> str:
    """Return the digest of the target's file, and the price where there is a limit on the cost."""
    from perfc.machine import load_machine

    return f"{digests.of_target(load_machine(budget.target))}{budget.offer or ''}"


def analyzed(p: PlannedCheck, target: str) -> tuple[Entry, bool]:
    """Compute the figures of one case; the flag is True if they depend on one file only.

    ``target`` is the digest of the target's file.

    Raises:
        PerfcError: the model cannot be analyzed.
    """
    from perfc.api import analyze
    from perfc.frontend import load
    from perfc.review.diff.figures import cost_of, figures

    budget = p.budget
    model = p.path.read(budget.dims) if isinstance(p.path, CodeModel) else p.path
    dims = dict[str, int]()
    if budget.dims:
        module = model if isinstance(model, Module) else load(model)
        dims = sizing.fitting(module, budget.dims, p.where, str(p.path))
    report = analyze(model, deployment=replace(budget.deployment, dims=dims))
    metrics: dict[Metric, Figure] = figures(report)
    if offer := budget.offer:
        metrics[Metric.COST] = cost_of(report, offer)
    origin = report.source.origin
    entry = Entry(origin.digest, metrics, target, sizing.sizes_of(report))
    return entry, not origin.side_files
