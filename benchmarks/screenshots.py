"""Pictures of the terminal for the documentation, drawn from what perfc prints today.

    python benchmarks/screenshots.py

Each command below runs here; its screen is written as SVG by rich.
"""

from __future__ import annotations

import io
import re
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


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for model in MODELS:
        (FOLDER / f"{model}.svg").write_text(picture(model), encoding="utf-8")
