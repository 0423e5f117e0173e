"""Pages of charts alone: a comparison, a roofline, a sweep; no network, no errors, phone, dark."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from perfc import cli

from .conftest import Opener

RESNET = str(Path(__file__).parents[3] / "examples/models/resnet50.onnx.gz")
HTML = Path(cli.__file__).parent / "view" / "html"
CALLS: dict[str, tuple[list[str], list[str]]] = {
    "compare": (["compare", RESNET, "-t", "a100,h100,t4", "--slo", "3ms"], ["times", "cost"]),
    "roofline": (["roofline", "a100", "--model", RESNET, "--batch", "8"], ["roofline"]),
    "ceilings": (["roofline", "t4"], ["roofline"]),
    "llm": (
        ["llm", "llama-3.1-8b", "-t", "h100", "--concurrency", "8"],
        ["steps", "latencies", "room"],
    ),
    "misfit": (["llm", "llama-3.1-70b", "-t", "t4"], ["room"]),
    "search": (
        ["llm", "search", "llama-3.2-1b", "-t", "h100,l40s", "--dtype", "f8", "--osl", "16"],
        ["front"],
    ),
    "plan": (["plan", "llama-3.2-1b", "--gpus", "8", "-t", "dgx-h100"], []),
    "scale": (["plan", "--curve", "llama-3.2-1b", "-t", "dgx-h100"], []),
    "sweep": (["sweep", RESNET, "--batch", "1,8,64", "-t", "a100,t4"], ["times", "each"]),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], str]:
    """Pages by name, each written once by the command line."""
    folder, pages = tmp_path_factory.mktemp("pages"), {}

    def text(name: str) -> str:
        if name not in pages:
            path = folder / f"{name}.html"
            code = cli.run([*CALLS[name][0], "--isolated", "-o", str(path)])
            assert code == (1 if name == "misfit" else 0)
            pages[name] = path.read_text(encoding="utf-8")
        return pages[name]

    return text


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", CALLS)
def test_every_chart_is_drawn_and_nothing_is_asked_for(
    name: str, width: int, scheme: str, written: Callable[[str], str], opened: Opener
) -> None:
    found = opened(written(name), scheme=scheme, width=width)
    for section in CALLS[name][1]:
        found.show(section)
    assert found.errors == []
    assert all(url.startswith("file:") for url in found.requests)
    assert found.tab.evaluate("document.documentElement.scrollWidth") <= width
    ink = found.tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (ink == "rgb(18, 21, 26)") == (scheme == "dark")


def test_points_of_the_roofline_are_predictions_below_the_roof(
    written: Callable[[str], str], opened: Opener
) -> None:
    found = opened(written("roofline"))
    points = found.tab.evaluate(
        "JSON.parse(document.getElementById('data').textContent).reports[0].roofline.points"
    )
    shares = [p[4] for p in points if p[4] is not None]
    assert len(points) > 50
    assert max(shares) < 1
    assert min(shares) < 0.5


def test_pages_have_their_tables_without_scripts(written: Callable[[str], str]) -> None:
    assert "h100-sxm5-80gb" in written("compare").partition("<script")[0]
    # ONNX Runtime launches activations after convolutions
    assert "Conv + BatchNormalization" in written("roofline").partition("<script")[0]
    assert "does not fit in 79.1 GiB" in written("sweep").partition("<script")[0]
    assert "time per output token (TPOT)" in written("llm").partition("<script")[0]
    assert "tokens/s per GPU" in written("search").partition("<script")[0]


def test_parts_of_a_step_are_the_step_and_parts_of_memory_the_device(
    written: Callable[[str], str],
) -> None:
    found = drawn(written("llm"))
    assert [s["what"][:6] for s in found["steps"]] == ["prompt", "decode"]
    for step in found["steps"]:
        assert sum(t for _, t in step["parts"]) == pytest.approx(step["time_s"])
        assert step["floor_s"] < step["time_s"]
    assert sum(size for _, size in found["memory"]) == pytest.approx(79.18 * 2**30, rel=1e-4)


def test_nothing_of_a_search_beats_its_front_as_simulated(written: Callable[[str], str]) -> None:
    dots = drawn(written("search"))["dots"]
    front = sorted((time_s, cost) for time_s, cost, _, is_best, _ in dots if is_best)
    assert len(front) > 3
    assert [cost for _, cost in front] == sorted((cost for _, cost in front), reverse=True)
    assert {target for _, _, target, _, _ in dots} == {"h100-sxm5-80gb", "l40s"}


def drawn(page: str) -> Any:
    """What the scripts of a page draw."""
    return json.loads(page.partition('id="data">')[2].partition("</script>")[0])


FUNCTION = re.compile(r"^(?:async )?function (\w+)", re.MULTILINE)
BOUND = re.compile(r"\b(?:const|let|function) (\w+)")
PAGES = {
    path.relative_to(HTML.parents[1]).as_posix(): re.findall(r'"(\w+)"', listed)
    for path in HTML.parents[1].glob("*/**/*page.py")
    for listed in re.findall(r"^SCRIPTS = \(([^)]*)\)", path.read_text("utf-8"), re.MULTILINE)
}


@pytest.mark.parametrize("page", sorted(PAGES))
def test_scripts_of_a_page_call_no_function_of_a_script_that_it_lacks(page: str) -> None:
    scripts = {p.stem: p.read_text("utf-8") for p in (HTML / "scripts").glob("*.js")}
    functions = {stem: {*FUNCTION.findall(text)} for stem, text in scripts.items()}
    known = {name for stem in PAGES[page] for name in BOUND.findall(scripts[stem])}
    # a chart draws itself, and a page without charts has none
    missing = set[str]().union(*functions.values()) - known - {"draw"}
    for stem in PAGES[page]:
        code = re.sub(r"//.*", "", scripts[stem])
        assert not missing & set(re.findall(r"(?<![.\w])(\w+)\(", code)), stem
