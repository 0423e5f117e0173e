"""Other batches, precisions and targets: every number is that of an analysis."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc import cli

from .conftest import MODELS, Opener, chain, page_of

RESNET = MODELS / "resnet50.onnx.gz"
TABLE = "() => document.getElementById('what-if-table').innerText"
SLIDE = """n => { const s = document.getElementById('what-if-batch');
  s.value = n; s.dispatchEvent(new Event('input')); return s.max; }"""


MOST_TARGETS = 8
MANY = ["a100", "h100", "h200", "t4", "l4", "v100", "rtx4090", "rtx3090", "a10"]


def data_of(text: str) -> Any:
    return json.loads(text.partition('id="data">')[2].partition("</script>")[0])


@pytest.fixture(scope="module")
def several(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Settings of a page of two machines."""
    out = tmp_path_factory.mktemp("several") / "several.html"
    words = ["analyze", str(RESNET), "--batch", "8", "--isolated", "-o", str(out)]
    assert cli.run([*words, "-t", "a100,t4"]) == 0
    return data_of(out.read_text(encoding="utf-8"))["what_if"]


@pytest.mark.parametrize(
    ("target", "dtype", "batch"),
    [("a100", "", 8), ("a100", "f16", 1), ("t4", "", 64), ("t4", "f16", 64)],
)
def test_every_figure_is_that_of_an_analysis_of_its_own(
    target: str, dtype: str, batch: int, several: Any
) -> None:
    machine, precision = ["a100", "t4"].index(target), ["", "f16"].index(dtype)
    row = several["rows"][machine][precision][several["batches"].index(batch)]
    verdict = perfc.analyze(RESNET, target, dims={"batch": batch}, dtype=dtype).verdict
    assert row["time_s"] == pytest.approx(verdict.time_s, rel=1e-5)
    assert row["low_s"] == pytest.approx(verdict.expected.low, rel=1e-5)
    assert row["high_s"] == pytest.approx(verdict.expected.high, rel=1e-5)
    assert row["floor_s"] == pytest.approx(verdict.floor_s, rel=1e-5)
    assert row["memory_bytes"] == verdict.memory.total_bytes
    assert row["limit"] == verdict.limits[0].title
    assert row["confidence"] == verdict.confidence.grade.value  # type: ignore[union-attr]
    assert (several["batch"], several["dtype"]) == (several["batches"].index(8), 0)


def test_memory_that_is_only_a_bound_says_so(hostile: perfc.Report, tmp_path: Path) -> None:
    found = data_of(page_of(hostile, tmp_path))["what_if"]
    own = found["rows"][0][found["dtype"]][found["batch"]]
    assert own["memory_is_bound"] is hostile.verdict.memory.is_bound is True


def test_such_memory_is_shown_as_a_bound(
    opened: Opener, hostile: perfc.Report, tmp_path: Path
) -> None:
    found = opened(page_of(hostile, tmp_path))
    assert "≥ " in found.tab.locator("#what-if-table tbody").inner_text()
    assert found.errors == []


def test_sizes_that_are_numbers_are_not_varied(tmp_path: Path) -> None:
    report = perfc.analyze(chain(3), dtype="f16")
    assert data_of(page_of(report, tmp_path))["what_if"] is None


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
    out = tmp_path / "many.html"
    words = ["analyze", str(RESNET), "--isolated", "--no-predict", "-o", str(out)]
    assert cli.run([*words, "-t", ",".join(MANY)]) == 0
    assert len(data_of(out.read_text(encoding="utf-8"))["rows"]) == len(MANY) == MOST_TARGETS + 1
