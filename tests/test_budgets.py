"""The script that fails above a budget of time does fail, and passes below."""

from __future__ import annotations

import pytest

from benchmarks import budgets


@pytest.mark.parametrize(("factor", "code", "verdict"), [("1e-9", 1, "over"), ("1e9", 0, "within")])
def test_a_command_over_its_budget_fails(
    factor: str, code: int, verdict: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--only", "import", "--repeats", "1", "--factor", factor]
    assert budgets.main(arguments) == code
    assert f"s, {verdict} its budget" in capsys.readouterr().out


def test_each_budget_is_of_a_command_that_runs() -> None:
    for budget in budgets.BUDGETS:
        assert budgets.processor_s(budget.arguments) > 0
