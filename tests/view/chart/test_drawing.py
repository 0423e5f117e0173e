"""SVG, HTML and character plots: complete, self-contained, and safe with any name."""

from __future__ import annotations

import json
import re
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from perfc import cli
from perfc.machine import Unit, load_machine
from perfc.view.chart import Chart, Mark, RoofLevel, TimeBasis, chart, roofs_of
from perfc.view.chart.plot import plotted
from perfc.view.html.roofline_page import roofline_page

ROOT = Path(__file__).parents[3]
HOSTILE = '</script><script>alert(1)</script> "gemm<float>" & \x1b[31m \ufffe\u202e'
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def hostile() -> Chart:
    marks = [
        Mark(
            HOSTILE,
            basis,
            2e9,
            1e-3,
            {RoofLevel.L1: 1e8, RoofLevel.L2: 5e7, RoofLevel.DEVICE: 1e7},
            Unit.VECTOR,
            "f32",
            nodes=(HOSTILE,),
        )
        for basis in TimeBasis
    ]
    return chart(HOSTILE, roofs_of(load_machine("v100-16gb")), marks, [HOSTILE])


def test_svg_is_well_formed_and_tells_the_kernel_on_hover(hostile: Chart) -> None:
    drawing = pytest.importorskip("perfc.view.chart.drawing")
    pytest.importorskip("vl_convert")
    root = ET.fromstring(drawing.svg(hostile))
    titles = [t.text or "" for t in root.iter(f"{SVG}title")]
    points = [t for t in titles if "gemm<float>" in t]
    assert len(points) == len(RoofLevel) * len(TimeBasis)
    assert any("L2, 40.0 flop/B, 2.00 Tflop/s, 1.00 ms measured" in t for t in points)
    assert any("15.5 Tflop/s measured" in t for t in titles)
    assert not list(root.iter(f"{SVG}script"))


def test_html_needs_nothing_else_and_no_name_can_leave_its_place(hostile: Chart) -> None:
    page = roofline_page(hostile)
    assert page.count("alert(1)") == page.count("alert(1)&lt;/script") + page.count(
        "alert(1)\\u003c/script"
    )
    assert not re.search(r'<(script|link|img)[^>]*(src|href)="http', page)
    assert "\x1b" not in page
    data = json.loads(re.search(r'id="data">(.*?)</script>', page)[1])  # type: ignore[index]
    levels = [p[1] for report in data["reports"] for p in report["roofline"]["points"]]
    assert levels == [x.title for x in RoofLevel] * len(TimeBasis)
    assert data["hollow"] == "Hollow: measured."


def test_a_plot_of_characters_has_the_size_asked_for(hostile: Chart) -> None:
    pytest.importorskip("plotext")
    text = plotted(hostile, 90, 26, color=False)
    lines = text.splitlines()
    assert len(lines) == 26
    assert max(map(len, lines)) <= 90
    assert "\x1b" not in text
    for word in ("L1 predicted", "device measured", "flop/byte", "10T"):
        assert word in text
    assert "\x1b[" in plotted(hostile, 90, 26, color=True)


@pytest.mark.parametrize(("form", "package"), [("svg", "vl_convert")])
def test_without_the_extra_one_line_says_what_to_install(
    form: str, package: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    assert cli.run(["roofline", "v100", "--output-format", form]) == 2
    err = capsys.readouterr().err
    assert "pip install 'vl-convert-python>=1.8'" in err
    assert err.count("\n") == 1


def test_piped_text_is_a_table_and_loads_no_plotting(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for package in ("vl_convert", "plotext", "rich"):
        monkeypatch.setitem(sys.modules, package, None)
    assert cli.run(["roofline", "v100"]) == 0
    out = capsys.readouterr().out
    assert "15.7 Tflop/s  15.5 Tflop/s" in out
    assert "│" not in out


def test_the_file_name_says_the_format(tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    for name, start in (("a.svg", "<svg"), ("a.html", "<!DOCTYPE html>"), ("a.json", "{")):
        path = tmp_path / name
        assert cli.run(["roofline", "v100", "-o", str(path)]) == 0
        assert path.read_text(encoding="utf-8").startswith(start)


def test_the_first_commands_of_the_page_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("vl_convert")
    page = (ROOT / "docs" / "roofline.md").read_text(encoding="utf-8")
    block = page.partition("```sh\n")[2].partition("```")[0]
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    monkeypatch.chdir(tmp_path)
    lines = block.splitlines()
    assert len(lines) == 4
    for line in lines:
        assert cli.run(line.split()[1:]) == 0, capsys.readouterr().err
    assert {p.name for p in tmp_path.iterdir()} == {"examples", "roofline.svg", "roofline.html"}
