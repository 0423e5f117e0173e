"""Evaluation of budgets: every rule against the figures and the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum
from typing import TYPE_CHECKING

from perfc.frontend.reading.module_name import NamedModule
from perfc.ir import Origin, record
from perfc.review.diff.figures import Figure, Metric

from .config import Level, LimitRule
from .lock.baseline import BaselineCase, Entry, rounded

if TYPE_CHECKING:
    from perfc.review.diff.lines import LineRow

ACCEPT = "perfc check --write-baseline"
"""Command that accepts a change."""
UNDECIDED = "the limit is within the 90 % interval of the difference"
"""Reason why an estimate only warns, unless the models are compared."""


class Outcome(Enum):
    """Outcomes of a rule or model, best first."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"

    __hash__ = object.__hash__  # faster than Enum's hash of the name

    def __lt__(self, other: Outcome) -> bool:
        return list(Outcome).index(self) < list(Outcome).index(other)


class BaselineStatus(Enum):
    """Status of a model relative to the baseline."""

    SAME = "same"
    CHANGED = "changed"
    NEW = "new"
    REMOVED = "removed"
    SKIPPED = "skipped"

    __hash__ = object.__hash__  # as above


@record
class LimitExceeded:
    """An exceeded limit.

    Args:
        outcome: warn or fail.
        metric: metric of the limit.
        value: current figure.
        baseline: baseline figure; None if there is no baseline.
        limit: maximum value.
        text: limit as written in the budget.
        reason: reason why a failing limit only warns, or fails although the interval of the
            change contains the limit; empty otherwise.
        change: 90 % interval of value minus baseline if the models were compared, else None.
    """

    outcome: Outcome
    metric: Metric
    value: float
    baseline: float | None
    limit: float
    text: str
    reason: str = ""
    change: tuple[float, float] | None = None

    @property
    def is_relative(self) -> bool:
        """Return True if the limit is relative to the baseline."""
        return self.text.strip().startswith("+")


@record
class Result:
    """Result of one case.

    Args:
        case: the model and its setting.
        standing: status relative to the baseline.
        entry: current figures; None if skipped or removed.
        baseline: baseline figures; None if new.
        findings: exceeded limits, worst first; per metric at most one relative and one absolute.
        notes: further notes.
        was_analysed: True if analyzed now, False if cached.
        why: operators that explain the change; empty if not requested.
        module: the PyTorch module of the case; None for a file.
        source: file and line of the code of the first operator of ``why``.
        lines: changed lines of code, with what each costs.
        former: name of the model in the baseline.
    """

    case: BaselineCase
    standing: BaselineStatus
    entry: Entry | None = None
    baseline: Entry | None = None
    findings: tuple[LimitExceeded, ...] = ()
    notes: tuple[str, ...] = ()
    was_analysed: bool = False
    why: str = ""
    module: NamedModule | None = None
    source: str = ""
    lines: tuple[LineRow, ...] = ()
    former: str = ""

    @property
    def outcome(self) -> Outcome:
        """Return the worst outcome of the findings."""
        return max((f.outcome for f in self.findings), default=Outcome.PASS)


def judge(
    case: BaselineCase,
    rules: Sequence[LimitRule],
    entry: Entry,
    old: Entry | None,
    predictor: tuple[str, str],
) -> Result:
    """Evaluate every rule of a budget on one case.

    Args:
        case: the model and its setting.
        rules: the limits.
        entry: current figures.
        old: baseline figures, or None.
        predictor: digests of the current predictor and of the baseline's.
    """
    other_causes = whose(entry, old, predictor)
    # False if the model did not change; a lock file has the first characters of a digest
    is_models_own = old is None or entry.digest[: len(old.digest)] != old.digest
    findings = worst(
        (rule, f)
        for rule in rules
        if (f := exceeded(rule, entry, old, is_models_own=is_models_own)) is not None
    )
    if old is None:
        standing = BaselineStatus.NEW
    elif all(is_equal(f, old.figures[m]) for m, f in entry.figures.items() if m in old.figures):
        standing = BaselineStatus.SAME
    else:
        standing = BaselineStatus.CHANGED
    notes = tuple(other_causes) if standing is BaselineStatus.CHANGED else ()
    bounds = [m.key for m, f in entry.figures.items() if f.is_bound]
    if bounds:
        notes += (f"lower bounds, not all is known: {', '.join(bounds)}",)
    return Result(case, standing, entry, old, tuple(findings), notes, former=case.model)


def worst(findings: Iterable[tuple[LimitRule, LimitExceeded]]) -> list[LimitExceeded]:
    """Return the worst finding of each metric and kind of limit."""

    def severity(pair: tuple[LimitRule, LimitExceeded]) -> tuple[Outcome, bool]:
        rule, finding = pair
        # of two warnings, that of a limit which could fail says more
        return finding.outcome, rule.level is Level.FAIL

    ordered = sorted(findings, key=severity, reverse=True)
    worst_of: dict[tuple[Metric, bool], LimitExceeded] = {}
    for rule, finding in ordered:
        worst_of.setdefault((rule.metric, rule.limit.is_relative), finding)
    return list(worst_of.values())


def whose(entry: Entry, old: Entry | None, predictor: tuple[str, str]) -> Iterator[str]:
    """Yield other possible causes of changed figures than the model."""
    if old is None:
        return
    now, before = predictor
    if entry.digest[: len(old.digest)] == old.digest:
        yield "the model is the same as in the baseline"
    if not now.startswith(before):
        yield "the baseline is from another version of perfc"
    if not entry.target_digest.startswith(old.target_digest):
        yield "the target's file changed"


def exceeded(
    rule: LimitRule, entry: Entry, old: Entry | None, *, is_models_own: bool
) -> LimitExceeded | None:
    """Return the finding of one rule; None if it is met or its baseline is missing.

    ``is_models_own`` is False if the model is that of the baseline: the limit then only warns.
    """
    figure = entry.figures.get(rule.metric)
    before = None if old is None else old.figures.get(rule.metric)
    limit = rule.limit.highest(None if before is None else rounded(before.value))
    # with tolerance for the rounding of written figures
    if figure is None or limit is None or rounded(figure.value) <= limit * (1 + 1e-9):
        return None
    outcome = Outcome.FAIL if rule.level is Level.FAIL else Outcome.WARN
    reason = ""
    if outcome is Outcome.FAIL:
        if rule.limit.is_relative and not is_models_own:
            reason = f"the model did not change: perfc or the target did ({ACCEPT})"
        elif rule.limit.is_relative and before is not None and before.is_bound:
            reason = f"the baseline is only a lower bound ({ACCEPT})"
        elif figure.origin >= Origin.PREDICTED:
            reason = uncertain(figure, before if rule.limit.is_relative else None, limit)
    if reason:
        outcome = Outcome.WARN
    value = None if before is None else before.value
    return LimitExceeded(outcome, rule.metric, figure.value, value, limit, rule.limit.text, reason)


def uncertain(new: Figure, old: Figure | None, limit: float) -> str:
    """Return why an estimate does not fail; empty if it does.

    It fails an absolute limit if its whole interval is above it, and a relative one if the whole
    interval of the difference is above the allowed change, assuming independent errors;
    `why.surer` refines this if it can compare the models.
    """
    if new.low is None:
        return "an estimate without an interval"
    if old is None:
        return "" if new.low > limit else "the limit is within the 90 % interval"
    if old.high is None:
        return "the baseline is an estimate without an interval"
    # half widths of independent errors add as squares; only the ends that face each other matter
    spread = math.hypot(new.value - new.low, old.high - old.value)
    return "" if new.value - spread > limit else UNDECIDED


def is_equal(new: Figure, old: Figure) -> bool:
    """Return True if a figure equals the baseline within its written precision."""
    return rounded(new.value) == rounded(old.value)


def in_words(names: Sequence[str]) -> str:
    """Return names as a list of which at most ten, a line, are shown."""
    return ", ".join(names[:10]) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
