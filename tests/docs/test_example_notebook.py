"""The example notebook runs, cell by cell, and its cells show what their text says.

The cells are plain Python. They are run here without Jupyter, which would add 105 MB to what tests
need.
"""

from __future__ import annotations

import ast
import json
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def shown(source: str, names: dict[str, Any]) -> object:
    """What a cell shows: the value of its last line where that is an expression."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    exec(compile(tree, "<cell>", "exec"), names)
    if not isinstance(last, ast.Expr):
        return None
    return eval(compile(ast.Expression(last.value), "<cell>", "eval"), names)


@pytest.fixture(scope="module")
def notebook() -> dict[str, Any]:
    (path,) = NOTEBOOKS
    result: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def test_every_cell_runs_and_shows_something_short(
    notebook: dict[str, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    # a base install has none
    monkeypatch.setitem(sys.modules, "pandas", None)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "models").symlink_to(ROOT / "examples" / "models")
    names: dict[str, Any] = {"__name__": "__main__"}
    cells = [c for c in notebook["cells"] if c["cell_type"] == "code"]
    outputs: list[str] = []
    for cell in cells:
        value = shown("".join(cell["source"]), names)
        html = getattr(value, "_repr_html_", lambda: None)()
        outputs.append(capsys.readouterr().out + ("" if value is None else repr(value)))
        assert len(outputs[-1]) < 4000, cell["id"]
        assert html is None or len(html) < 20_000
    everything = "\n".join(outputs)
    expected = ("NVIDIA A100", "limited by matrix units", "TensorRT", "h100-sxm5", "batch  64")
    for said in expected:
        assert said in everything
    assert {p.name for p in tmp_path.iterdir()} == {"models", "report.html", "report.json"}


def test_the_notebook_is_one_and_holds_no_outputs(notebook: dict[str, Any]) -> None:
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    ids = [cell["id"] for cell in notebook["cells"]]
    assert len(ids) == len(set(ids))
    for cell in notebook["cells"]:
        assert set(cell) >= {"cell_type", "id", "metadata", "source"}
        if cell["cell_type"] == "code":
            assert cell["outputs"] == []
            assert cell["execution_count"] is None
    text = "".join("".join(cell["source"]) for cell in notebook["cells"])
    for name in ("perfc.analyze(", "perfc.compare(", "perfc.op(", "sweep(", ".save("):
        assert name in text
