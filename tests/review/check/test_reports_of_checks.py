"""What is said of a check: comments, formats, errors."""

from __future__ import annotations

import csv
import io
import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import jsonschema
import pytest

from .projects import BUDGETS, put, said


def test_a_comment_says_what_a_check_found(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    said(capsys, "check", "--output-format", "json", "-o", "same.json")
    assert said(capsys, "check", "--comment", "same.json")[1] == "", (
        "nothing changed: nothing to say"
    )
    _, out, _ = said(capsys, "check", "--comment", "same.json", "--policy", "always")
    assert out.startswith("<!-- perfc-comment -->")
    put(project, "a", 64)
    put(project, "c", 16)
    said(capsys, "check", "--output-format", "json", "-o", "worse.json")
    _, out, _ = said(capsys, "check", "--comment", "worse.json", "--policy", "on-fail")
    assert out.startswith("<!-- perfc-comment -->")
    assert "models/a.onnx" in out
    assert "new model" in out
    (project / "odd.json").write_text("{}")
    code, _, err = said(capsys, "check", "--comment", "odd.json")
    assert (code, err.count("\n")) == (2, 1)


def test_names_cannot_write_markup(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "<img src=x>`|%0A\n::error::x @org [a](b)"
    put(project, name, 16)
    budgets = BUDGETS.replace("[[budget]]", '[[budget]]\nparameters = { max = "1" }')
    (project / "perfc.toml").write_text(budgets)
    assert said(capsys, "check", "--output-format", "json", "-o", "c.json")[0] == 1
    for policy in ("on-fail", "on-change"):
        _, out, _ = said(capsys, "check", "--comment", "c.json", "--policy", policy)
        assert out.count("&lt;img src=x&gt;\\`\\|%0A") == 2, "in the limits and among the new"
        assert "<img" not in out
        assert "@org" not in out
        assert not any(line.startswith("::") for line in out.splitlines())
    _, out, _ = said(capsys, "check", "--output-format", "github")
    lines = out.splitlines()
    assert len(lines) == 3, "one for each model, whatever their names"
    assert all(line.startswith("::error file=") for line in lines)
    assert "<img src=x>`|%250A%0A%3A%3Aerror%3A%3Ax @org [a](b)" in out
    _, out, _ = said(capsys, "check")
    assert "<img src=x>" in out
    assert not any(line.lstrip().startswith("::") for line in out.splitlines())


def test_every_format_names_the_same_findings(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    put(project, "a", 64)
    budgets = BUDGETS.replace("[[budget]]", '[[budget]]\ntraffic = { warn = "+0%" }')
    (project / "perfc.toml").write_text(budgets)

    def shown(form: str) -> str:
        code, out, _ = said(capsys, "check", "--output-format", form)
        assert code == 1
        return out

    (project / "check.json").write_text(shown("json"))
    tree = json.loads(shown("json"))
    messages = [f["message"] for r in tree["results"] for f in r["findings"]]
    assert len(messages) == 2, "of two limits on one metric the worse is said"
    posted = said(capsys, "check", "--comment", "check.json")[1]
    for text in (shown("text"), shown("markdown"), posted):
        plain = " ".join(text.replace("-&gt;", "->").split())
        assert all(" ".join(m.split()) in plain for m in messages)
    lines = [line.replace("%25", "%") for line in shown("github").splitlines()]
    assert [line.rpartition("::")[2] for line in lines] == messages
    quality = json.loads(shown("gitlab"))
    assert [q["description"].partition(": ")[2] for q in quality] == messages
    junit = ET.fromstring(shown("junit"))
    assert [e.get("message") for e in junit.iter("failure")] == messages[:1]
    assert f"warning: {messages[1]}" in junit.findtext(".//system-out", "")
    log = json.loads(shown("sarif"))
    schema = Path(__file__).parents[2] / "fixtures" / "sarif" / "sarif-2.1.0.schema.json"
    jsonschema.validate(log, json.loads(schema.read_text(encoding="utf-8")))
    results = log["runs"][0]["results"]
    assert [r["message"]["text"].partition(": ")[2] for r in results] == messages
    assert [r["level"] for r in results] == ["error", "warning"]


def test_every_format_has_the_same_numbers(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = list(csv.DictReader(io.StringIO(said(capsys, "check", "--output-format", "csv")[1])))
    tree = json.loads(said(capsys, "check", "--output-format", "json")[1])
    figures = [(r, f) for r in tree["results"] for f in r["figures"]]
    assert said(capsys, "check", "--write-baseline")[0] == 0
    written = (project / "perfc.lock").read_text()
    for row, (r, f) in zip(rows, figures, strict=True):
        assert (row["model"], row["metric"]) == (r["model"], f["metric"])
        assert float(row["value"]) == f["value"]
        assert row["low"] == ("" if f["low"] is None else str(f["low"]))
        if f["unit"] in ("flop", "mac", "bytes", "count"):
            assert f" = {f['value']:.0f}\n" in written


def test_a_cache_that_lies_or_cannot_be_written_is_no_harm(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    files = [*(project / ".perfc_cache").glob("*.json")]
    kept = [path.read_text() for path in files]
    for lie in ("[" * 100_000, "-1", '"x"', "1e999"):
        for path, content in zip(files, kept, strict=True):
            is_text = lie.startswith("[")
            path.write_text(lie if is_text else re.sub(r'("flop": \[)\d+', rf"\g<1>{lie}", content))
        code, out, _ = said(capsys, "check")
        assert code == 0
        assert "2 same; 2 analyzed" in out
    assert (project / ".perfc_cache" / ".gitignore").read_text() == "*\n"


def test_checking_imports_no_heavy_framework(project: Path) -> None:
    code = (
        "import sys\nfrom perfc.cli import run\nrun(['check'])\n"
        "bad = {'torch', 'onnx', 'xgboost', 'pandas', 'pyarrow'} & set(sys.modules)\n"
        "sys.exit(f'imported {bad}' if bad else 0)"
    )
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=project,
        env=os.environ | {"PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["nothere.onnx", "models/nothere.onnx"])
def test_a_name_that_is_not_there_is_an_error(
    name: str, project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, "check", name)
    assert code == 2
    assert re.search(rf"error: {name}: [Nn]o such file", err)
    assert "all budgets met" not in out


def test_sizes_that_a_model_does_not_have_are_not_said_of_it(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = project / "perfc.toml"
    config.write_text(BUDGETS.replace("{ n = 4 }", "{ n = 4, rows = 2 }"))
    put(project, "b", 16, batch="rows")
    said(capsys, "check", "--write-baseline")
    _, out, _ = said(capsys, "check", "--output-format", "json")
    a, b = json.loads(out)["results"]
    assert a["setting"].endswith("ort, n=4")
    assert b["setting"].endswith("ort, rows=2")
    config.write_text(BUDGETS.replace("dims = { n = 4 }", ""))
    _, out, _ = said(capsys, "check", "--output-format", "json")
    settings = {r["setting"] for r in json.loads(out)["results"] if r["standing"] == "new"}
    assert {s.rpartition(", ")[2] for s in settings} == {"batch=1 (assumed)"}


def test_why_is_told_whatever_sizes_the_budget_has(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = project / "perfc.toml"
    config.write_text(BUDGETS.replace("{ n = 4 }", "{ n = 4, rows = 2 }"))
    put(project, "b", 16, batch="rows")
    said(capsys, "check", "--write-baseline")
    identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
    for args in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "base"]):
        subprocess.run(["git", *args], check=True, cwd=project)
    put(project, "a", 64)
    _, out, _ = said(capsys, "check", "--why", "--output-format", "json")
    assert "conv1" in json.loads(out)["results"][0]["why"]


def test_no_output_depends_on_where_the_project_is(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    said(capsys, "check", "--write-baseline")
    put(project, "a", 64)
    for form in ("text", "json", "csv", "markdown", "github", "gitlab", "junit"):
        assert str(project) not in said(capsys, "check", "--output-format", form)[1], form
    assert str(project) not in said(capsys, "check", "--show-baseline")[1]


def test_a_baseline_of_thousands_of_models_reads_back(
    project: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (project / "models/b.onnx").unlink()
    assert said(capsys, "check", "--write-baseline")[0] == 0
    head, table = (project / "perfc.lock").read_text().split("[[model]]")
    names = [f"models/{i:04}.onnx" for i in range(3_000)]
    tables = [f"[[model]]{table.replace('models/a.onnx', name)}" for name in names]
    (project / "perfc.lock").write_text(head + "\n".join(tables), encoding="utf-8")
    assert (project / "perfc.lock").stat().st_size > 1 << 20
    out = said(capsys, "check", "--show-baseline", "--output-format", "json")[1]
    assert [m["path"] for m in json.loads(out)["models"]] == names
