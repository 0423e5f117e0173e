"""Figures against limits and baselines: what fails, what warns, and why, of one file each."""

from __future__ import annotations

import json
import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from .projects import said

HEAD = '[[budget]]\nmodel = "models/a.onnx"\ntarget = "a100"\ndims = { n = 4 }\n'
OWN = {"digest": "0123456789abcdef"}
"""A baseline of another model: what differs is the model's own."""
Lock = dict[str, Any]
"""The table of a model in a baseline."""


@pytest.fixture
def own(project: Path, capsys: pytest.CaptureFixture[str]) -> Lock:
    """The figures of the model, which stand in the baseline."""
    (project / "models/b.onnx").unlink()
    (project / "perfc.toml").write_text(HEAD)
    assert said(capsys, "check", "--write-baseline")[0] == 0
    return tomllib.loads((project / "perfc.lock").read_text())["model"][0]  # type: ignore[no-any-return]


def judged(capsys: pytest.CaptureFixture[str], limits: str, old: Lock, /, **lines: object) -> Any:
    """The JSON of a check of limits against a baseline with these lines."""
    Path("perfc.toml").write_text("".join(f"{HEAD}{line}\n" for line in limits.split("; ")))
    head = Path("perfc.lock").read_text().partition("[[model]]")[0]
    text = "".join(
        f"{key} = {'{ n = 4 }' if isinstance(value, dict) else json.dumps(value)}\n"
        for key, value in {**old, **lines}.items()
        if value is not None
    )
    Path("perfc.lock").write_text(f"{head}[[model]]\n{text}")
    code, out, _ = said(capsys, "check", "--output-format", "json")
    (result,) = json.loads(out)["results"]
    assert code == (result["outcome"] == "fail")
    return result


def found(result: Any) -> list[tuple[str, str]]:
    return [(f["outcome"], f["reason"]) for f in result["findings"]]


UNCHANGED = "the model did not change: perfc or the target did (perfc check --write-baseline)"
BOUND = "the baseline is only a lower bound (perfc check --write-baseline)"
UNDECIDED = "the limit is within the 90 % interval of the difference"
BARE = "the baseline is an estimate without an interval"


@pytest.mark.parametrize(
    ("limits", "factor", "lines", "wanted"),
    [
        ('flop = "+10%"', 1 / 1.09, OWN, []),
        ('flop = "+10%"', 1 / 1.2, OWN, [("fail", "")]),
        ('flop = { warn = "+10%" }', 1 / 1.2, OWN, [("warn", "")]),
        ('flop = "+10%"', 1 / 1.2, {}, [("warn", UNCHANGED)]),
        ('flop = { max = "50 flop" }', 1 / 1.2, {}, [("fail", "")]),
        ('flop = "+10%"', 1 / 1.2, {**OWN, "lower_bounds": ["flop"]}, [("warn", BOUND)]),
        ('flop = { max = "1 flop" }', 1, {"lower_bounds": ["flop"]}, [("fail", "")]),
        # of each kind of limit on a figure the worst finding is kept
        ('flop = { max = "1" }; flop = { warn = "2" }', 1, {}, [("fail", "")]),
        ('flop = { warn = "2" }; flop = "+1%"', 0.5, OWN, [("fail", ""), ("warn", "")]),
    ],
)
def test_a_count_fails_above_its_limit_if_the_model_is_why(
    own: Lock,
    capsys: pytest.CaptureFixture[str],
    limits: str,
    factor: float,
    lines: Lock,
    wanted: list[tuple[str, str]],
) -> None:
    old = {**own, "flop": round(own["flop"] * factor), **lines}
    assert found(judged(capsys, limits, old)) == wanted


@pytest.mark.parametrize(
    ("limit", "factor", "interval", "wanted"),
    [
        # the ends that face each other matter: the lower one of the model, the upper of the other
        ("+10%", 0.99 / 1.1, 0.0, [("fail", "")]),
        ("+10%", 1.01 / 1.1, 0.0, [("warn", UNDECIDED)]),
        ("+10%", 0.99 / 1.1, 0.3, [("warn", UNDECIDED)]),
        ("+10%", 0.5, None, [("warn", BARE)]),
        ("+900%", 0.5, 0.0, []),
    ],
)
def test_an_estimate_fails_where_all_of_its_interval_is_above_what_is_allowed(
    own: Lock,
    capsys: pytest.CaptureFixture[str],
    limit: str,
    factor: float,
    interval: float | None,
    wanted: list[tuple[str, str]],
) -> None:
    base = own["time_s_interval"][0] * factor
    ends = None if interval is None else [base * (1 - interval), base * (1 + interval)]
    old = {**own, **OWN, "time_s": base, "time_s_interval": ends}
    assert found(judged(capsys, f'time = "{limit}"', old)) == wanted


@pytest.mark.parametrize(
    ("factor", "reason"), [(0.99, ""), (1.01, "the limit is within the 90 % interval")]
)
def test_an_absolute_limit_is_held_against_the_interval_alone(
    own: Lock, capsys: pytest.CaptureFixture[str], factor: float, reason: str
) -> None:
    limit_us = own["time_s_interval"][0] * factor * 1e6
    outcome = "warn" if reason else "fail"
    assert found(judged(capsys, f'time = {{ max = "{limit_us} us" }}', own)) == [(outcome, reason)]


def test_a_case_stands_where_its_figures_do(own: Lock, capsys: pytest.CaptureFixture[str]) -> None:
    same = judged(capsys, 'flop = "+1%"', own, target_digest="x")
    assert (same["standing"], same["notes"]) == ("same", [])
    changed = judged(capsys, 'flop = "+1%"', own, flop=own["flop"] - 1)
    assert (changed["standing"], changed["outcome"]) == ("changed", "pass")
    assert changed["notes"] == ["the model is the same as in the baseline"]
    other = judged(capsys, 'flop = "+1%"', own, flop=own["flop"] - 1, target_digest="x", **OWN)
    assert other["notes"] == ["the target's file changed"]
    lock = Path("perfc.lock").read_text()
    Path("perfc.lock").write_text(lock.replace('digest = "', 'digest = "0', 1))
    _, out, _ = said(capsys, "check", "--output-format", "json")
    assert "the baseline is from another version of perfc" in json.loads(out)["results"][0]["notes"]


@settings(
    deadline=None, max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    st.floats(0.5, 2).map(lambda x: round(x, 3)),
    st.integers(0, 60),
    st.sampled_from(["flop", "traffic", "parameters", "peak_memory", "kernels"]),
)
def test_a_growth_fails_if_it_is_more_than_allowed(
    own: Lock,
    capsys: pytest.CaptureFixture[str],
    factor: float,
    percent: int,
    metric: str,
) -> None:
    key = f"{metric}_bytes" if metric in ("traffic", "peak_memory") else metric
    old, new = max(round(own[key] * factor), 1), own[key]
    result = judged(capsys, f'{metric} = "+{percent}%"', own, **{key: old}, **OWN)
    assert result["standing"] == ("same" if old == new else "changed")
    if not math.isclose(new, old * (1 + percent / 100), rel_tol=1e-6):
        assert found(result) == ([("fail", "")] if new > old * (1 + percent / 100) else [])
