"""Makes and checks every picture and printed screen of the documentation.

    python -m benchmarks.pictures [--check]

Each command runs here. Its screen is written as SVG by rich, as text into README.md and into the
blocks of docs/report.md that show a section; the HTML report is photographed by a headless
Chromium, where there is one. With ``--check`` nothing is written; what is out of date is listed and
the exit code is 1. Bytes of the photograph depend on the fonts of the machine, so that the line of
its answer is stored in the file and compared.
"""

from __future__ import annotations

import io
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import perfc
from perfc.view.report import collect
from perfc.view.report.formats import screen, terminal

ROOT = Path(__file__).resolve().parents[1]
SCREENS = ROOT / "docs" / "screens"
PHOTOGRAPH = ROOT / "docs" / "html.png"
README = ROOT / "README.md"
PAGE = ROOT / "docs" / "report.md"
WIDTH = 90
MODELS: Mapping[str, tuple[str, Mapping[str, int]]] = {
    "resnet50": ("a100", {"batch": 8}),
    "gpt2": ("h100", {}),
}
_FONT = re.compile(r"\s*@font-face \{.*?\}", re.DOTALL)
_FAMILY = re.compile(r"font-family: (Fira Code|arial);?")
_BLOCK = re.compile(r"^```(\w*)\n(.*?)^```\n", re.DOTALL | re.MULTILINE)
_COMMAND = re.compile(r"^(?:pip install .* && )?perfc (analyze .*)$", re.MULTILINE)


def analyzed(name: str) -> perfc.Report:
    """Return the report of a model of the documentation, by a path that is the same everywhere."""
    target, dims = MODELS[name]
    return perfc.analyze(f"examples/models/{name}.onnx.gz", target, dims=dims)


def picture(name: str) -> str:
    """Return the first screen of a model as SVG; the reader's own fonts draw it."""
    from rich.console import Console
    from rich.terminal_theme import MONOKAI

    target, dims = MODELS[name]
    sizes = "".join(f" --dim {symbol}={size}" for symbol, size in dims.items())
    report = perfc.analyze(ROOT / "examples" / "models" / f"{name}.onnx.gz", target, dims=dims)
    console = Console(
        file=io.StringIO(),
        width=WIDTH,
        record=True,
        force_terminal=True,
        highlight=False,
        color_system="standard",
    )
    terminal.show(screen.lines(collect(report), WIDTH), console)
    title = f"perfc analyze {name}.onnx.gz -t {target}{sizes}"
    drawn = console.export_svg(title=title, theme=MONOKAI, unique_id=name)
    return _FAMILY.sub("font-family: monospace;", _FONT.sub("", drawn))


def answer_line() -> str:
    """Return the answer that the photographed page shows, in one line."""
    return screen.verdict_line(collect(analyzed("resnet50")).verdict)


def photograph(path: Path) -> None:
    """Write the first screen of the page of ResNet-50 as PNG; runs in the repository's root."""
    from playwright.sync_api import sync_playwright

    from perfc.view.html import page

    report = analyzed("resnet50")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        written = Path(folder) / "report.html"
        written.write_text(page(report, collect(report)), encoding="utf-8")
        browser = play.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        tab = browser.new_page(viewport={"width": 1440, "height": 900}, color_scheme="light")
        tab.goto(written.as_uri())
        tab.wait_for_selector("#modules-chart canvas")
        tab.evaluate("() => new Promise((go) => requestAnimationFrame(() => setTimeout(go)))")
        image = tab.screenshot()
        browser.close()
    path.write_bytes(with_text(image, answer_line()))


def with_text(image: bytes, line: str) -> bytes:
    """Return a PNG with ``line`` as its description, in front of its last chunk."""
    # zeros: end of the keyword, not compressed (2), no language, no translated keyword
    body = b"iTXt" + b"Description\0\0\0\0\0" + line.encode()
    chunk = struct.pack(">I", len(body) - 4) + body + struct.pack(">I", zlib.crc32(body))
    return image[:-12] + chunk + image[-12:]  # the last chunk, IEND, has 12 bytes


def text_of(image: bytes) -> str:
    """Return the description of a PNG; "" where it has none."""
    match = re.search(rb"(.{4})iTXtDescription\0{5}", image, re.DOTALL)
    if match is None:
        return ""
    length = struct.unpack(">I", match[1])[0] - len(b"Description\0\0\0\0\0")
    return image[match.end() : match.end() + length].decode()


def printed(page: str) -> dict[str, str]:
    """Return the output of the page's commands by the first words of each block.

    A first screen is one block, a whole report one for each section.
    """
    blocks: list[str] = []
    for command in _COMMAND.findall(page):
        is_full = "--full" in command
        width = "110" if is_full else "80"
        result = subprocess.run(
            [sys.executable, "-m", "perfc", *command.split()],
            cwd=ROOT,
            env={"COLUMNS": width, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=True,
        )
        shown = result.stdout.rstrip("\n")
        blocks += shown.split("\n\n") if is_full else [shown]
    return {heading(block): f"{block}\n" for block in blocks}


def heading(section: str) -> str:
    """Return the words of a section up to a colon; of a first screen the model and machine."""
    return section.partition("\n")[0].partition(":")[0].partition(" · ")[0]


def renewed(page: str) -> str:
    """Return the page with every block that shows a section as it is printed now."""
    sections = printed(page)

    def block(match: re.Match[str]) -> str:
        content = sections.get(heading(match[2]), match[2]) if not match[1] else match[2]
        return f"```{match[1]}\n{content}```\n"

    return _BLOCK.sub(block, page)


def written() -> Iterator[tuple[Path, str]]:
    """Yield every file of text that this script writes, with its content of today."""
    for model in MODELS:
        yield SCREENS / f"{model}.svg", picture(model)
    for page in (README, PAGE):
        yield page, renewed(page.read_text(encoding="utf-8"))


def stale() -> list[str]:
    """Return the files of the documentation that do not show what perfc prints today."""
    paths = [str(p.relative_to(ROOT)) for p, text in written() if p.read_text("utf-8") != text]
    if text_of(PHOTOGRAPH.read_bytes()) != answer_line():
        paths.append(str(PHOTOGRAPH.relative_to(ROOT)))
    return paths


def main() -> int:
    """Write all files, or list those that are out of date."""
    if sys.argv[1:] == ["--check"]:
        for name in (paths := stale()):
            print(f"{name}: python -m benchmarks.pictures")
        return bool(paths)
    for path, text in written():
        path.write_text(text, encoding="utf-8")
    if text_of(PHOTOGRAPH.read_bytes()) != answer_line():
        photograph(PHOTOGRAPH)
    return 0


if __name__ == "__main__":
    sys.exit(main())
