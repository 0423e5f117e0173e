"""The comment on a pull request, whole and by hand; when it is due, and how long it may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfc.cli import run

SCHEMA = "perfc-check/1"
MARKER = "<!-- perfc-comment -->"
LONGEST_CHARACTERS = 65_536
"""Maximum length of a comment on GitHub."""


@pytest.fixture
def render(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    """A function that returns the comment of a check: its text, or the error."""

    def rendered(made: object, policy: str = "always") -> str:
        path = tmp_path / "check.json"
        path.write_text(made if isinstance(made, str) else json.dumps(made), encoding="utf-8")
        code = run(["check", "--comment", str(path), "--policy", policy])
        out, err = capsys.readouterr()
        assert (code, bool(err)) in ((0, False), (2, True))
        return err.replace(f"{path}: ", "") or out

    return rendered


def figure(
    metric: str, value: object, baseline: object = None, **more: object
) -> dict[str, object]:
    return {"metric": metric, "value": value, "baseline": baseline, "is_bound": False, **more}


def result(model: str, standing: str = "same", **more: object) -> dict[str, object]:
    return {
        "model": model,
        "setting": "a100",
        "standing": standing,
        "outcome": "pass",
        "figures": [],
        "findings": [],
        "why": "",
        "notes": [],
        **more,
    }


def check(*results: object, **more: object) -> dict[str, Any]:
    return {
        "schema": SCHEMA,
        "perfc": "0.3.0",
        "outcome": "pass",
        "results": list(results),
        "errors": [],
        "notes": [],
        **more,
    }


CHANGED = result(
    "a.onnx",
    "changed",
    outcome="fail",
    figures=[
        figure("time", 3e-3, 2e-3),
        figure("flop", 1e9, 1e9 * (1 + 9e-6)),
        figure("traffic", 2048, 1024, baseline_is_bound=True),
        figure("parameters", 5, 0),
        figure("peak_memory", 4096, None),
    ],
    findings=[
        {"outcome": "fail", "message": "time *3 ms*"},
        {"outcome": "warn", "message": "traffic"},
    ],
    why="conv1",
    notes=["one", "two"],
)


def test_a_comment_has_a_headline_limits_tables_and_reasons(render: Any) -> None:
    new = result("n.onnx", "new", figures=[figure("time", 1e-3), figure("flop", 5, is_bound=True)])
    removed = [result(f"r{i:02d}.onnx", "removed") for i in range(11)]
    text = render(check(CHANGED, new, *removed, result("s.onnx"), notes=["cached"]))
    assert text.splitlines() == [
        MARKER,
        "### perfc: 1 model over budget",
        "",
        "- :x: **a.onnx**: time \\*3 ms\\*",
        "- :warning: **a.onnx**: traffic",
        "",
        "| model | metric | before | after | change |",
        "| --- | --- | ---: | ---: | ---: |",
        "| a.onnx (a100) | time | 2.00 ms | 3.00 ms | +1.00 ms (+50.0 %) |",
        "|  | traffic | ≥ 1.00 KiB | 2.00 KiB | +1.00 KiB (+100 %) |",
        "|  | parameters | 0 | 5 | +5 (—) |",
        "",
        "<details><summary>why</summary>",
        "",
        "- **a.onnx**: conv1; one; two",
        "",
        "</details>",
        "",
        "| new model | time | flop | parameters | peak_memory |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| n.onnx (a100) | 1.00 ms | ≥ 5 flop | — | — |",
        "",
        f"Removed: {', '.join(f'r{i:02d}.onnx' for i in range(10))} and 1 more.",
        "",
        "<sub>1 model unchanged. cached. perfc 0.3.0</sub>",
    ]


@pytest.mark.parametrize(
    ("made", "headline"),
    [
        (check(errors=["x"]), "perfc: not everything could be checked"),
        (check(CHANGED, CHANGED), "perfc: 1 model over budget"),
        (check(CHANGED, result("b", "changed", outcome="fail")), "perfc: 2 models over budget"),
        (check(result("b"), result("c")), "perfc: no model costs more or less"),
        (
            check(result("b", "new"), result("b", "changed")),
            "perfc: budgets met, 1 model to look at",
        ),
    ],
)
def test_the_headline_is_the_verdict(render: Any, made: Any, headline: str) -> None:
    assert f"\n### {headline}\n" in render(made)


def test_ten_models_are_named_and_no_more_said_of_them(render: Any) -> None:
    text = render(check(*(result(f"r{i}", "skipped") for i in range(10))))
    assert "Skipped: r0, r1, r2, r3, r4, r5, r6, r7, r8, r9.\n" in text
    assert "<sub>0 models unchanged. perfc 0.3.0</sub>" in text
    assert "not checked: broken" in render(check(errors=["broken"]))


@pytest.mark.parametrize(
    ("made", "always", "on_change", "on_fail"),
    [
        (check(), True, False, False),
        (check(result("a")), True, False, False),
        (check(outcome="fail"), True, True, True),
        (check(errors=["x"]), True, True, True),
        (check(result("a", "changed")), True, True, False),
        (check(result("a", "new")), True, True, False),
        (check(result("a", "removed")), True, True, False),
        (check(result("a", "skipped")), True, False, False),
        (check(result("a", findings=[{}])), True, True, False),
    ],
)
def test_a_comment_is_due_by_its_policy(
    render: Any, made: Any, always: bool, on_change: bool, on_fail: bool
) -> None:
    found = [bool(render(made, p)) for p in ("always", "on-change", "on-fail")]
    assert found == [always, on_change, on_fail]


def test_a_comment_is_cut_at_a_line_where_it_would_be_too_long(render: Any) -> None:
    errors = ["e" * 100] * 700
    text = render(check(errors=errors))
    assert len(text) <= LONGEST_CHARACTERS + 100
    assert text.endswith(
        "\n\n*Cut here: too long for a comment. Run `perfc check` for all of it.*\n"
    )
    kept = text.partition("\n\n*Cut")[0].splitlines()
    assert kept[-1] == f"- :x: not checked: {'e' * 100}"
    assert "*Cut here" not in render(check(errors=errors[:400]))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("{}", f"schema None is not {SCHEMA} (write it with perfc check --output-format json)"),
        ("[]", f"schema None is not {SCHEMA} (write it with perfc check --output-format json)"),
        ("{", "not JSON"),
        (json.dumps(" " * (16 << 20)), "more than 16"),
        *(
            (json.dumps({k: v for k, v in check().items() if k != key}), "damaged: ")
            for key in ("results", "errors", "notes", "perfc")
        ),
        (json.dumps({**check(), "results": 1}), "damaged: results is not a list"),
    ],
)
def test_what_no_check_wrote_is_one_line(render: Any, content: str, said: str) -> None:
    assert said in render(content)


def test_a_lower_bound_is_marked_on_the_side_it_is_on(render: Any) -> None:
    after = result("a.onnx", "changed", figures=[figure("time", 3e-3, 2e-3, is_bound=True)])
    before = result(
        "a.onnx", "changed", figures=[figure("time", 3e-3, 2e-3, baseline_is_bound=True)]
    )
    (line,) = [x for x in render(check(after)).splitlines() if "| time |" in x]
    assert "| 2.00 ms | ≥ 3.00 ms |" in line
    (line,) = [x for x in render(check(before)).splitlines() if "| time |" in x]
    assert "| ≥ 2.00 ms | 3.00 ms |" in line
