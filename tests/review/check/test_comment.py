"""The comment on a pull request, whole and by hand; when it is due, and how long it may be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfc.errors import ParseError
from perfc.review.check import comment
from perfc.review.check.comment import (
    LONGEST_CHARACTERS,
    MARKER,
    CommentPolicy,
    is_due,
    load,
    number,
    render,
)
from perfc.review.check.views import SCHEMA


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


def test_a_comment_has_a_headline_limits_tables_and_reasons() -> None:
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
def test_the_headline_is_the_verdict(made: Any, headline: str) -> None:
    assert f"\n### {headline}\n" in render(made)


def test_ten_models_are_named_and_no_more_said_of_them() -> None:
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
    made: Any, always: bool, on_change: bool, on_fail: bool
) -> None:
    found = [
        is_due(made, p)
        for p in (CommentPolicy.ALWAYS, CommentPolicy.ON_CHANGE, CommentPolicy.ON_FAIL)
    ]
    assert found == [always, on_change, on_fail]


def test_a_comment_is_cut_at_a_line_where_it_would_be_too_long() -> None:
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
        ('{"schema": "x"}', f"schema 'x' is not {SCHEMA}"),
        ("{", "not JSON"),
        (None, "No such file or directory"),
    ],
)
def test_what_no_check_wrote_is_one_line(content: str | None, said: str, tmp_path: Path) -> None:
    path = tmp_path / "check.json"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(ParseError) as caught:
        load(path)
    assert str(caught.value).startswith(f"{path}: {said}")


@pytest.mark.parametrize("key", ["results", "errors", "notes", "perfc"])
def test_a_check_that_lacks_something_is_damaged(key: str) -> None:
    made = check()
    del made[key]
    with pytest.raises(ParseError, match=r"damaged: .*write it again with perfc check"):
        render(made)
    with pytest.raises(ParseError, match="damaged: results is not a list"):
        render({**check(), "results": 1})


def test_a_file_is_read_to_a_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "check.json"
    path.write_text(json.dumps(check()), encoding="utf-8")
    assert load(path) == check()
    monkeypatch.setattr(comment, "LARGEST_BYTES", path.stat().st_size - 1)
    with pytest.raises(ParseError, match="more than"):
        load(path)
    assert (number(None), number("1"), number(2.5)) == (None, None, 2.5)


def test_a_lower_bound_is_marked_on_the_side_it_is_on() -> None:
    after = result("a.onnx", "changed", figures=[figure("time", 3e-3, 2e-3, is_bound=True)])
    before = result(
        "a.onnx", "changed", figures=[figure("time", 3e-3, 2e-3, baseline_is_bound=True)]
    )
    (line,) = [x for x in render(check(after)).splitlines() if "| time |" in x]
    assert "| 2.00 ms | ≥ 3.00 ms |" in line
    (line,) = [x for x in render(check(before)).splitlines() if "| time |" in x]
    assert "| ≥ 2.00 ms | 3.00 ms |" in line
