"""``perfc lint``: selection, explanations, suppressions, formats, exit codes."""

from __future__ import annotations

import csv
import io
import json
import re
import subprocess
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import jsonschema
import onnx
import pytest

from perfc.cli import run
from perfc.review.lint.formats.rule_pages import page
from tests.review.lint.models import blemished, model, node

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "tests" / "fixtures" / "sarif"
FORMATS = ("text", "json", "csv", "markdown", "sarif", "github", "gitlab", "junit")


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    onnx.save(blemished(), tmp_path / "m.onnx")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_findings_exit_with_one_and_none_with_zero(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["lint", "m.onnx"]) == 1
    assert run(["lint", "m.onnx", "--exit-zero"]) == 0
    capsys.readouterr()
    assert run(["lint", "m.onnx", "--select", "PF402"]) == 0
    assert capsys.readouterr().out.startswith("All checks passed")


def outputs(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, str]:
    result = {}
    for form in FORMATS:
        run(["lint", "m.onnx", "--min-gain", "0", "--output-format", form, *arguments])
        result[form] = capsys.readouterr().out
    return result


def test_every_format_has_the_same_findings(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = outputs(capsys)
    expected = json.loads(out["json"])["files"][0]["findings"]
    codes = sorted(f["code"] for f in expected)
    assert len(set(codes)) > 7
    sarif: dict[str, Any] = json.loads(out["sarif"])["runs"][0]
    assert sorted(r["ruleId"] for r in sarif["results"]) == codes
    lines = out["github"].splitlines()
    assert sorted(s.partition("title=perfc ")[2][:5] for s in lines) == codes
    gitlab = json.loads(out["gitlab"])
    assert sorted(r["description"][:5] for r in gitlab) == codes
    assert all(
        f"m.onnx: {f['nodes'][0]}: {f['code']}" in out["text"]
        for f in expected
        if f["nodes"] and f["code"] != "PF106"
    )
    assert {c for c in codes if c in out["text"]} == set(codes)
    rows = list(csv.DictReader(io.StringIO(out["csv"])))
    for row, f in zip(rows, expected, strict=True):
        assert (row["code"], row["fingerprint"]) == (f["code"], f["fingerprint"])
        assert row["fixable"] == str(f["fixable"]).lower()
        gain = f["gain"] or {"time_s": None, "floor_s": None, "share": None}
        assert row["gain_s"] == ("" if gain["time_s"] is None else str(gain["time_s"]))
        assert row["gain_floor_s"] == ("" if gain["floor_s"] is None else str(gain["floor_s"]))
    for result, f in zip(sarif["results"], expected, strict=True):
        assert result["properties"]["gain"] == f["gain"]
    assert set(re.findall(r"^\| (PF\d{3})", out["markdown"], re.MULTILINE)) == set(codes)
    failure = ET.fromstring(out["junit"]).findtext(".//failure")
    assert failure is not None
    assert sorted(line[:5] for line in failure.splitlines()) == codes


def test_sarif_is_what_github_accepts(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = json.loads(outputs(capsys)["sarif"])
    assert log["version"] == "2.1.0"
    (sarif_run,) = log["runs"]
    rules = sarif_run["tool"]["driver"]["rules"]
    prints = set()
    for result in sarif_run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert result["level"] in ("warning", "note")
        (location,) = result["locations"]
        physical = location["physicalLocation"]
        assert physical["artifactLocation"]["uri"] == "m.onnx"
        assert physical["region"]["startLine"] == 1
        prints.update(result["partialFingerprints"].values())
    assert len(prints) == len(sarif_run["results"])
    assert log == json.loads(outputs(capsys)["sarif"]), "fingerprints are stable"


def test_sarif_keeps_to_its_schema(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    schema = json.loads((FIXTURES / "sarif-2.1.0.schema.json").read_text(encoding="utf-8"))
    (folder / "odd.onnx").write_bytes(b"no model")
    (folder / "perfc.toml").write_text('[lint.per-file-ignores]\n"m.onnx" = ["PF405"]\n')
    for paths in (["m.onnx"], [str(folder / "m.onnx")], ["m.onnx", "odd.onnx"]):
        run(["lint", *paths, "--min-gain", "0", "--output-format", "sarif"])
        log = json.loads(capsys.readouterr().out)
        jsonschema.Draft202012Validator(schema).validate(log)
        uris = {
            r["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
            for r in log["runs"][0]["results"]
        }
        assert uris == {"m.onnx", "perfc.toml"}
        assert log["runs"][0]["invocations"][0]["executionSuccessful"] == ("odd.onnx" not in paths)


def test_a_file_that_cannot_be_read_stops_no_other(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "odd.onnx").write_bytes(b"no model")
    for form in FORMATS:
        code = run(["lint", "odd.onnx", "m.onnx", "--output-format", form])
        result = capsys.readouterr()
        assert code == 2
        assert result.err.startswith("error: odd.onnx: ")
        assert result.err.count("\n") == 1
        assert "PF101" in result.out, form
        assert form == "text" or "odd.onnx" in result.out, form
    assert run(["lint", "odd.onnx", "m.onnx", "--fix"]) == 2
    assert "wrote m.fixed.onnx" in capsys.readouterr().out


def test_gains_are_never_negative_and_floors_never_above_them(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for finding in json.loads(outputs(capsys)["json"])["files"][0]["findings"]:
        if finding["gain"] is not None:
            assert 0 <= finding["gain"]["floor_s"] <= finding["gain"]["time_s"]
            assert 0 <= finding["gain"]["share"] <= 1


@pytest.mark.parametrize("name", ["perfc.toml", "pyproject.toml"])
def test_settings_are_found_upwards(
    folder: Path, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table = "lint" if name == "perfc.toml" else "tool.perfc.lint"
    (folder / name).write_text(f'[{table}]\nselect = ["PF404"]\n')
    (folder / "deeper").mkdir()
    monkeypatch.chdir(folder / "deeper")
    run(["lint", "../m.onnx", "--output-format", "json"])
    result = json.loads(capsys.readouterr().out)["files"][0]["findings"]
    assert {f["code"] for f in result} == {"PF404"}


def test_suppressions_hide_and_unused_ones_are_reported(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "perfc.toml").write_text(
        "[lint.per-file-ignores]\n"
        '"*.onnx" = ["PF404", "PF301"]\n'
        '"m.onnx::back" = ["PF101"]\n'
        '"other/*.onnx" = ["PF1"]\n'
    )
    run(["lint", "m.onnx", "--output-format", "json"])
    out = json.loads(capsys.readouterr().out)
    codes = {f["code"] for f in out["files"][0]["findings"]}
    assert not codes & {"PF404", "PF101"}
    assert out["files"][0]["suppressed"] == 2
    (unused,) = out["configuration"]
    assert unused["code"] == "PF990"
    assert "PF301 is ignored for '*.onnx' (line 2)" in unused["message"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[lint]\nselct = []\n", "perfc.toml:2: lint.selct: no such key"),
        ('[lint]\n\nselect = ["PF7"]\n', "perfc.toml:3: lint.select: no rule 'PF7'"),
        ('[lint]\nignore = "PF1"\n', "lint.ignore: not a list of codes"),
        ("[lint]\nmin-gain = 3\n", "perfc.toml:2: lint.min-gain: not a share"),
        ('[lint]\nmin-gain = "lots"\n', "lint.min-gain: 'lots' is no share"),
        ("lint = 3\n", "lint is not a table"),
        ("[lint\n", "perfc.toml:1: not valid TOML"),
    ],
)
def test_a_bad_configuration_gives_one_line_with_the_key(
    folder: Path, text: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "perfc.toml").write_text(text)
    assert run(["lint", "m.onnx"]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert says in err
    assert run(["lint", "m.onnx", "--isolated"]) == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["missing.onnx"], "missing.onnx"),
        (["bad.onnx"], "bad.onnx"),
        (["m.onnx", "--select", "XX1"], "no rule 'XX1'"),
        (["m.onnx", "--min-gain", "-1"], "no share"),
        (["m.onnx", "--in-place"], "--in-place needs --fix"),
        (["empty"], "no models in this folder"),
    ],
)
def test_bad_input_gives_one_line_and_two(
    folder: Path, arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "bad.onnx").write_bytes(b"\xff\xfe not a model")
    (folder / "empty").mkdir()
    assert run(["lint", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert says in err


def test_names_from_a_model_cannot_forge_an_annotation(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = "a\n::error file=x::forged"
    m = model(
        [
            node("Transpose", ["x"], ["b"], perm=[1, 0], name="first"),
            node("Transpose", ["b"], ["c"], perm=[1, 0], name=name),
            node("Relu", ["c"], ["y"]),
        ],
        {"x": ["n", 8]},
        {"y": ["n", 8]},
    )
    onnx.save(m, folder / "m.onnx")
    out = outputs(capsys, "--select", "PF101")
    assert len(out["github"].splitlines()) == 1
    assert not any(s.startswith("::error") for s in out["text"].splitlines())


def test_statistics_count_by_rule(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["lint", "m.onnx", "--select", "PF10", "--min-gain", "0", "--statistics"])
    lines = capsys.readouterr().out.splitlines()
    assert any(s.split()[1:] == ["PF105", "dead-output"] for s in lines)


def test_a_rule_explains_itself(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["lint", "--explain", "PF101"]) == 0
    assert "## Use instead" in capsys.readouterr().out
    assert run(["lint", "--explain", "all"]) == 0
    assert capsys.readouterr().out.count("PF") >= 17
    assert run(["lint", "--explain", "PF999"]) == 2
    assert "no rule 'PF999'" in capsys.readouterr().err
    assert run(["lint", "--explain", "PF101", "m.onnx"]) == 2
    assert "takes one rule and no files" in capsys.readouterr().err
    assert run(["lint", "--explain", "PF101", "--output-format", "csv"]) == 2
    assert "prints text, json, markdown, not csv" in capsys.readouterr().err


def test_the_page_of_rules_is_the_one_committed() -> None:
    assert (ROOT / "docs" / "rules.md").read_text(encoding="utf-8") == page()


def committed(folder: Path, model: onnx.ModelProto) -> Path:
    """A model in a repository of git, as it was committed."""
    path = folder / "m.onnx"
    path.write_bytes(model.SerializeToString())
    for command in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "one"]):
        identity = ["-c", "user.name=n", "-c", "user.email=e@example.org"]
        subprocess.run(["git", *identity, *command], check=True, cwd=folder)
    return path


def test_only_what_a_commit_brought_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    model = blemished()
    path = committed(tmp_path, model)
    monkeypatch.chdir(tmp_path)
    args = ["lint", "m.onnx", "--isolated", "--min-gain", "0"]
    assert run(args) == 1
    capsys.readouterr()
    assert run([*args, "--new"]) == 0, "nothing was changed"
    assert "were there before" in capsys.readouterr().out
    for n in model.graph.node:
        n.name = f"other_{n.name}"
    path.write_bytes(model.SerializeToString())
    assert run([*args, "--new"]) == 0, "names alone are nothing new"
    first = model.graph.output[0].name
    model.graph.node.extend(
        [
            onnx.helper.make_node("Transpose", [first], ["t1"], "away", perm=[1, 0]),
            onnx.helper.make_node("Transpose", ["t1"], ["t2"], "home", perm=[1, 0]),
            onnx.helper.make_node("Exp", ["t2"], ["brought"], "exp"),
        ]
    )
    rank = len(model.graph.output[0].type.tensor_type.shape.dim)
    perm = [*range(1, rank), 0], [rank - 1, *range(rank - 1)]
    for n, order in zip(model.graph.node[-3:-1], perm, strict=True):
        n.attribute[0].ints[:] = order
    model.graph.output.append(onnx.ValueInfoProto(name="brought"))
    path.write_bytes(model.SerializeToString())
    capsys.readouterr()
    assert run([*args, "--new", "--output-format", "json"]) == 1
    (file,) = json.loads(capsys.readouterr().out)["files"]
    assert "PF101" in {f["code"] for f in file["findings"]}
    brought = [f for f in file["findings"] if f["code"] == "PF101"]
    assert [f["nodes"][0] for f in brought] == ["home"]
    assert file["known_before"] > 5


def test_a_model_that_is_new_is_said_whole(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    committed(tmp_path, blemished())
    monkeypatch.chdir(tmp_path)
    (tmp_path / "n.onnx").write_bytes(blemished().SerializeToString())
    args = ["lint", "n.onnx", "--isolated", "--min-gain", "0"]
    run([*args, "--output-format", "json"])
    every = json.loads(capsys.readouterr().out)["files"][0]["findings"]
    run([*args, "--new", "--output-format", "json"])
    assert json.loads(capsys.readouterr().out)["files"][0]["findings"] == every
    for wrong, words in (
        (["--new", "--against", "nowhere"], "nowhere"),
        (["--against", "HEAD"], "--new"),
        (["--new", "--fix"], "--fix"),
    ):
        assert run([*args, *wrong]) == 2
        err = capsys.readouterr().err
        assert words in err
        assert err.splitlines()[-1].count("Traceback") == 0


def test_what_nobody_can_mend_or_weigh_is_counted_in_a_line(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(["lint", str(folder / "m.onnx"), "--isolated", "--output-format", "json"])
    (file,) = json.loads(capsys.readouterr().out)["files"]
    for f in file["findings"]:
        if f["saves"] == "time":
            assert f["gain"]["share"] >= 0.01
        elif f["saves"] != "memory":
            assert f["fixable"]
    assert file["below_min_gain"] > 0
    run(["lint", str(folder / "m.onnx"), "--isolated"])
    assert "of little or unknown gain not shown" in capsys.readouterr().out
