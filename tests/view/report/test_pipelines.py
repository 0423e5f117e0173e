"""JUnit, code quality and traces: what pipelines and viewers read is well formed and complete."""

from __future__ import annotations

import json
import shutil
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.review.pipelines.junit import TestCase, render
from perfc.view.report import Format, collect, written

MODELS = Path(__file__).parents[3] / "examples" / "models"
BUDGETS = """
[[budget]]
model = "*.onnx.gz"
target = "a100"
flop = { max = "1 Gflop" }
peak_memory = { max = "400 MiB" }
"""


def test_junit_counts_what_it_holds_and_no_name_breaks_it() -> None:
    strange = '"]]>&<failure>\x00\x1b\ufffe'
    cases = [
        TestCase(strange, "a", failures=(strange, "second")),
        TestCase("b", "a", error=strange),
        TestCase("c", "a", skipped="nobody looked", notes=(strange,)),
        TestCase("d", "a"),
    ]
    root = ET.fromstring(render("perfc check", cases, ()))
    suite = root[0]
    assert [suite.get(n) for n in ("tests", "failures", "errors", "skipped")] == list("4111")
    assert len(suite.findall("testcase")) == 4
    assert len(list(root.iter("failure"))) == 1
    text = root.findtext(".//failure")
    assert text is not None
    assert text.endswith("second")


def test_check_and_lint_tell_pipelines_what_they_tell_people(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copy(MODELS / "resnet50.onnx.gz", tmp_path)
    (tmp_path / "perfc.toml").write_text(BUDGETS, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    shown = {}
    for form in ("json", "junit", "gitlab"):
        assert cli.run(["check", "--no-cache", "--output-format", form]) == 1
        shown[form] = capsys.readouterr().out
    findings = [f for r in json.loads(shown["json"])["results"] for f in r["findings"]]
    root = ET.fromstring(shown["junit"])
    assert [e.get("message") for e in root.iter("failure")] == [f["message"] for f in findings]
    quality = json.loads(shown["gitlab"])
    assert [q["location"]["path"] for q in quality] == ["resnet50.onnx.gz"]
    assert findings[0]["message"] in quality[0]["description"]
    assert len({q["fingerprint"] for q in quality}) == len(quality)
    for form in ("json", "junit"):
        model = str(MODELS / "swin-t.onnx.gz")
        assert cli.run(["lint", model, "--min-gain", "0", "--output-format", form]) == 1
        shown[form] = capsys.readouterr().out
    count = len(json.loads(shown["json"])["files"][0]["findings"])
    failure = ET.fromstring(shown["junit"]).findtext(".//failure")
    assert failure is not None
    assert len(failure.splitlines()) == count


def test_trace_is_one_kernel_after_the_other(gpt2: perfc.Report) -> None:
    views = collect(gpt2)
    events = json.loads(written(views, Format.TRACE, (), None, 80))["traceEvents"]
    kernels = [e for e in events if e["ph"] == "X" and e["tid"] == 1]
    assert len(kernels) == len(views.kernels)
    end = 0.0
    for e, row in zip(kernels, views.kernels, strict=True):
        assert e["ts"] == pytest.approx(end, abs=0.01)
        assert e["args"]["nodes"] == list(row.nodes)
        end = e["ts"] + e["dur"]
    floors = [e for e in events if e["ph"] == "X" and e["tid"] == 2]
    for e, f in zip(kernels, floors, strict=True):
        assert f["ts"] == e["ts"]
        assert f["dur"] <= e["dur"] + 1e-3
    live = [e["args"]["bytes"] for e in events if e["ph"] == "C"]
    assert max(live) <= max(views.memory.live_bytes)
    assert len(live) > len(kernels) / 2
