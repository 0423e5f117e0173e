"""Figures against their limits and baselines, by hand: what fails, what warns, and why."""

from __future__ import annotations

import math
from typing import Any

import pytest

from perfc.ir.facts import Origin
from perfc.review.check.config import Level, LimitRule
from perfc.review.check.lock.baseline import BaselineCase, Entry
from perfc.review.check.verdict import (
    UNDECIDED,
    BaselineStatus,
    LimitExceeded,
    Outcome,
    Result,
    exceeded,
    is_equal,
    judge,
    slack,
    uncertain,
    whose,
    worst,
)
from perfc.review.diff.figures import Figure, Metric
from perfc.view.report.units import parse_limit

CASE: Any = BaselineCase("m.onnx", "a100", "ort", "", (), ())
FLOP, TIME = Metric.FLOP, Metric.TIME


def rule(text: str, metric: Metric = FLOP, level: Level = Level.FAIL) -> LimitRule:
    return LimitRule(metric, level, parse_limit(text, metric.unit))


def entry(digest: str = "d", target: str = "t", **figures: Figure | float) -> Entry:
    named = {
        Metric[n.upper()]: f if isinstance(f, Figure) else Figure(f) for n, f in figures.items()
    }
    return Entry(digest, named, target)


def figure(value: float, low: float | None = None, high: float | None = None) -> Figure:
    return Figure(value, Origin.PREDICTED, low=low, high=high)


def found(rule_: LimitRule, now: Entry, old: Entry | None, *, own: bool = True) -> tuple[Any, ...]:
    finding = exceeded(rule_, now, old, is_models_own=own)
    return () if finding is None else (finding.outcome, finding.limit, finding.reason)


def test_a_fixed_limit_is_exceeded_beyond_rounding() -> None:
    assert found(rule("100 flop"), entry(flop=100.0), None) == ()
    assert found(rule("100 flop"), entry(flop=101.0), None) == (Outcome.FAIL, 100.0, "")
    warns = rule("100 flop", level=Level.WARN)
    assert found(warns, entry(flop=101.0), None) == (Outcome.WARN, 100.0, "")
    assert found(rule("100 flop"), entry(mac=101.0), None) == ()
    assert (slack(100.0) > 100.0, slack(math.inf)) == (True, math.inf)


def test_a_growth_needs_a_baseline_and_is_the_models_own() -> None:
    more = rule("+10%")
    assert found(more, entry(flop=120.0), None) == ()
    assert found(more, entry(flop=120.0), entry(mac=1.0)) == ()
    old = entry(flop=100.0)
    assert found(more, entry(flop=109.0), old) == ()
    assert found(more, entry(flop=120.0), old)[:2] == (Outcome.FAIL, pytest.approx(110.0))
    outcome, _, reason = found(more, entry(flop=120.0), old, own=False)
    assert outcome is Outcome.WARN
    assert reason.startswith("the model did not change: perfc or the target did")
    assert found(rule("50 flop"), entry(flop=120.0), old, own=False)[0] is Outcome.FAIL
    # a baseline that is analyzed now has more digits than a lock file
    same = entry(time=figure(9.0402383e-3))
    assert found(rule("+0%", TIME), same, same) == ()
    bound = entry(flop=Figure(100.0, is_bound=True))
    outcome, _, reason = found(more, entry(flop=120.0), bound)
    assert (outcome, reason[:37]) == (Outcome.WARN, "the baseline is only a lower bound (p")
    assert found(rule("50 flop"), entry(flop=120.0), bound)[0] is Outcome.FAIL


@pytest.mark.parametrize(
    ("new", "old", "limit", "reason"),
    [
        (figure(5.0), None, 4.0, "an estimate without an interval"),
        (figure(5.0, 4.5, 6.0), None, 4.0, ""),
        (figure(5.0, 4.0, 6.0), None, 4.0, "the limit is within the 90 % interval"),
        (
            figure(5.0, 4.5, 6.0),
            figure(3.0),
            4.0,
            "the baseline is an estimate without an interval",
        ),
        # hypot(5 - 4.7, 3.4 - 3) = 0.5
        (figure(5.0, 4.7, 6.0), figure(3.0, 2.0, 3.4), 4.49, ""),
        (figure(5.0, 4.7, 6.0), figure(3.0, 2.0, 3.4), 4.51, UNDECIDED),
    ],
)
def test_an_estimate_gates_where_its_interval_says_so(
    new: Figure, old: Figure | None, limit: float, reason: str
) -> None:
    assert uncertain(new, old, limit) == reason


def test_estimates_are_held_against_the_baseline_for_relative_limits_alone() -> None:
    now, old = entry(time=figure(5.0, 4.7, 6.0)), entry(time=figure(3.0))
    assert found(rule("4 s", TIME), now, old) == (Outcome.FAIL, 4.0, "")
    outcome, _, reason = found(rule("+10%", TIME), now, old)
    assert (outcome, reason) == (Outcome.WARN, "the baseline is an estimate without an interval")
    warns = rule("+10%", TIME, Level.WARN)
    assert found(warns, now, old)[2] == "", "what only warns needs no reason"


def finding(outcome: Outcome, metric: Metric = FLOP, text: str = "1") -> LimitExceeded:
    return LimitExceeded(outcome, metric, 2.0, None, 1.0, text)


def test_one_finding_of_a_metric_and_kind_is_kept_the_worst() -> None:
    pairs = [
        (rule("1 flop", level=Level.WARN), finding(Outcome.WARN, text="a")),
        (rule("2 flop"), finding(Outcome.FAIL, text="b")),
        (rule("+1%"), finding(Outcome.WARN, text="+c")),
        (rule("1", Metric.PARAMETERS), finding(Outcome.WARN, Metric.PARAMETERS, "d")),
    ]
    assert [f.text for f in worst(pairs)] == ["b", "+c", "d"]
    same = [
        (rule("1 flop", level=Level.WARN), finding(Outcome.WARN, text="warns")),
        (rule("2 flop"), finding(Outcome.WARN, text="was to fail")),
    ]
    assert [f.text for f in worst(same)] == ["was to fail"]


def test_outcomes_are_ordered_and_a_result_has_the_worst() -> None:
    assert Outcome.PASS < Outcome.WARN < Outcome.FAIL
    assert Result(CASE, BaselineStatus.SAME).outcome is Outcome.PASS
    both = (finding(Outcome.WARN), finding(Outcome.FAIL))
    assert Result(CASE, BaselineStatus.SAME, findings=both).outcome is Outcome.FAIL
    assert (finding(Outcome.WARN, text=" +1%").is_relative, both[0].is_relative) == (True, False)


def test_whose_fault_a_change_may_be() -> None:
    same = entry("abcdef", "target1", flop=1.0)
    assert list(whose(same, None, ("p", "p"))) == []
    assert list(whose(same, entry("xyz", "target1"), ("pq", "p"))) == []
    assert list(whose(same, entry("abc", "tar"), ("pq", "p"))) == [
        "the model is the same as in the baseline"
    ]
    assert list(whose(same, entry("xyz", "other"), ("pq", "q"))) == [
        "the baseline is from another version of perfc",
        "the target's file changed",
    ]


def test_a_case_stands_where_its_figures_do() -> None:
    rules = [rule("+1%")]
    new = judge(CASE, rules, entry(flop=9.0), None, ("p", "p"))
    assert (new.standing, new.findings, new.notes) == (BaselineStatus.NEW, (), ())
    same = judge(CASE, rules, entry(flop=9.0, mac=1.0), entry(flop=9.0), ("p", "q"))
    assert (same.standing, same.notes) == (BaselineStatus.SAME, ())
    changed = judge(CASE, rules, entry("new", flop=10.0), entry("old", flop=9.0), ("p", "q"))
    assert changed.standing is BaselineStatus.CHANGED
    assert changed.outcome is Outcome.FAIL
    assert changed.notes == ("the baseline is from another version of perfc",)
    bounded = entry(flop=Figure(9.0, is_bound=True), mac=Figure(1.0, is_bound=True))
    open_ = judge(CASE, rules, bounded, entry(flop=9.0), ("p", "p"))
    assert open_.notes == ("lower bounds, not all is known: flop, mac",)
    kept = judge(CASE, rules, entry("old", flop=10.0), entry("old", flop=9.0), ("p", "p"))
    assert kept.outcome is Outcome.WARN, "the model did not change"
    assert is_equal(Figure(1.0), Figure(1.0))
    assert not is_equal(Figure(1.0), Figure(1.01))
