"""Check models of a project against the limits of its budgets and against its baseline.

`check` is `perfc check`, `renewed` its `--write-baseline`.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from perfc.errors import AbsentError
from perfc.frontend.reading.folder import SUFFIXES
from perfc.frontend.reading.module_name import is_named
from perfc.ir import Origin, record

from ..code.model import CodeModel, digests_at
from ..code.worktree import commit_of
from . import built_in, sizing
from .cache import FigureCache
from .config import Config
from .lock import digests, lock_file
from .lock import lineage as lineages
from .lock.baseline import KEYS, Baseline, BaselineCase, Entry
from .lock.lineage import Lineage
from .planning import UNCOVERED, CaseFigures, PlannedCheck, measure, models_of, one, planned
from .verdict import BaselineStatus, Outcome, Result, in_words, judge
from .why import surer


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
        """Return the worst outcome of all results."""
        return max((r.outcome for r in self.results), default=Outcome.PASS)

    @property
    def is_complete(self) -> bool:
        """Return True if every figure is known and not just a lower bound."""
        figures = [f for r in self.results if r.entry for f in r.entry.figures.values()]
        # a bound of a count lacks operators; others may be bounds by definition
        return self.has_all and not any(f.is_bound and f.origin is Origin.COUNTED for f in figures)


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
    # pre-commit does not name deleted files: a name without a file is a mistake
    nowhere = [r for r in results if not (config.root / r.case.model).exists()]
    results = [r for r in results if r not in nowhere]
    plan += lineages.strays(config, against, revision, None if everything else results)
    measured, errors = measure(config, plan, is_cached=is_cached)
    errors += [f"{config.shown(r.case.model)}: no such file (check the path)" for r in nowhere]
    lineage = lineages.lineage_of(config, plan, measured, against, revision)
    # a renamed model is checked although no budget covers it
    results = [r for r in results if r.case.model not in lineage.formers]
    baseline = config.named(against.path) if against.path else ""
    judged, faults, unchecked, notes_on_names = compared(config, plan, lineage, baseline)
    results += judged
    errors += faults
    strange, notes = sized(config, measured, errors, is_everything=everything)
    errors += strange
    notes += [*notes_on_names, *unchecked]
    if everything:
        cases, replaced = {p.case for p in plan}, lineage.replaced
        removed = [
            c
            for c in against.entries
            # names with ../ are those of other projects (`lineage.with_moved`)
            if c not in cases and c.model not in replaced and not c.model.startswith("../")
        ]
        results += [
            Result(
                c, BaselineStatus.REMOVED, baseline=against.entries[c], notes=(why_gone(config, c),)
            )
            for c in removed
        ]
        errors += unmatched(config, models)
    relative_rules = any(r.limit.is_relative for b in config.budgets for r in b.rules)
    has_none = against.path is None and relative_rules and bool(plan)
    if has_none:
        named = "".join(f" {shlex.quote(f)}" for f in files)
        command = f"perfc check --write-baseline{named}"
        notes.append(f"no baseline: limits with + are not checked ({command})")
    if config.built_in_of is not None:
        notes.append(built_in.said(config))
    ordered = tuple(sorted(results, key=lambda r: r.case))
    is_compared = not unchecked and not has_none
    return CheckResult(ordered, tuple(errors), tuple(notes), baseline, config.root, is_compared)


def compared(
    config: Config, plan: Sequence[PlannedCheck], lineage: Lineage, baseline: str
) -> tuple[list[Result], list[str], list[str], list[str]]:
    """Judge every measured case.

    Returns:
        Results, errors, limits that are not checked, and notes on names and settings.
    """
    results: list[Result] = []
    errors: list[str] = []
    unchecked: list[str] = []
    notes: list[str] = []
    new: dict[str, str] = {}
    predictors = (digests.predictor(), lineage.against.predictor)
    for p in plan:
        measured = lineage.measured.get(p.case)
        if measured is None:
            continue
        rules = p.budget.rules
        old, former, note = lineage.compared(p)
        # judges the case by other figures too, as `surer` needs
        judged = partial(judge, p.case, rules, old=old, predictor=predictors)
        result = replace(judged(measured.entry), module=p.budget.module, former=former)
        result = surer(result, config.lock, config.root, lineage.revision, rules, judged)
        results.append(replace(result, was_analysed=measured.was_analysed))
        errors += incomparable(config, p, old, measured.entry, baseline)
        unchecked += unknown(config, p, measured.entry)
        notes += [note] if note else []
        if old is None and lineage.against.path and any(r.limit.is_relative for r in rules):
            name = config.shown(p.case.model)
            why = lineage.against.absent.get(p.case)
            new[name] = why or f"perfc check --write-baseline {shlex.quote(name)}"
    gone = sorted(config.shown(n) for n in lineage.gone - lineage.replaced)
    if new and gone:
        unchecked.append(f"gone: {in_words(gone)}; new: {in_words(list(new))}; not compared")
    else:
        unchecked += [
            f"{name}: new, limits with + are not checked ({why})" for name, why in new.items()
        ]
    return results, errors, unchecked, list(dict.fromkeys(notes))


def unmatched(config: Config, models: Sequence[str]) -> Iterator[str]:
    """Yield a line for each budget without a file, and for a project without models."""
    hint = (
        f"models end in {', '.join(SUFFIXES)}; for a PyTorch module: perfc init package.module:Name"
    )
    if config.built_in_of is not None:
        if not models:
            yield f"{config.shown('')}: no model in this folder or below ({hint})"
        return
    if not config.budgets:
        yield f"{config.shown(config.path.name)}: no budget (perfc init writes some)"
    for b in config.budgets:
        if b.module is None and not any(b.covers(m) for m in models):
            yield f"{config.place(b.line)}: no model matches {', '.join(b.models)} ({hint})"


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
                f"(perfc check --write-baseline {config.shown(p.case.model)})"
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
    # a model that cannot be analyzed may be the one that has them
    everything = is_everything and not errors
    lines = list(sizing.unused(config, entries, is_everything=everything))
    return [t for t, is_error in lines if is_error], [t for t, is_error in lines if not is_error]


def why_gone(config: Config, case: BaselineCase) -> str:
    """Return the reason why a case of the baseline is no longer checked."""
    if not is_named(case.model) and not (config.root / case.model).is_file():
        return "the file is gone"
    return f"{UNCOVERED} on {case.setting}"


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


def at_base(
    config: Config, files: Sequence[str], revision: str, *, is_cached: bool = True
) -> Baseline:
    """Return the baseline of models as they are at a revision, analyzed now.

    Files of equal content, and modules of equal sources and packages, come from the cache.

    Raises:
        ModelError: git does not have the revision.
    """
    commit_of(config.root, revision)
    plan, _ = planned(config, models_of(config, files) if files else config.models())
    entries: dict[BaselineCase, Entry] = {}
    absent: dict[BaselineCase, str] = {}
    cache = FigureCache(config.root, is_used=is_cached)
    by_module = digests_at([p.budget.module for p in plan if p.budget.module], revision)
    for p in plan:
        module, name = p.budget.module, p.case.model
        try:
            if module is not None and module in by_module:
                old = replace(p, path=CodeModel(module, revision))
                entries[p.case] = one(old, cache, by_module[module]).entry
            else:
                entries[p.case] = lineages.entry_at(config.root, p, name, revision, cache)
        except AbsentError as error:
            absent[p.case] = str(error)
    return Baseline(digests.predictor(), entries, Path(revision), absent)


def renewed(
    config: Config, old: Baseline, files: Sequence[str]
) -> tuple[dict[BaselineCase, Entry], list[str]]:
    """Return the entries of a new lock file, and the errors.

    With ``files`` only their entries are recomputed; otherwise all, without entries of removed
    models.
    """
    models = models_of(config, files) if files else config.models()
    plan, skipped = planned(config, models)
    measured, errors = measure(config, plan)
    errors += [f"{config.shown(r.case.model)}: {n}" for r in skipped for n in r.notes]
    errors += [f"{f}: {UNCOVERED}" for f in files if not models]
    errors += [] if files else unmatched(config, models)
    errors += sized(config, measured, errors, is_everything=not files)[0]
    if files and not errors:
        # the entry of a renamed model goes with its old name
        lineage = lineages.lineage_of(config, plan, measured, old, "HEAD")
        models = [*models, *lineage.replaced]
    others = old.entries.items() if files else ()
    entries = {case: entry for case, entry in others if case.model not in models}
    entries.update((case, m.entry) for case, m in measured.items())
    return entries, errors
