"""The page in headless Chromium: it is used as a reader uses it."""

from __future__ import annotations

from pathlib import Path

import perfc

from .conftest import Opened, Opener, page_of

POINT = """() => {
  const chart = echarts.getInstanceByDom(document.getElementById('roofline-chart'));
  const series = chart.getOption().series.findIndex((s) => s.type === 'scatter' && s.data.length);
  const item = chart.getOption().series[series].data.at(-1);
  const [x, y] = chart.convertToPixel({ seriesIndex: series }, item.value);
  const box = chart.getDom().getBoundingClientRect();
  return { x: box.x + x, y: box.y + y, kernel: item.kernel };
}"""
DARKNESS = "() => getComputedStyle(document.body).backgroundColor"


def background(found: Opened) -> int:
    """Sum of the background's three colors."""
    text: str = found.tab.evaluate(DARKNESS)
    return sum(int(n) for n in text.strip("rgb()").split(","))


def test_every_chart_is_drawn_without_errors_or_network(opened: Opener, resnet_page: str) -> None:
    found = opened(resnet_page)
    for section in ("roofline", "modules", "kernels", "graph", "memory"):
        found.show(section)
    assert found.tab.locator("canvas").count() >= 4
    assert found.errors == []
    assert len(found.requests) == 1


def test_hover_tells_the_kernel_and_a_click_marks_its_row(opened: Opener, resnet_page: str) -> None:
    found = opened(resnet_page)
    found.show("roofline")
    point = found.tab.evaluate(POINT)
    found.tab.mouse.move(point["x"], point["y"])
    tip = found.tab.locator("#roofline-chart .tip")
    tip.wait_for()
    assert "of the time" in tip.inner_text()
    told = found.tab.evaluate("() => document.querySelector('#roofline-chart .tip b').textContent")
    found.tab.mouse.click(point["x"], point["y"])
    found.tab.wait_for_selector("#table .row[aria-selected=true]")
    row = found.tab.locator("#table .row[aria-selected=true]")
    assert told.replace("Normalization", "Norm") in row.inner_text()
    assert not found.tab.locator("#details").is_hidden()


def test_keys_reach_everything(opened: Opener, resnet_page: str) -> None:
    found = opened(resnet_page)
    press = found.tab.keyboard.press
    press("2")
    press("ArrowRight")
    press("Enter")
    first = found.selected()
    assert len(first) == 1
    press("ArrowDown")
    assert found.selected() != first
    press("Escape")
    assert found.selected() == []
    press("/")
    found.tab.keyboard.type("maxpool")
    assert found.tab.locator("#count").inner_text().startswith("1 of")
    press("Escape")
    assert found.tab.locator("#search").input_value() == "maxpool", "field and table agree"
    assert found.tab.locator("#count").inner_text().startswith("1 of")
    press("?")
    assert found.tab.locator("#keys").is_visible()
    press("Escape")
    press("5")
    found.show("graph")
    for key in ("ArrowDown", "+", "-", "0"):
        press(key)
    assert found.errors == []


def test_graph_goes_into_modules_and_back(opened: Opener, resnet_page: str) -> None:
    found = opened(resnet_page)
    found.tab.keyboard.press("5")
    found.show("graph")
    crumbs = found.tab.locator("#crumbs")
    found.wait_for_text("#crumbs", "main_graph")
    assert crumbs.inner_text() == "main_graph"
    for _ in range(5):
        found.tab.keyboard.press("ArrowDown")
    found.tab.keyboard.press("Enter")
    assert "layer1" in crumbs.inner_text()
    found.tab.keyboard.press("Backspace")
    assert crumbs.inner_text() == "main_graph"
    found.tab.select_option("#graph-form", "whole")
    found.tab.select_option("#graph-color", "bound")
    found.wait_for_text("#scale", "matrix")
    assert found.errors == []


def test_columns_sort_and_the_table_holds_every_kernel(
    opened: Opener, resnet: perfc.Report, resnet_page: str
) -> None:
    found = opened(resnet_page)
    found.show("kernels")
    head = found.tab.locator("#table .head button", has_text="bound")
    floors = []
    for _ in range(2):
        head.click()
        cell = (
            "() => [...document.querySelectorAll('#table .body .row')].map((r) => +r.ariaRowIndex)"
        )
        assert found.tab.evaluate(cell)[0] == 1
        floors.append(found.tab.locator("#table .body .row").first.inner_text())
    assert floors[0] != floors[1]
    count = len(resnet.kernels.kernels)
    assert found.tab.locator("#count").inner_text() == f"{count} of {count}"


def test_light_and_dark_follow_the_system_and_the_key(opened: Opener, resnet_page: str) -> None:
    light, dark = opened(resnet_page), opened(resnet_page, scheme="dark")
    assert background(dark) < 200 < 600 < background(light)
    for _ in range(2):
        light.tab.keyboard.press("t")
    assert background(light) < 200
    assert light.errors == []


def test_paper_is_light_and_holds_every_chart(opened: Opener, resnet_page: str) -> None:
    found = opened(resnet_page, scheme="dark")
    found.tab.emulate_media(media="print")
    found.tab.evaluate("() => dispatchEvent(new Event('beforeprint'))")
    for section in ("roofline", "modules", "graph", "memory"):
        drawn = found.tab.evaluate(
            """(id) => { const c = document.querySelector(`#${id}-chart canvas`);
            const d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data;
            let n = 0; for (let i = 3; i < d.length; i += 4) n += d[i] > 0;
            return [c.width, n]; }""",
            section,
        )
        assert drawn[0] <= 700, section
        assert drawn[1] > 1000, section
    assert found.tab.locator("#assumptions dl").is_visible()
    assert not found.tab.locator("#table").is_visible()
    assert found.tab.evaluate("() => getComputedStyle(document.documentElement).colorScheme") == (
        "light"
    )
    found.tab.evaluate("() => dispatchEvent(new Event('afterprint'))")
    found.tab.emulate_media(media="screen")
    assert background(found) < 200
    assert found.errors == []


def test_hostile_names_stay_text(opened: Opener, hostile: perfc.Report, tmp_path: Path) -> None:
    found = opened(page_of(hostile, tmp_path))
    for section in ("roofline", "modules", "kernels", "graph", "memory"):
        found.show(section)
    found.tab.locator("#table .body .row").first.click()
    found.tab.keyboard.press("5")
    found.tab.keyboard.press("ArrowDown")
    found.tab.keyboard.press("ArrowDown")
    for form in ("flame", "treemap"):
        found.tab.check(f"input[value={form}]")
        box = found.tab.locator("#modules-chart").bounding_box()
        assert box is not None
        found.tab.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 3)
    assert "owned" not in found.tab.title().split("</script>")[0]
    assert found.tab.locator("img").count() == 0
    assert found.tab.locator("script").count() == 3
    assert found.errors == []


def test_page_of_two_analyses_can_be_used(opened: Opener, compared_page: str) -> None:
    found = opened(compared_page)
    for section in ("roofline", "modules", "kernels", "graph", "memory"):
        found.show(section)
    found.tab.locator("#table .body .row").first.click()
    assert len(found.selected()) == 1
    assert "+" in found.tab.locator("#table .body .row").first.inner_text()
    assert found.errors == []


def test_narrow_windows_do_not_scroll_sideways(opened: Opener, resnet_page: str) -> None:
    found = opened(resnet_page, width=420)
    assert found.tab.evaluate("() => document.documentElement.scrollWidth <= innerWidth")


def test_a_model_without_kernels_has_a_page_too(opened: Opener, tmp_path: Path) -> None:
    from onnx import TensorProto, helper

    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    node = helper.make_node("Identity", ["x"], ["y"])
    nothing = perfc.analyze(helper.make_model(helper.make_graph([node], "g", [x], [y])))
    found = opened(page_of(nothing, tmp_path))
    for section in ("roofline", "modules", "kernels", "graph", "memory"):
        found.show(section)
    for key in ("2", "ArrowRight", "Enter", "5", "ArrowDown", "Enter", "+", "t"):
        found.tab.keyboard.press(key)
    assert found.errors == []
