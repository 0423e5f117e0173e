"""Limits, sizes and what git tells of a check, in numbers by hand."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from perfc.ir.record import record
from perfc.review.check.sizing import SHOWN, guess, size_line
from perfc.review.check.verdict import UNDECIDED, LimitExceeded, Outcome
from perfc.review.check.why import decided, hidden
from perfc.review.diff.figures import Figure, Metric
from perfc.view.report.units import Limit, Unit, parse_limit, scale, written


@pytest.mark.parametrize(
    ("text", "unit", "value"),
    [
        ("3 uJ", Unit.JOULE, 3e-6),
        ("3µJ", Unit.JOULE, 3e-6),
        ("3μJ", Unit.JOULE, 3e-6),
        ("3mJ", Unit.JOULE, 3e-3),
        ("3 J", Unit.JOULE, 3.0),
        ("3kJ", Unit.JOULE, 3e3),
        ("2 Wh", Unit.JOULE, 7200.0),
        ("3 B", Unit.BYTE, 3.0),
        ("3kB", Unit.BYTE, 3e3),
        ("3KB", Unit.BYTE, 3e3),
        ("3MB", Unit.BYTE, 3e6),
        ("3 GB", Unit.BYTE, 3e9),
        ("3TB", Unit.BYTE, 3e12),
        ("3KiB", Unit.BYTE, 3 * 2**10),
        ("3MiB", Unit.BYTE, 3 * 2**20),
        ("3GiB", Unit.BYTE, 3 * 2**30),
        ("3TiB", Unit.BYTE, 3 * 2**40),
        ("4 Gflop", Unit.FLOP, 4e9),
        ("4kflop", Unit.FLOP, 4e3),
        ("4Tmac", Unit.MAC, 4e12),
        ("4 Pmac", Unit.MAC, 4e15),
        ("25 M", Unit.COUNT, 25e6),
        ("25K", Unit.COUNT, 25e3),
        ("1_000", Unit.COUNT, 1000.0),
        ("1.5e3", Unit.COUNT, 1500.0),
        ("7", Unit.COUNT, 7.0),
        ("5 ms", Unit.SECOND, 5e-3),
        ("2ns", Unit.SECOND, 2e-9),
    ],
)
def test_a_limit_is_in_si_units(text: str, unit: Unit, value: float) -> None:
    limit = parse_limit(text, unit)
    assert limit == Limit(pytest.approx(value), False, False, text)
    assert parse_limit(f"+{text}", unit) == Limit(pytest.approx(value), True, False, f"+{text}")


def test_a_percentage_is_of_the_baseline_or_a_share_itself() -> None:
    assert parse_limit("+3%", Unit.SECOND) == Limit(0.03, True, True, "+3%")
    assert parse_limit("1%", Unit.SHARE) == Limit(0.01, False, False, "1%")
    assert parse_limit("+1%", Unit.SHARE) == Limit(0.01, True, False, "+1%")
    with pytest.raises(ValueError, match=r"has no [+]: a percentage is of the baseline"):
        parse_limit("3%", Unit.SECOND)


@pytest.mark.parametrize(
    ("text", "unit", "said"),
    [
        ("fast", Unit.SECOND, "'fast' is not a number with a unit, as in '2.5 ms' or '+3%'"),
        ("3 B", Unit.SECOND, "'3 B' has no unit of this kind, as in '2.5 ms' or '+3%'"),
        ("3", Unit.BYTE, "'3' has no unit of this kind, as in '400 MiB' or '+5%'"),
        ("1e999", Unit.COUNT, "'1e999' is not a finite number"),
        ("-3", Unit.COUNT, "'-3' is not a number with a unit, as in '25 M' or '+0%'"),
        ("3 J", Unit.SHARE, "'3 J' has no unit of this kind, as in '1%'"),
        ("3 x", Unit.FLOP, "'3 x' has no unit of this kind, as in '8.2 Gflop' or '+5%'"),
        ("3 x", Unit.MAC, "'3 x' has no unit of this kind, as in '4.1 Gmac' or '+5%'"),
        ("3 x", Unit.JOULE, "'3 x' has no unit of this kind, as in '310 mJ' or '+5%'"),
    ],
)
def test_what_is_no_limit_says_how_one_is_written(text: str, unit: Unit, said: str) -> None:
    with pytest.raises(ValueError, match=r"^'") as caught:
        parse_limit(text, unit)
    assert str(caught.value) == said
    assert scale("ms", Unit.WATT) is None


def test_the_highest_value_allowed() -> None:
    assert Limit(5.0, False, False, "").highest(None) == 5.0
    assert Limit(5.0, False, False, "").highest(9.0) == 5.0
    assert Limit(0.5, True, True, "").highest(8.0) == 12.0
    assert Limit(0.5, True, False, "").highest(8.0) == 8.5
    assert Limit(0.5, True, True, "").highest(None) is None
    assert written(0.125, Unit.SHARE) == "12.5 %"
    assert written(2e-3, Unit.SECOND, is_bound=True) == "≥ 2.00 ms"


LIKELY = "90 % of such changes are above +3 s"


@record
class Measured:
    """The figures of an entry."""

    figures: dict[Metric, Figure]


@record
class Known:
    """As much of a result as is judged again."""

    entry: Measured
    baseline: Measured
    findings: tuple[Any, ...] = ()


def test_what_kernels_exceed_is_found_and_shown_with_the_figure_of_the_analysis() -> None:
    old = Measured({Metric.TIME: Figure(10.0), Metric.ENERGY: Figure(3.0)})
    entry = Measured({Metric.TIME: Figure(10.5, low=9.0, high=12.0), Metric.FLOP: Figure(7.0)})
    difference: Any = SimpleNamespace(kernel_changes={Metric.TIME: 2.0, Metric.ENERGY: 1.0})
    seen: list[Measured] = []

    def judged(new: Any) -> Any:
        seen.append(new)
        value = new.figures[Metric.TIME].value
        relative = LimitExceeded(Outcome.FAIL, Metric.TIME, value, 10.0, 11.0, "+10%")
        absolute = LimitExceeded(Outcome.FAIL, Metric.TIME, value, 10.0, 11.0, "11 s")
        count = LimitExceeded(Outcome.FAIL, Metric.FLOP, 7.0, 6.0, 6.5, "+5%")
        return SimpleNamespace(findings=(relative, absolute, count))

    (result,) = hidden(cast(Any, Known(entry, old)), difference, judged)
    time = seen[0].figures[Metric.TIME]
    assert (time.value, time.low, time.high) == (12.0, 10.5, 13.5), "judged by its kernels"
    assert seen[0].figures[Metric.FLOP] == Figure(7.0)
    assert (result.value, result.text) == (10.5, "+10%"), "printed as the analysis has it"
    again = Known(entry, old, (result,))
    assert not [*hidden(cast(Any, again), difference, judged)]
    bare = Measured({Metric.TIME: Figure(10.5)})
    assert [*hidden(cast(Any, Known(bare, old)), difference, judged)]
    time = seen[-1].figures[Metric.TIME]
    assert (time.value, time.low, time.high) == (12.0, None, None)


@record
class Judged:
    """As much of a finding as is decided."""

    metric: Metric
    outcome: Outcome
    baseline: float | None
    limit: float
    reason: str
    is_relative: bool = True
    value: float = 15.0
    change: tuple[float, float] | None = None


@pytest.mark.parametrize(
    ("outcome", "reason", "surely", "low", "became", "why"),
    [
        (Outcome.WARN, UNDECIDED, 3.0, 2.5, Outcome.FAIL, ""),
        (Outcome.WARN, UNDECIDED, 3.0, 1.0, Outcome.FAIL, LIKELY),
        (Outcome.WARN, UNDECIDED, 2.0, 1.0, Outcome.WARN, UNDECIDED),
        (Outcome.FAIL, "", 1.0, 0.5, Outcome.WARN, UNDECIDED),
        (Outcome.PASS, "", 3.0, 2.5, Outcome.PASS, ""),
        (Outcome.WARN, "another", 3.0, 2.5, Outcome.WARN, "another"),
    ],
)
def test_a_finding_is_decided_by_the_difference(
    outcome: Outcome, reason: str, surely: float, low: float, became: Outcome, why: str
) -> None:
    finding = Judged(Metric.TIME, outcome, 10.0, 12.0, reason)
    ends = (low, 9.0)
    difference: Any = SimpleNamespace(
        intervals={Metric.TIME: ends},
        surely={Metric.TIME: surely},
        kernel_changes={Metric.TIME: 4.0},
    )
    result = decided(cast(Any, finding), difference)
    assert (result.outcome, result.reason, result.change) == (became, why, ends)
    absolute = Judged(Metric.TIME, outcome, 10.0, 12.0, reason, is_relative=False)
    assert decided(cast(Any, absolute), difference) is cast(Any, absolute)
    new = Judged(Metric.TIME, outcome, None, 12.0, reason)
    assert decided(cast(Any, new), difference) is cast(Any, new)
    kept = Judged(Metric.TIME, outcome, 10.0, 12.0, reason, value=11.0)
    if became is not Outcome.PASS and reason != "another":
        more = f"the changed kernels add +4 s{why and '; '}{why}"
        assert decided(cast(Any, kept), difference).reason == more
    other = Judged(Metric.ENERGY, outcome, 10.0, 12.0, reason)
    assert decided(cast(Any, other), difference) is cast(Any, other)


def test_a_size_that_no_model_has_is_said_with_a_guess() -> None:
    config: Any = SimpleNamespace(place=lambda line: f"perfc.toml:{line}")
    budget: Any = SimpleNamespace(dims_line=3)
    sizes = {f"m{i}.onnx": {"batch"} for i in range(5)}
    lacking = sorted(sizes)
    line = size_line(config, budget, "bach", sizes, lacking, is_error=True)
    assert line == (
        "perfc.toml:3: dims.bach is not a symbol of any model of the budget "
        "(their symbols: batch; did you mean batch?)"
    )
    line = size_line(config, budget, "x", {"m": set()}, ["m"], is_error=True)
    assert line.endswith("(their symbols: none)")
    line = size_line(config, budget, "x", sizes, lacking, is_error=False)
    assert line.endswith(
        "5 of 5 models, whose sizes are all given: m0.onnx, m1.onnx, m2.onnx and 2 more"
    )
    line = size_line(config, budget, "x", sizes, lacking[:SHOWN], is_error=False)
    assert line.endswith("3 of 5 models, whose sizes are all given: m0.onnx, m1.onnx, m2.onnx")
    assert (guess("zzz", ["batch"]), guess("seg", ["seq"])) == ("", "; did you mean seq?")
