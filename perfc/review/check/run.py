"""Check of a project: models under budgets against a baseline."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from perfc.errors import ModelError, PerfcError
from perfc.frontend.reading.module_name import is_named
from perfc.ir.graph import Module
from perfc.ir.record import record
from perfc.review.diff.figures import Figure, Metric

from ..code.imports import digest_of
from ..code.model import CodeModel, including
from . import built_in, sizing
from .cache import FigureCache
from .config import Budget, Config
from .lock import digests, lock_file
from .lock.baseline import KEYS, Baseline, BaselineCase, Entry
from .verdict import BaselineStatus, Outcome, Result, judge
from .why import surer

SOURCE = ".py"
"""Suffix of source files."""
UNCOVERED = "no budget is about it"


@record
class CheckResult:
    """Result of a check.

    Args:
        results: one per model and budget.
        errors: models that cannot be analyzed, one line each.
        notes: budgets without a model, a missing baseline.
        baseline: baseline file relative to the folder of the budgets; "" if there is none.
        root: folder to which names of models are relative.
        has_all: True if every limited figure is known and every limit was compared.
    """

    results: tuple[Result, ...]
    errors: tuple[str, ...]
    notes: tuple[str, ...]
    baseline: str
    root: Path = Path()
    has_all: bool = True

    @property
    def outcome(self) -> Outcome:
        """Worst outcome of all results."""
        return max((r.outcome for r in self.results), default=Outcome.PASS)

    @property
    def is_complete(self) -> bool:
        """True if every figure is known and not just a lower bound."""
        figures = [f for r in self.results if r.entry for f in r.entry.figures.values()]
        return self.has_all and not any(f.is_bound and f.origin == 0 for f in figures)


@record
class PlannedCheck:
    """A model with its budget; ``where`` is the place of its sizes."""

    case: BaselineCase
    path: Path | CodeModel
    budget: Budget
    where: str


def check(
    config: Config,
    files: Sequence[str],
    *,
    against: Baseline,
    revision: str = "HEAD",
    is_cached: bool = True,
) -> CheckResult:
    """Check the ``files``, or every model with a budget if there are none.

    ``revision`` is the git revision of the baseline's models.
    """
    everything = not files
    models = config.models() if everything else models_of(config, files)
    plan, results = planned(config, models)
    measured, errors = measure(config, plan, is_cached=is_cached)
    # pre-commit leaves out what a commit deletes: a name that is not there is a slip
    nowhere = [r for r in results if not (config.root / r.case.model).exists()]
    results = [r for r in results if r not in nowhere]
    errors += [f"{config.shown(r.case.model)}: no such file (check the path)" for r in nowhere]
    baseline = config.named(against.path) if against.path else ""
    pair = (digests.predictor(), against.predictor)
    unchecked = list(uncompared(config, plan, against)) if against.path else []
    for p in plan:
        entry = measured.get(p.case)
        if entry is not None:
            known = against.entries.get(p.case)
            result = judge(p.case, p.budget.rules, entry.entry, known, pair)
            again = partial(judge, p.case, p.budget.rules, old=known, predictor=pair)
            result = replace(result, module=p.budget.module)
            result = surer(result, config.lock, config.root, revision, p.budget.rules, again)
            results.append(replace(result, was_analysed=entry.was_analysed))
            errors += incomparable(config, p, known, entry.entry, baseline)
            unchecked += unknown(config, p, entry.entry)
    strange, notes = sized(config, measured, errors, is_everything=everything)
    errors += strange
    notes += unchecked
    if everything:
        cases = {p.case for p in plan}
        gone = [c for c in against.entries if c not in cases]
        results += [
            Result(
                c, BaselineStatus.REMOVED, baseline=against.entries[c], notes=(why_gone(config, c),)
            )
            for c in gone
        ]
        errors += unmatched(config, models)
    relative_rules = any(r.limit.is_relative for b in config.budgets for r in b.rules)
    has_none = against.path is None and relative_rules and bool(plan)
    if has_none:
        named = "".join(f" {shlex.quote(f)}" for f in files)
        command = f"perfc baseline write{named}"
        notes.append(f"no baseline: limits with + are not checked ({command})")
    if config.built_in_of is not None:
        notes.append(built_in.said(config))
    ordered = tuple(sorted(results, key=lambda r: r.case))
    is_compared = not unchecked and not has_none
    return CheckResult(ordered, tuple(errors), tuple(notes), baseline, config.root, is_compared)


def unmatched(config: Config, models: Sequence[str]) -> Iterator[str]:
    """Yield a line for each budget without a file, and for a project without models."""
    hint = "perfc check reads .onnx and .onnx.gz; export PyTorch models with torch.onnx.export"
    if config.built_in_of is not None:
        if not models:
            yield f"{config.shown('')}: no model in this folder or below ({hint})"
        return
    if not config.budgets:
        yield f"{config.shown(config.path.name)}: no budget (perfc init writes some)"
    for b in config.budgets:
        if b.module is None and not any(b.covers(m) for m in models):
            yield f"{config.place(b.line)}: no model matches {', '.join(b.models)} ({hint})"


def uncompared(config: Config, plan: Sequence[PlannedCheck], against: Baseline) -> Iterator[str]:
    """Yield a line for each model with relative limits that the baseline lacks."""
    for p in plan:
        if p.case not in against.entries and any(r.limit.is_relative for r in p.budget.rules):
            name = config.shown(p.case.model)
            yield (
                f"{name}: new, limits with + are not checked "
                f"(perfc baseline update {shlex.quote(name)})"
            )


def incomparable(
    config: Config, p: PlannedCheck, old: Entry | None, new: Entry, baseline: str
) -> Iterator[str]:
    """Yield a line for each relative limit whose figure the baseline lacks."""
    if old is None:
        return
    relative = {r.metric: r for r in p.budget.rules if r.limit.is_relative}
    for m, rule in relative.items():
        if m in new.figures and m not in old.figures:
            budget = f"{m.key} of {config.place(rule.line)}"
            yield (
                f"{baseline}:{old.line}: no {KEYS[m]} of {p.case.model}, which {budget} is against "
                f"(perfc baseline update {config.shown(p.case.model)})"
            )


def unknown(config: Config, p: PlannedCheck, new: Entry) -> Iterator[str]:
    """Yield a line for each limit on an unknown figure."""
    for m, rule in {r.metric: r for r in p.budget.rules}.items():
        if m not in new.figures:
            yield (
                f"{config.place(rule.line)}: {m.key} of {p.case.model} is not known on "
                f"{p.case.target}: the limit is not checked"
            )


def sized(
    config: Config,
    measured: Mapping[BaselineCase, CaseFigures],
    errors: Sequence[str],
    *,
    is_everything: bool,
) -> tuple[list[str], list[str]]:
    """Return errors and notes about the sizes of budgets."""
    entries = {case: m.entry for case, m in measured.items()}
    # a model that cannot be analysed may be the one that has them
    everything = is_everything and not errors
    lines = list(sizing.unused(config, entries, is_everything=everything))
    return [t for t, is_error in lines if is_error], [t for t, is_error in lines if not is_error]


def why_gone(config: Config, case: BaselineCase) -> str:
    """Return the reason why a case of the baseline is no longer checked."""
    if not is_named(case.model) and not (config.root / case.model).is_file():
        return "the file is gone"
    return f"{UNCOVERED} on {case.setting}"


def models_of(config: Config, files: Sequence[str]) -> list[str]:
    """Return the models of files: relative paths, modules, and those that include a source."""
    modules = config.modules
    sources = [f for f in files if f.endswith(SOURCE) and Path(f).is_file()]
    models = [m for f in files if f not in sources
              for m in config.modules_of(f) or [relative(config, f)]]  # fmt: skip
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
    names: dict[str, str] = {}
    for model in dict.fromkeys(models):
        about = [b for b in config.budgets if b.covers(model)]
        if not about:
            case = BaselineCase(model, "")
            skipped.append(Result(case, BaselineStatus.SKIPPED, notes=(UNCOVERED,)))
        for budget in about:
            if budget.target not in names:
                try:
                    names[budget.target] = load_machine(budget.target).name
                except PerfcError as error:
                    error.where = f"{config.path}:{budget.line}" if budget.line else "--target"
                    raise
            path = CodeModel(budget.module) if budget.module else config.root / model
            how = budget.deployment.for_model(model if budget.module else path)
            case = BaselineCase.of(model, names[budget.target], how)
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
            text = str(error).replace(str(p.path), name)
            line = text if name in text else f"{name}: {text}"
            errors.append(line)
    cache.close()
    return measured, list(dict.fromkeys(errors))


def one(p: PlannedCheck, cache: FigureCache) -> CaseFigures:
    """Return the figures of one case.

    Raises:
        PerfcError: the model cannot be analyzed.
    """
    from perfc.machine import load_machine

    target = digests.of_target(load_machine(p.budget.target))
    try:
        digest = digest_of(p.path.module) if isinstance(p.path, CodeModel) else cache.digest(p.path)
    except OSError as error:
        raise ModelError(error.strerror or "cannot be read", where=p.case.model) from None
    known = cache.get(p.case, digest, target)
    if known is not None:
        return CaseFigures(known, False)
    entry, is_alone = analysed(p, target)
    if is_alone:
        cache.put(p.case, digest, target, entry)
    return CaseFigures(entry, True)


def analysed(p: PlannedCheck, target: str) -> tuple[Entry, bool]:
    """Compute the figures of one case; the flag is True if they depend on one file only.

    Raises:
        PerfcError: the model cannot be analyzed.
    """
    from perfc.api import analyze
    from perfc.frontend import load
    from perfc.review.diff.figures import figures

    budget = p.budget
    model = p.path.read(budget.dims) if isinstance(p.path, CodeModel) else p.path
    dims = dict[str, int]()
    if budget.dims:
        module = model if isinstance(model, Module) else load(model)
        dims = sizing.fitting(module, budget.dims, p.where, str(p.path))
    report = analyze(model, deployment=replace(budget.deployment, dims=dims))
    metrics: Mapping[Metric, Figure] = figures(report)
    origin = report.source.origin
    return Entry(origin.digest, metrics, target, sizing.sizes_of(report)), not origin.beside


def opened(config: Config, against: str = "") -> Baseline:
    """Read the baseline from the lock file, or from a git revision.

    Raises:
        PerfcError: a damaged file, a newer schema, or an unknown revision.
    """
    if against:
        from perfc.review.diff.revision import content

        spec = f"{against}:{config.lock.resolve()}"
        text = content(spec)
        return (
            Baseline()
            if text is None
            else lock_file.from_text(text, Path(f"{against}:{config.lock.name}"))
        )
    return lock_file.load(config.lock) if config.lock.is_file() else Baseline()


def renewed(
    config: Config, old: Baseline, files: Sequence[str], *, is_cached: bool = True
) -> tuple[dict[BaselineCase, Entry], list[str]]:
    """Return the entries of a new lock file, and the errors.

    With ``files`` only their entries are recomputed; otherwise all, without entries of removed
    models.
    """
    models = models_of(config, files) if files else config.models()
    plan, skipped = planned(config, models)
    measured, errors = measure(config, plan, is_cached=is_cached)
    errors += [f"{config.shown(r.case.model)}: {n}" for r in skipped for n in r.notes]
    errors += [f"{f}: {UNCOVERED}" for f in files if not models]
    errors += [] if files else unmatched(config, models)
    errors += sized(config, measured, errors, is_everything=not files)[0]
    entries = dict(others_of(old, models)) if files else {}
    entries.update((case, m.entry) for case, m in measured.items())
    return entries, errors


def others_of(old: Baseline, models: Sequence[str]) -> Iterator[tuple[BaselineCase, Entry]]:
    """Yield the entries of other models."""
    for case, entry in old.entries.items():
        if case.model not in models:
            yield case, entry
