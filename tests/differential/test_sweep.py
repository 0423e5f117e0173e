from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import pytest

from tests.oracles import sweep, sweep_cases
from tests.oracles.sweep_cases.build import Case
from tests.oracles.sweep_runtime import Truth, truths
from tests.oracles.truth import Judgement, Symbol, Tensor, Verdict, judge_all


def chosen(every: int) -> Iterator[Case]:
    """The first case of each operator, and every so many of the others."""
    met = set()
    for i, case in enumerate(sweep_cases.cases(scale=0.2)):
        if case.op not in met or i % every == 0:
            met.add(case.op)
            yield case


@pytest.fixture(scope="module")
def executed() -> list[tuple[Case, Truth]]:
    if sys.platform == "win32" and os.environ.get("CI"):
        pytest.skip("the runtime's worker needs a POSIX pipe")
    return [(c, t) for c, t in truths(chosen(every=6), None) if t["by"]]


def test_types_and_bytes_agree_with_what_a_runtime_computes(
    executed: list[tuple[Case, Truth]],
) -> None:
    assert len(executed) > 400
    bad = []
    for case, truth in executed:
        found: dict[str, Judgement] = sweep.judge_case("perfc", case, truth)
        for name, j in found.items():
            if j.verdict in (Verdict.WRONG, Verdict.FAILED):
                bad.append(f"{case.id} {name}: {j.why}")
    assert bad == []


def test_few_answers_stay_open(executed: list[tuple[Case, Truth]]) -> None:
    verdicts = [sweep.worst(sweep.judge_case("perfc", c, t)).verdict for c, t in executed]
    assert verdicts.count(Verdict.COMPLETE) >= 0.94 * len(verdicts)


def test_a_case_is_the_same_for_the_same_seed() -> None:
    first, again = (
        [c.model.SerializeToString(deterministic=True) for c in sweep_cases.cases(3, "chains.pad")]
        for _ in range(2)
    )
    other = [
        c.model.SerializeToString(deterministic=True) for c in sweep_cases.cases(4, "chains.pad")
    ]
    assert first
    assert first == again
    assert first != other


def test_one_symbol_cannot_be_two_numbers() -> None:
    s = Symbol("u1", frozenset({"u1"}), lambda env: env["u1"])
    truth = {"y": Tensor(1, (2, 3))}
    assert judge_all({"y": Tensor(1, (s, s))}, truth)["y"].verdict is Verdict.WRONG
    assert judge_all({"y": Tensor(1, (s, 3))}, truth)["y"].verdict is Verdict.BOUNDED


def test_a_symbol_outside_its_own_limits_is_wrong() -> None:
    s = Symbol("u1", frozenset({"u1"}), lambda env: env["u1"], 0, 4)
    assert judge_all({"y": Tensor(1, (s,))}, {"y": Tensor(1, (5,))})["y"].verdict is Verdict.WRONG
