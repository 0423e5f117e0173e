"""Reports, and their pages in a browser."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import onnx
import pytest
from onnx import TensorProto, helper

import perfc
from perfc import cli

from ..conftest import BrowserTab

if TYPE_CHECKING:
    from playwright.sync_api import Browser

MODELS = Path(__file__).parents[3] / "examples" / "models"
HOSTILE = (
    "</script><script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
)


@pytest.fixture(scope="session")
def resnet() -> perfc.Report:
    return perfc.analyze(MODELS / "resnet50.onnx.gz", "a100", dims={"batch": 8})


@pytest.fixture(scope="session")
def hostile() -> perfc.Report:
    """Every name that a file can hold is an attack."""
    names = [f"{HOSTILE}/{i}" for i in range(3)]
    nodes = [
        helper.make_node("MatMul", ["x", "w"], [names[0]], name=f"/{HOSTILE}/{HOSTILE}/a"),
        helper.make_node("Mystery", [names[0]], [names[1]], name=HOSTILE, domain=HOSTILE),
        helper.make_node("Relu", [names[1]], [names[2]], name="{{ 7 * 7 }}\u2028\x1b[31m\u202e"),
    ]
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [HOSTILE, 64])
    y = helper.make_tensor_value_info(names[2], TensorProto.FLOAT, None)
    w = helper.make_tensor("w", TensorProto.FLOAT, [64, 64], [0.0] * 4096)
    graph = helper.make_graph(nodes, HOSTILE, [x], [y], [w])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid(HOSTILE, 1)]
    return perfc.analyze(helper.make_model(graph, opset_imports=opsets, producer_name=HOSTILE))


def page_of(report: perfc.Report, folder: Path) -> str:
    """The page that is saved."""
    report.save(folder / "page.html")
    return (folder / "page.html").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def resnet_page(resnet: perfc.Report, tmp_path_factory: pytest.TempPathFactory) -> str:
    return page_of(resnet, tmp_path_factory.mktemp("page"))


@pytest.fixture(scope="session")
def compared_page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The page of a run and of the same one kernel by kernel."""
    out = tmp_path_factory.mktemp("compared") / "page.html"
    words = ["diff", str(MODELS / "resnet50.onnx.gz"), "-t", "a100", "--dim", "batch=8"]
    assert cli.run([*words, "--to", "runtime=eager", "-o", str(out)]) == 0
    return out.read_text(encoding="utf-8")


class Opened(BrowserTab):
    """A report in a tab."""

    def show(self, section: str) -> None:
        """Scroll to a section and wait for its chart."""
        self.tab.evaluate("s => document.getElementById(s).scrollIntoView()", section)
        self.tab.wait_for_function(
            "s => { const c = document.getElementById(`${s}-chart`);"
            " return !c || c.querySelector('canvas') !== null; }",
            arg=section,
        )
        self.tab.evaluate("() => new Promise((go) => requestAnimationFrame(() => setTimeout(go)))")

    def wait_for_text(self, selector: str, text: str) -> None:
        """Wait until an element says ``text``: charts are drawn when they come into view."""
        self.tab.locator(selector).filter(has_text=text).wait_for()

    def selected(self) -> list[str]:
        """Numbers of the kernels whose rows are marked."""
        rows = self.tab.locator("#table .row[aria-selected=true]")
        return [str(r.get_attribute("data-kernel")) for r in rows.all()]


class Opener:
    """Opens pages."""

    def __init__(self, browser: Browser, folder: Path) -> None:
        self.browser, self.folder = browser, folder

    def __call__(
        self, text: str, *, scheme: str = "light", width: int = 1280, fragment: str = ""
    ) -> Opened:
        path = self.folder / "report.html"
        path.write_text(text, encoding="utf-8")
        viewport = {"width": width, "height": 900}
        tab = self.browser.new_page(viewport=viewport, color_scheme=scheme)  # type: ignore[arg-type]
        found = Opened(tab)
        tab.goto(path.as_uri() + fragment)
        tab.wait_for_selector("html[data-ready]")
        return found


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Opener:
    return Opener(browser, tmp_path)


def chain(count: int) -> onnx.ModelProto:
    """``count`` nodes in a row without any path in their names."""
    nodes = [helper.make_node("Erf", [f"v{i}"], [f"v{i + 1}"], name=f"n{i}") for i in range(count)]
    x = helper.make_tensor_value_info("v0", TensorProto.FLOAT, [8])
    y = helper.make_tensor_value_info(f"v{count}", TensorProto.FLOAT, [8])
    graph = helper.make_graph(nodes, "chain", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)])
