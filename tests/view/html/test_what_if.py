"""Other batches, precisions and targets: every number is that of an analysis."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perfc
from perfc import cli
from perfc.view.html import page
from perfc.view.html.what_if import MOST_TARGETS, what_ifs
from perfc.view.report import Verdict, collect

from .conftest import MODELS, Opener, chain

RESNET = MODELS / "resnet50.onnx.gz"
TABLE = "() => document.getElementById('what-if-table').innerText"
SLIDE = """n => { const s = document.getElementById('what-if-batch');
  s.value = n; s.dispatchEvent(new Event('input')); return s.max; }"""


def cell(found: object, target: int, dtype: int, batch: int) -> dict[str, object]:
    assert isinstance(found, dict)
    row = found["rows"][target][dtype][found["batches"].index(batch)]
    assert isinstance(row, dict)
    return row


@pytest.mark.parametrize(
    ("target", "dtype", "batch"),
    [("a100", "", 8), ("a100", "f16", 1), ("t4", "", 64), ("t4", "f16", 64)],
)
def test_every_figure_is_that_of_an_analysis_of_its_own(
    target: str, dtype: str, batch: int, resnet: perfc.Report
) -> None:
    found = what_ifs(resnet, ["t4"], predict=True)
    row = cell(found, ["a100", "t4"].index(target), ["", "f16"].index(dtype), batch)
    verdict = Verdict.of(perfc.analyze(RESNET, target, dims={"batch": batch}, dtype=dtype))
    assert row["time_s"] == pytest.approx(verdict.time_s, rel=1e-5)
    assert row["low_s"] == pytest.approx(verdict.expected.low, rel=1e-5)
    assert row["high_s"] == pytest.approx(verdict.expected.high, rel=1e-5)
    assert row["floor_s"] == pytest.approx(verdict.floor_s, rel=1e-5)
    assert row["memory_bytes"] == verdict.memory.total_bytes
    assert row["limit"] == verdict.limits[0].title


def test_without_a_prediction_times_are_those_of_measured_rates(resnet: perfc.Report) -> None:
    row = cell(what_ifs(resnet, (), predict=False), 0, 0, 8)
    assert row["time_s"] == pytest.approx(resnet.roofline.time_s, rel=1e-5)
    assert row["confidence"] == ""


def test_memory_that_is_only_a_bound_says_so(opened: Opener, hostile: perfc.Report) -> None:
    row = cell(what_ifs(hostile, (), predict=True), 0, 0, 1)
    assert row["memory_is_bound"] is Verdict.of(hostile).memory.is_bound is True
    found = opened(page(hostile, collect(hostile)))
    assert "≥ " in found.tab.locator("#what-if-table tbody").inner_text()
    assert found.errors == []


def test_sizes_that_are_numbers_are_not_varied() -> None:
    report = perfc.analyze(chain(3), dtype="f16")
    assert what_ifs(report, (), predict=True) is None
    found = what_ifs(report, ["t4"], predict=True)
    assert found is not None
    assert found["batches"] == [0]


def test_slider_and_precision_change_the_table(opened: Opener, resnet_page: str) -> None:
    found = opened(resnet_page)
    found.show("what-if")
    own = found.tab.evaluate(TABLE)
    assert "batch 8, as the model has it" in own
    assert "1.00×" in own
    assert found.tab.evaluate(SLIDE, 0) == "8"
    small = found.tab.evaluate(TABLE)
    assert "batch 1, " in small
    found.tab.select_option("#what-if-dtype", label="f16")
    assert "batch 1, f16" in found.tab.evaluate(TABLE)
    found.tab.focus("#what-if-batch")
    found.tab.keyboard.press("ArrowRight")
    assert "batch 2, f16" in found.tab.evaluate(TABLE)
    found.tab.click("#what-if-reset")
    assert found.tab.evaluate(TABLE) == own
    assert found.errors == []


def test_several_targets_stand_side_by_side(
    tmp_path: Path, opened: Opener, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "several.html"
    words = ["analyze", str(RESNET), "--batch", "8", "--isolated", "-o", str(out)]
    assert cli.run([*words, "-t", "a100,h100,t4"]) == 0
    text = out.read_text(encoding="utf-8")
    found = opened(text, width=390)
    assert "a100-sxm4-80gb" in found.tab.locator("h1").inner_text()
    names = found.tab.locator("#what-if-table tbody th").all_inner_texts()
    assert [name.split()[1] for name in names] == ["A100", "H100", "T4"]
    assert found.tab.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert found.errors == []
    assert cli.run([*words, "-t", "a100,h1000"]) == 2
    assert "no such target 'h1000'" in capfd.readouterr().err
    assert out.read_text(encoding="utf-8") == text


def test_many_targets_are_a_comparison(tmp_path: Path) -> None:
    names = [m.name for m in perfc.machine.list_machines()][: MOST_TARGETS + 1]
    out = tmp_path / "many.html"
    words = ["analyze", str(RESNET), "--isolated", "--no-predict", "-o", str(out)]
    assert cli.run([*words, "-t", ",".join(names)]) == 0
    text = out.read_text(encoding="utf-8")
    data = json.loads(text.partition('id="data">')[2].partition("</script>")[0])
    assert len(data["rows"]) == len(names)
