"""The page of a trace: its rows are those of the document, names stay text, lanes can be used."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from perfc import cli
from tests.measuring.trace import samples

from .conftest import HOSTILE, Opener
from .test_chart_pages import drawn

COPIES = 40
SELECTED = "#table .row[aria-selected=true]"


def steps() -> list[samples.Step]:
    """Return the kernels of the sample many times, one after the other."""
    return [
        (*step[:5], step[5] + 1000.0 * n, step[6]) for n in range(COPIES) for step in samples.STEPS
    ]


def page_of(folder: Path, trace: object, *words: str) -> str:
    """Return the page of a trace that the command line writes."""
    source, path = folder / "trace.json", folder / "page.html"
    source.write_text(samples.text_of(trace), encoding="utf-8")
    assert cli.run(["trace", str(source), "--all", "-o", str(path), *words]) == 0
    return path.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(tmp_path_factory.mktemp("page"), samples.kineto(steps()))


def hostile() -> dict[str, Any]:
    """Return a trace whose names are attacks."""
    names = (f"{HOSTILE}\u2028\u202e'\"`", "{{ 7 * 7 }}\x1b[31m</title>", f"aten::{HOSTILE}")
    events = [samples.kernel(name, 10 * n, 5, n, n) for n, name in enumerate(names)]
    events += [samples.operator(name, 10 * n, 5, [8, 8], number=n) for n, name in enumerate(names)]
    return samples.chrome(*events) | {"deviceProperties": [samples.DEVICE | {"name": HOSTILE}]}


def test_rows_and_spans_are_those_of_the_document(tmp_path: Path, page: str) -> None:
    source = tmp_path / "trace.json"
    source.write_text(samples.text_of(samples.kineto(steps())), encoding="utf-8")
    assert cli.run(["trace", str(source), "--all", "-o", str(tmp_path / "out.json")]) == 0
    kernels = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))["kernels"]
    data = drawn(page)
    table = data["reports"][0]["kernels"]["table"]
    names = [c["name"] for c in table["columns"]]
    for n, (row, k) in enumerate(zip(table["rows"], kernels, strict=True)):
        cells = dict(zip(names, row, strict=True))
        assert cells["class"] == k["class_name"]
        assert cells["operator"] == k["operator"].removeprefix("aten::")
        for name in ("launches", "time_s", "share", "floor_s", "floor_share"):
            assert cells[name] == (k[name] and pytest.approx(k[name], rel=1e-5)), name
        assert data["names"]["texts"][data["names"]["which"][n]] == k["kernel"]
    (lane,) = (x for x in data["timeline"]["lanes"] if x["kind"] == "device")
    assert lane["count"] == len(steps())
    assert sum(lane["start_ns"]) - lane["start_ns"][0] == round(1e3 * (steps()[-1][5] - 20.0))
    assert sum(lane["duration_ns"]) == round(1e3 * sum(s[6] for s in steps()))
    assert data["groups"]["products"] == [[0]]


def test_classes_are_bars_and_tables_need_no_scripts(page: str) -> None:
    still = page.partition("<script")[0]
    bars = re.findall(
        r'data-class="([^"]+)".*?width:([\d.]+)%.*?<span>([^<]+)</span></button>', still
    )
    assert [name for name, _, _ in bars][:2] == ["matrix product", "communication"]
    assert sum(float(width) for _, width, _ in bars) == pytest.approx(100, abs=0.05)
    assert "18.5 ms, 74.2 %" in bars[0][2]
    for words in ("NVIDIA H100 80GB HBM3", "native_layer_norm", "matrix products by shape"):
        assert words in still


def test_nothing_but_kernels_and_operators_of_a_trace_is_in_its_page(page: str) -> None:
    assert samples.SECRET not in page


def test_names_of_a_trace_stay_text(tmp_path: Path, opened: Opener) -> None:
    shown = opened(page_of(tmp_path, hostile()))
    shown.tab.focus("#lanes")
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowUp", "Enter"):
        shown.tab.keyboard.press(key)
    shown.tab.locator("#table .body .row").first.click()
    assert "owned" not in shown.tab.title().split("</script>")[0]
    assert shown.tab.locator("img").count() == 0
    assert shown.tab.locator("script").count() == 3
    assert shown.errors == []


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_lanes_zoom_step_and_highlight(width: int, scheme: str, page: str, opened: Opener) -> None:
    shown = opened(page, width=width, scheme=scheme)
    tab, current = shown.tab, shown.tab.locator("#current")
    lanes = tab.locator("#lanes")
    lanes.scroll_into_view_if_needed()
    whole = tab.inner_text("#range")
    box = lanes.bounding_box()
    assert box is not None
    # the lane of the device is the last one
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] - 15
    tab.mouse.move(x, y)
    for _ in range(8):
        tab.mouse.wheel(0, -100)
    shown.wait_for_text("#range", "ms of 39")
    assert tab.inner_text("#range") != whole
    lanes.focus()
    for key in ("ArrowRight", "ArrowRight"):
        tab.keyboard.press(key)
    assert "lower bound" in tab.locator(".lane-tip").inner_text()
    tab.keyboard.press("Enter")
    assert tab.locator(SELECTED).count() == 1
    assert re.search(r": \d+ launches highlighted", current.inner_text())
    tab.keyboard.press("Escape")
    assert current.inner_text() == ""
    assert tab.locator(SELECTED).count() == 0
    tab.click("[data-class='normalization']")
    assert current.inner_text() == f"normalization: {COPIES} launches highlighted"
    tab.click("#products tbody tr")
    assert current.inner_text() == f"product: {2 * COPIES} launches highlighted"
    assert tab.locator("[aria-pressed=true]").count() == 0
    lanes.focus()
    tab.keyboard.press("0")
    shown.wait_for_text("#range", whole.split(" of ")[1])
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.errors == []
    assert len(shown.requests) == 1


def test_tables_sort_and_a_search_filters_the_kernels(page: str, opened: Opener) -> None:
    shown = opened(page)
    column = """() => [...document.querySelectorAll('#operators tbody td:first-child')]
      .map((c) => c.textContent)"""
    by_time = shown.tab.evaluate(column)
    shown.tab.click("#operators th:first-child button")
    assert shown.tab.evaluate(column) == sorted(by_time) != by_time
    shown.tab.click("#operators th:first-child button")
    assert shown.tab.evaluate(column) == sorted(by_time, reverse=True)
    shown.tab.click("#operators th:first-child button")
    assert shown.tab.evaluate(column) == by_time
    shown.tab.keyboard.press("/")
    shown.tab.keyboard.type("native")
    assert shown.tab.inner_text("#count") == "1 of 4"
    assert shown.tab.evaluate("document.documentElement.dataset.theme") is None, "t is typed"
    assert shown.errors == []


def test_a_trace_without_begins_has_a_page_without_a_time_line(
    tmp_path: Path, opened: Opener
) -> None:
    shown = opened(page_of(tmp_path, samples.tensorrt()))
    assert not shown.tab.locator("#lanes").is_visible()
    assert "no time line" in shown.tab.inner_text("#current")
    assert shown.errors == []
