"""Pictures of the terminal and of the page for the documentation, of what perfc shows today.

    python benchmarks/screenshots.py [page]

Each command below runs here; its screen is written as SVG by rich. With ``page`` the HTML report is
photographed instead, by a headless Chromium: its bytes depend on the fonts of the machine.
"""

from __future__ import annotations

import io
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

import perfc
from perfc.report import collect, screen, terminal

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / "docs" / "screens"
WIDTH = 90
MODELS: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "resnet50": ("a100", {"batch": 8}),
    "gpt2": ("h100", {}),
}
_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_FAMILY = re.compile(r"font-family: (Fira Code|arial);?")


def picture(name: str) -> str:
    """The first screen of a model as SVG; the reader's own fonts draw it."""
    from rich.console import Console
    from rich.terminal_theme import MONOKAI

    target, dims = MODELS[name]
    sizes = "".join(f" --dim {symbol}={size}" for symbol, size in dims.items())
    report = perfc.analyze(ROOT / "examples" / "models" / f"{name}.onnx.gz", target, dims=dims)
    console = Console(
        file=io.StringIO(), width=WIDTH, record=True, force_terminal=True, highlight=False,
        color_system="standard",
    )  # fmt: skip
    terminal.show(screen.lines(collect(report), WIDTH), console)
    title = f"perfc analyze {name}.onnx.gz -t {target}{sizes}"
    drawn = console.export_svg(title=title, theme=MONOKAI, unique_id=name)
    return _FAMILY.sub("font-family: monospace;", _FONT.sub("", drawn))


def photograph(path: Path) -> None:
    """The first screen of the page of ResNet-50 as PNG; runs in the repository's root."""
    from playwright.sync_api import sync_playwright

    from perfc.html import page

    target, dims = MODELS["resnet50"]
    # the page says the path as it was given; that of the repository is nobody's business
    report = perfc.analyze("examples/models/resnet50.onnx.gz", target, dims=dims)
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.html"
        written.write_text(page(report, collect(report)), encoding="utf-8")
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
        tab.goto(written.as_uri())
        tab.wait_for_selector("#modules-chart canvas")
        tab.evaluate("() => new Promise((go) => requestAnimationFrame(() => setTimeout(go)))")
        tab.screenshot(path=path)
        browser.close()


if __name__ == "__main__" and sys.argv[1:] == ["page"]:
    photograph(ROOT / "docs" / "html.png")
elif __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for model in MODELS:
        (FOLDER / f"{model}.svg").write_text(picture(model), encoding="utf-8")
