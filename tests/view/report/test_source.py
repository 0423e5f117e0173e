"""Lines of code have the kernels that they construct and call; only sources here are read."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc.view.html.payload import payload
from perfc.view.report import collect, document
from perfc.view.report.formats.document import Amount, Table
from perfc.view.report.formats.text import render as render_text
from perfc.view.report.sections.source import MOST_BYTES, code
from tests.frontend.test_placement import export

from .conftest import MODELS


def test_a_line_has_the_time_and_traffic_of_its_kernels(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "net.py").write_text("\n" * 9 + "    x = self.layer1(x)\n")
    monkeypatch.chdir(tmp_path)
    views = collect(perfc.analyze(export(), "t4", predictor="kernels"))
    (section,) = document(views, ("source",)).sections
    (table,) = (p for p in section.parts if isinstance(p, Table))
    here = [r for r in views.kernels if r.frames]
    assert {f for r in here for f in r.frames} == {"net.py:10", "parts/block.py:5"}
    assert len(table.rows) == 2
    for share, time_s, nbytes, kernels, _, _ in table.rows:
        assert time_s == sum(r.predicted.time_s for r in here if r.predicted)
        assert share == sum(r.predicted.share for r in here if r.predicted)
        sizes = [a.value for r in here for a in (r.read_bytes, r.write_bytes)]
        assert isinstance(nbytes, Amount)
        assert (nbytes.value, kernels) == (sum(s for s in sizes if s), len(here))
    assert "x = self.layer1(x)\n" in render_text(document(views, ("source",)), 99)


def test_the_page_has_the_lines_of_each_kernel() -> None:
    report = perfc.analyze(export(), "t4", predictor="kernels")
    page: Any = payload(report, collect(report))
    assert "net.py:10\nparts/block.py:5" in page["kernels"]["frames"]["texts"]


def test_a_model_without_lines_says_what_has_them() -> None:
    report = perfc.analyze(MODELS / "resnet50.onnx.gz")
    text = render_text(document(collect(report, predict=False), ("source",)), 99)
    assert "no line of code is known: give a module by name" in text


@pytest.mark.parametrize(
    "name",
    ["../outside.py", "/etc/passwd", "notes.txt", "link.py", "pipe.py", "large.py", "a\0.py"],
)
def test_other_files_are_not_read(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for file in ("../outside.py", "notes.txt"):
        Path(file).write_text("secret = 1\n")
    Path("link.py").symlink_to("../outside.py")
    os.mkfifo("pipe.py")
    Path("large.py").write_text("secret = 1\n" + " " * MOST_BYTES)
    assert code(name, 1) == ""
