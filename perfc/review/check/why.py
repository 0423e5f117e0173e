"""Compare a changed model with its version in git, to explain and to decide exceeded limits.

The comparison names the operators and lines of code of a change, and its interval is narrower than
that of two separate predictions. `run.compared` and `perfc check --explain` call it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from perfc.errors import PerfcError
from perfc.ir.syntax.names import symbol_key
from perfc.review.diff.figures import ESTIMATES, Metric

from ..code.changed_lines import code_change
from ..code.model import CodeModel
from .lock.lineage import at_revision
from .verdict import UNDECIDED, BaselineStatus, LimitExceeded, Outcome, Result

if TYPE_CHECKING:
    from perfc.review.diff import Difference

    from .config import LimitRule
    from .lock.baseline import Entry
    from .run import CheckResult


def since(root: Path, result: Result, revision: str) -> Difference | None:
    """Compare the model with that at ``revision``; None if git does not have it."""
    from perfc.review.diff import SideSetting, both, compare
    from perfc.review.diff.blame import frames_in

    case = result.case
    old = at_revision(root, result.module, result.former, revision)
    new: str | CodeModel = str((root / case.model).resolve())
    if result.module is not None:
        new = CodeModel(result.module)
    model_sizes = {
        name for entry in (result.entry, result.baseline) if entry for name, _ in entry.sizes
    }
    # sizes of the budget that this model has
    dims = {name: value for name, value in case.dims if symbol_key(name) in model_sizes}
    try:
        deployment = replace(case.deployment, dims=dims)
        sides = both(SideSetting(old, deployment), SideSetting(new, deployment))
        change = code_change(old, new, frames_in(sides), root)
        return compare(*sides, change=change)
    except PerfcError:
        # a model that the revision does not have, or that cannot be read there
        return None


def explained(result: CheckResult, revision: str) -> CheckResult:
    """Add an explanation for each changed model that git has at ``revision``."""
    comparisons: dict[str, dict[str, Any]] = {
        r.case.model: {"why": r.why, "source": r.source, "lines": r.lines}
        for r in result.results
        if r.why
    }
    results: list[Result] = []
    for r in result.results:
        if r.standing is BaselineStatus.CHANGED and not r.why:
            # settings of one model share a comparison
            if r.case.model not in comparisons:
                difference = since(result.root, r, revision)
                comparisons[r.case.model] = reasons(difference) if difference else {}
            r = replace(r, **comparisons[r.case.model])
        results.append(r)
    return replace(result, results=tuple(results))


def reasons(difference: Difference) -> dict[str, Any]:
    """Return fields of `Result`: the operators and the lines of code that explain a difference."""
    from perfc.review.diff import views_of
    from perfc.review.diff.figures import BY_KEY
    from perfc.review.diff.views import in_words

    from ..lint.engine import Linter, selected
    from ..lint.settings import Settings

    linter = Linter(Settings(), selected(Settings()), least=0.0)  # all rules, any gain
    views = views_of(difference, linter.check(difference.new, difference.new_label).findings)
    if not views.blame:
        return {}
    why = f"{BY_KEY[views.blame_metric].key} from {in_words(views.blame, limit=3)}"
    source = next((r.source for r in views.blame if r.source and r.is_named), "")
    return {"why": why, "source": source, "lines": views.lines}


def surer(
    result: Result,
    lock: Path,
    root: Path,
    revision: str,
    rules: Sequence[LimitRule],
    judged: Callable[[Entry], Result],
) -> Result:
    """Refine a result with git: intervals of differences, and the responsible operators.

    Two intervals of whole runs say little about a small change: most kernels are the same, and
    common errors of the others cancel. If git has the baseline's model at ``revision`` or in the
    last commit of the baseline, the two are compared kernel by kernel. A whole-run predictor may
    hide an edit, so a changed model is also judged by its kernels; printed figures remain those of
    the analysis.

    Args:
        result: result from the separate figures.
        lock: baseline file.
        root: folder of the budgets.
        revision: git revision of the baseline's model.
        rules: rules of the budget.
        judged: returns the result for other figures of the model.
    """
    old, entry = result.baseline, result.entry
    if old is None or entry is None:
        return result
    is_changed = not entry.digest.startswith(old.digest)
    is_gated = any(r.metric in ESTIMATES and r.limit.is_relative for r in rules)
    # a comparison analyzes another model: only where it may change the outcome
    if result.outcome is Outcome.PASS and not (is_changed and is_gated):
        return result
    difference = since_baseline(result, lock, root, revision)
    if difference is None:
        return result
    if is_changed:
        result = replace(result, findings=(*result.findings, *hidden(result, difference, judged)))
    if result.outcome is Outcome.PASS:
        return result
    findings = tuple(decided(f, difference, entry) for f in result.findings)
    return replace(result, findings=findings, **reasons(difference))


def hidden(
    result: Result, difference: Difference, judged: Callable[[Entry], Result]
) -> Iterator[LimitExceeded]:
    """Yield relative limits that changed kernels exceed although totals do not."""
    entry, old = result.entry, result.baseline
    assert entry is not None
    assert old is not None
    figures = dict(entry.figures)
    for m, change in difference.kernel_changes.items():
        if m not in figures or m not in old.figures:
            continue
        # the baseline plus the changed kernels, with the interval moved along
        value = old.figures[m].value + change
        moved = value - figures[m].value
        low, high = (None if e is None else e + moved for e in (figures[m].low, figures[m].high))
        figures[m] = replace(figures[m], value=value, low=low, high=high)
    seen = {f.metric for f in result.findings if f.is_relative}
    for f in judged(replace(entry, figures=figures)).findings:
        if f.is_relative and f.metric in difference.kernel_changes and f.metric not in seen:
            yield replace(f, value=entry.figures[f.metric].value)


def since_baseline(result: Result, lock: Path, root: Path, revision: str) -> Difference | None:
    """Compare the model with the baseline's; None if git does not have it."""
    from perfc.review.diff.revision import last_commit

    assert result.baseline is not None
    for commit in dict.fromkeys((revision, last_commit(lock))):
        difference = since(root, result, commit) if commit else None
        if difference and difference.old.source.origin.digest.startswith(result.baseline.digest):
            return difference
    return None


def decided(finding: LimitExceeded, difference: Difference, entry: Entry) -> LimitExceeded:
    """Decide a finding about an estimate by the interval of the difference.

    It fails if 90 % of such differences are above the allowed change. A change of the cost is that
    of the time at the price of ``entry``, so that a price alone fails no relative limit.
    """
    metric, rate = finding.metric, 1.0
    if metric is Metric.COST:
        metric = Metric.TIME
        rate = finding.value / entry.figures[metric].value
    ends = difference.intervals.get(metric)
    if ends is None or finding.baseline is None or not finding.is_relative:
        return finding
    interval = ends[0] * rate, ends[1] * rate
    if finding.reason != UNDECIDED and finding.outcome is not Outcome.FAIL:
        return replace(finding, change=interval)
    from perfc.review.diff.figures import signed

    # 90 % of differences are above `surely`; the 90 % interval leaves 5 % below its lower end
    surely, unit = difference.surely[metric] * rate, finding.metric.unit
    is_above = finding.baseline + surely > finding.limit
    outcome, reason = (Outcome.FAIL, "") if is_above else (Outcome.WARN, UNDECIDED)
    if is_above and finding.baseline + interval[0] <= finding.limit:
        reason = f"90 % of such changes are above {signed(surely, unit)}"
    # a finding of `hidden`: the printed total is within the limit
    if finding.value <= finding.limit:
        reason = (
            f"the changed kernels add {signed(difference.kernel_changes[metric] * rate, unit)}"
            + (f"; {reason}" if reason else "")
        )
    return replace(finding, outcome=outcome, reason=reason, change=interval)
