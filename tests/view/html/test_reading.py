"""What a reader looks for: the answer first, a search, links to a kernel, the table as CSV."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import pytest

import perfc

from .conftest import Opened, Opener, page_of

BOTTOM = "s => document.querySelector(s).getBoundingClientRect().bottom"


def search(found: Opened, words: str) -> list[str]:
    """Lines of the search, as a reader types."""
    found.tab.keyboard.press("Escape")
    found.tab.keyboard.press("/")
    found.tab.keyboard.type(words)
    return found.tab.locator("#hits li").all_inner_texts()


def column(found: Opened, number: int) -> list[str]:
    """Cells of the rows that are drawn, from top to bottom."""
    cells: list[str] = found.tab.evaluate(
        """n => [...document.querySelectorAll('#table .body .row')]
        .sort((a, b) => a.ariaRowIndex - b.ariaRowIndex).map((r) => r.children[n].textContent)""",
        number,
    )
    return cells


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_answer_and_first_chart_are_seen_without_scrolling(
    scheme: str, opened: Opener, resnet_page: str
) -> None:
    found = opened(resnet_page, width=1440, scheme=scheme)
    assert found.tab.evaluate("() => document.querySelector('main').children[0].id") == "verdict"
    for part in ("#verdict .limits", "#roofline-chart", "#modules-chart"):
        assert found.tab.evaluate(BOTTOM, part) <= 900, part
    assert found.tab.locator("#roofline-chart canvas").count() == 1
    assert found.errors == []


def test_answer_is_that_of_the_first_screen(resnet: perfc.Report, resnet_page: str) -> None:
    top = resnet_page.partition('id="roofline"')[0].replace("\N{NO-BREAK SPACE}", " ")
    _, takes, could = repr(resnet).splitlines()
    numbers = re.findall(r"[\d.]+ (?:ms|J|MiB|images/s)", f"{takes} {could}")
    assert len(numbers) > 3
    assert all(number in top for number in numbers), numbers
    shares = [one.share for one in resnet.verdict.limits]
    shown = [int(percent) for percent in re.findall(r"<b>(\d+) %</b>", top)]
    assert sum(shown) == 100
    assert shown == pytest.approx([100 * share for share in shares[: len(shown)]], abs=1)


def test_answer_has_room_on_a_phone(opened: Opener, resnet_page: str) -> None:
    found = opened(resnet_page, width=390)
    assert found.tab.evaluate("() => document.documentElement.scrollWidth") <= 390
    assert found.tab.evaluate(BOTTOM, "#verdict .limits") <= 900
    assert found.tab.locator("#find").bounding_box() is not None


def test_kernels_come_slowest_first(opened: Opener, resnet: perfc.Report, resnet_page: str) -> None:
    found = opened(resnet_page)
    found.show("kernels")
    rows = resnet.views.kernels
    times = {r.index: r.predicted.time_s for r in rows if r.predicted}
    order = sorted(times, key=lambda i: (-times[i], i))
    shown = [int(text) for text in column(found, 0)]
    assert shown == order[: len(shown)]
    assert found.tab.locator("#table [aria-sort=descending]").inner_text().startswith("each")


def test_search_finds_kernels_nodes_and_values(
    opened: Opener, resnet: perfc.Report, resnet_page: str
) -> None:
    found = opened(resnet_page)
    listed = search(found, "layer3.0")
    assert {text.split("\n")[0] for text in listed} == {"kernel", "node", "value"}
    rows = resnet.views.kernels
    count = sum("layer3/0" in f"{r.label} {' '.join(r.nodes)}" for r in rows)
    assert found.tab.locator("#count").inner_text() == f"{count} of {len(rows)}"
    found.tab.keyboard.press("Escape")
    assert not found.tab.locator("#hits").is_visible()
    listed = search(found, "layer1.0.conv1.weight")
    assert [text.split("\n")[:2] for text in listed][-1] == ["value", "layer1.0.conv1.weight"]
    found.tab.keyboard.press("ArrowUp")
    found.tab.keyboard.press("Enter")
    assert len(found.selected()) == 1
    found.wait_for_text("#crumbs", "layer1")
    assert search(found, "no such thing") == ["no match"]
    assert found.errors == []


def test_values_called_like_their_node_have_their_whole_names(
    opened: Opener, tmp_path: Path
) -> None:
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("pixels", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("/act/Relu_output_0", TensorProto.FLOAT, [4])
    node = helper.make_node("Relu", ["pixels"], ["/act/Relu_output_0"], name="/act/Relu")
    report = perfc.analyze(helper.make_model(helper.make_graph([node], "g", [x], [y])))
    found = opened(page_of(report, tmp_path))
    assert search(found, "output_0")[-1] == "value\n/act/Relu_output_0\nat /act/Relu"
    assert search(found, "pixels")[-1] == "value\npixels\nat /act/Relu"


def test_number_of_a_kernel_finds_it(opened: Opener, resnet_page: str) -> None:
    found = opened(resnet_page)
    assert search(found, "kernel 17")[0].startswith("kernel\n17: ")
    found.tab.keyboard.press("Enter")
    assert found.selected() == ["17"]


def test_address_opens_a_kernel_and_follows_the_selection(opened: Opener, resnet_page: str) -> None:
    found = opened(resnet_page, fragment="#kernel=6")
    assert found.selected() == ["6"]
    assert found.tab.locator("#details").is_visible()
    assert found.tab.locator("#table .row[aria-selected=true]").is_visible()
    before = found.tab.evaluate("history.length")
    found.tab.locator("#table .body .row:not([aria-selected=true])").nth(9).dispatch_event("click")
    found.tab.wait_for_selector("#table .row[aria-selected=true]:not([data-kernel='6'])")
    (chosen,) = found.selected()
    assert found.tab.evaluate("location.hash") == f"#kernel={chosen}"
    assert found.tab.evaluate("history.length") == before
    found.tab.keyboard.press("Escape")
    assert found.tab.evaluate("location.hash") == ""
    found.tab.evaluate("location.hash = '#kernel=3'")
    found.tab.wait_for_selector("#table .row[aria-selected=true][data-kernel='3']")
    assert found.errors == []


@pytest.mark.parametrize("fragment", ["#kernel=99999", "#kernel=-1", "#kernel=<img>", "#kernel="])
def test_address_of_no_kernel_selects_none(
    fragment: str, opened: Opener, resnet: perfc.Report, resnet_page: str
) -> None:
    found = opened(resnet_page, fragment=fragment)
    assert found.selected() == []
    said = found.tab.locator("#count").inner_text()
    count = len(resnet.kernels.kernels)
    assert said == ("no kernel 99999" if "99999" in fragment else f"{count} of {count}")
    assert found.errors == []


def test_table_is_downloaded_as_it_is_shown(
    opened: Opener, resnet: perfc.Report, resnet_page: str
) -> None:
    found = opened(resnet_page)
    search(found, "downsample")
    found.tab.keyboard.press("Escape")
    with found.tab.expect_download() as loading:
        found.tab.click("#csv")
    assert loading.value.suggested_filename == "resnet50.onnx.gz.kernels.csv"
    lines = list(csv.DictReader(io.StringIO(Path(loading.value.path()).read_text("utf-8"))))
    rows = resnet.views.kernels
    assert len(lines) == sum("downsample" in " ".join(r.nodes) for r in rows) > 0
    times = [float(line["predicted_s"]) for line in lines]
    assert times == sorted(times, reverse=True)
    for line in lines:
        row = rows[int(line["index"])]
        assert row.predicted is not None
        assert float(line["predicted_s"]) == pytest.approx(row.predicted.time_s, rel=1e-5)
        assert line["nodes"].split() == list(row.nodes)


def test_table_is_copied_for_a_spreadsheet(
    opened: Opener, resnet: perfc.Report, resnet_page: str
) -> None:
    found = opened(resnet_page)
    found.tab.context.grant_permissions(["clipboard-read", "clipboard-write"])
    found.tab.bring_to_front()
    found.tab.click("#copy")
    # a page that has not the focus yet may not write; a person would click again
    found.tab.wait_for_function(
        """() => {
            const button = document.getElementById('copy');
            const isDone = button.textContent === 'copied';
            if (!isDone) button.click();
            return isDone;
        }""",
        polling=1000,
    )
    lines = found.tab.evaluate("() => navigator.clipboard.readText()").split("\n")
    assert len(lines) == 1 + len(resnet.kernels.kernels)
    assert {len(line.split("\t")) for line in lines} == {len(lines[0].split("\t"))}


def test_no_name_becomes_a_formula_of_a_spreadsheet(opened: Opener, tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    node = helper.make_node("Relu", ["x"], ["y"], name='=HYPERLINK("a", "b")')
    report = perfc.analyze(helper.make_model(helper.make_graph([node], "g", [x], [y])))
    found = opened(page_of(report, tmp_path))
    with found.tab.expect_download() as loading:
        found.tab.click("#csv")
    (line,) = csv.DictReader(io.StringIO(Path(loading.value.path()).read_text("utf-8")))
    assert line["nodes"] == '\'=HYPERLINK("a", "b")'


def test_search_and_links_work_where_two_analyses_are_compared(
    opened: Opener, compared_page: str
) -> None:
    found = opened(compared_page, fragment="#kernel=6")
    assert found.tab.locator("#table .row[aria-selected=true]").count() == 1
    assert any(t.startswith("node\n") for t in search(found, "layer3.0/conv2"))
    found.tab.keyboard.press("Escape")
    with found.tab.expect_download() as loading:
        found.tab.click("#csv")
    header = Path(loading.value.path()).read_text("utf-8").partition("\n")[0]
    assert "delta_s" in header.split(",")
    assert found.errors == []
