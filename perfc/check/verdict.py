"""Whether a model keeps its budget: every rule against the figures and the baseline."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from enum import Enum

from perfc.diff.figures import Figure, Metric
from perfc.ir.facts import Origin
from perfc.ir.record import record

from .baseline import Case, Entry, rounded
from .config import Level, Rule

UNDECIDED = "the limit is within the 90 % interval of the difference"


class Outcome(Enum):
    """What came of a rule or of a model, best first."""

    PASS = "pass"
    WARN = "warn"
    FAIL = "fail"

    __hash__ = object.__hash__

    def __lt__(self, other: Outcome) -> bool:
        return list(Outcome).index(self) < list(Outcome).index(other)


class Standing(Enum):
    """A model against the baseline."""

    SAME = "same"
    CHANGED = "changed"
    NEW = "new"
    REMOVED = "removed"
    SKIPPED = "skipped"

    __hash__ = object.__hash__


@record
class Finding:
    """A limit that is exceeded.

    Args:
        outcome: warn or fail.
        metric: what of.
        value: the figure.
        baseline: what it was; None where there is no baseline.
        limit: the largest value allowed.
        text: the limit as the budget writes it.
        reason: why it only warns although it is to fail, or why it fails although the interval of
            the change holds the limit; empty otherwise.
        change: 90 % interval of value less baseline, of an estimate whose models were compared;
            None of others.
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
        """Whether the limit is against the baseline."""
        return self.text.strip().startswith("+")


@record
class Result:
    """One case against its budget.

    Args:
        case: the model and its setting.
        standing: against the baseline.
        entry: its figures; None where it was skipped or is gone.
        baseline: those it had; None where it is new.
        findings: limits exceeded, the worst first; of a metric at most one against the baseline
            and one against a fixed limit.
        notes: what else a reader must know.
        was_analysed: whether it was analysed now, rather than before in the same state.
        why: which operators explain what became of it; empty where nobody looked.
    """

    case: Case
    standing: Standing
    entry: Entry | None = None
    baseline: Entry | None = None
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()
    was_analysed: bool = False
    why: str = ""

    @property
    def outcome(self) -> Outcome:
        """The worst of its findings."""
        return max((f.outcome for f in self.findings), default=Outcome.PASS)


def judge(
    case: Case,
    rules: Sequence[Rule],
    entry: Entry,
    old: Entry | None,
    predictor: tuple[str, str],
) -> Result:
    """Every rule of a budget on one case.

    Args:
        case: the model and its setting.
        rules: the limits.
        entry: its figures.
        old: those of the baseline, None where it has none.
        predictor: digests of the predictor now, and of that of the baseline.
    """
    blamed = whose(entry, old, predictor)
    own = old is None or entry.digest[: len(old.digest)] != old.digest
    found = worst(
        (rule, f)
        for rule in rules
        if (f := exceeded(rule, entry, old, is_models_own=own)) is not None
    )
    if old is None:
        standing = Standing.NEW
    elif all(is_equal(f, old.figures[m]) for m, f in entry.figures.items() if m in old.figures):
        standing = Standing.SAME
    else:
        standing = Standing.CHANGED
    notes = tuple(blamed) if standing is Standing.CHANGED else ()
    bounds = [m.key for m, f in entry.figures.items() if f.is_bound]
    if bounds:
        notes += (f"lower bounds, not all is known: {', '.join(bounds)}",)
    return Result(case, standing, entry, old, tuple(found), notes)


def worst(found: Iterable[tuple[Rule, Finding]]) -> list[Finding]:
    """One finding for each metric and kind of limit: what fails says what would warn too."""
    ordered = sorted(found, key=lambda p: (p[1].outcome, p[0].level is Level.FAIL), reverse=True)
    kept: dict[tuple[Metric, bool], Finding] = {}
    for rule, finding in ordered:
        kept.setdefault((rule.metric, rule.limit.is_relative), finding)
    return list(kept.values())


def whose(entry: Entry, old: Entry | None, predictor: tuple[str, str]) -> Iterator[str]:
    """What else than the model may have changed its figures."""
    if old is None:
        return
    if entry.digest[: len(old.digest)] == old.digest:
        yield "the model is the same as in the baseline"
    if not predictor[0].startswith(predictor[1]):
        yield "the baseline is from another version of perfc"
    if not entry.target_digest.startswith(old.target_digest):
        yield "the target's file changed"


def exceeded(rule: Rule, entry: Entry, old: Entry | None, *, is_models_own: bool) -> Finding | None:
    """The finding of one rule, None where it is kept or takes a baseline that is not there."""
    figure = entry.figures.get(rule.metric)
    before = None if old is None else old.figures.get(rule.metric)
    limit = rule.limit.highest(None if before is None else before.value)
    if figure is None or limit is None or rounded(figure.value) <= slack(limit):
        return None
    outcome = Outcome.FAIL if rule.level is Level.FAIL else Outcome.WARN
    reason = ""
    if outcome is Outcome.FAIL:
        if rule.limit.is_relative and not is_models_own:
            reason = "the model did not change: perfc or the target did (perfc baseline update)"
        elif rule.limit.is_relative and before is not None and before.is_bound:
            reason = "the baseline is only a lower bound (perfc baseline update)"
        elif figure.origin >= Origin.PREDICTED:
            reason = uncertain(figure, before if rule.limit.is_relative else None, limit)
    if reason:
        outcome = Outcome.WARN
    value = None if before is None else before.value
    return Finding(outcome, rule.metric, figure.value, value, limit, rule.limit.text, reason)


def uncertain(new: Figure, old: Figure | None, limit: float) -> str:
    """Why an estimate does not gate; empty where it does.

    It does against a fixed limit where its whole interval is above it, and against a baseline
    where the whole interval of the difference is above what the limit allows, the two taken to be
    wrong independently: `why.surer` knows better where it can compare the models.
    """
    if new.low is None:
        return "an estimate without an interval"
    if old is None:
        return "" if new.low > limit else "the limit is within the 90 % interval"
    if old.high is None:
        return "the baseline is an estimate without an interval"
    spread = math.hypot(new.value - new.low, old.high - old.value)
    return "" if new.value - spread > limit else UNDECIDED


def slack(limit: float) -> float:
    """A limit with room for the rounding of what is written down."""
    return limit * (1 + 1e-9) if limit < math.inf else limit


def is_equal(new: Figure, old: Figure) -> bool:
    """Whether a figure is what the baseline says, as far as that is written down."""
    return rounded(new.value) == rounded(old.value)
