"""``perfc dev ir``, ``perfc dev opt`` and ``perfc dev passes``."""

from __future__ import annotations

import io
import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfc import cli

TEXT = """\
perfir 1
module @m
dim N in 1..64 = 1

graph @main(%x: f32[N, 4], %w: f32[4, 8]) {
  %1 = matmul(%x, %w) : ?
  %2 = relu(%1) : ?
  return %2
}
"""
RESNET = Path(__file__).resolve().parents[2] / "examples" / "models" / "resnet50.onnx.gz"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("m.pir").write_text(TEXT)


def said(capsys: pytest.CaptureFixture[str], line: str, code: int = 0) -> tuple[str, str]:
    """Return what a command of ``perfc dev`` prints, on standard output and on standard error."""
    assert cli.run(["dev", *shlex.split(line)]) == code
    return capsys.readouterr()


def test_ir_prints_types_and_facts_and_parses_back(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = said(capsys, "ir m.pir --dim N=8 --facts cost")
    assert "dim N in 1..64 = 8" in out
    assert "%2 = relu(%1) : f32[N, 8]" in out
    assert "    ! cost {mac=32*N, " in out
    assert said(capsys, f"ir {RESNET} -o net.pir") == ("", "")
    text = Path("net.pir").read_text()
    assert text.count("= conv(") == 53
    assert "?" not in text.replace("=?", "")
    assert said(capsys, "ir net.pir -p ''") == (text, "")
    assert said(capsys, "ir m.pir -p ''") == (TEXT, "")
    assert "No such file" in said(capsys, "ir m.pir -o nowhere/out.pir", 2)[1]


def test_opt_watches_passes_of_standard_input(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(TEXT))
    options = "--time-passes --verify-each --print-ir-after cost --dump-ir dump"
    out, err = said(capsys, f"opt - -p shapes,cost --dim N=8 {options}")
    assert "dim N in 1..64 = 8" in out
    assert "matmul(%x, %w) : f32[N, 8]" in out
    assert "ms  shapes" in err
    assert "ms  total" in err
    assert "# after cost\nperfir 1" in err
    assert "# after shapes" not in err
    assert sorted(p.name for p in Path("dump").iterdir()) == ["000-shapes.pir", "001-cost.pir"]
    _, every = said(capsys, "opt m.pir -p shapes,cost --print-ir-after-all")
    assert "# after shapes" in every
    assert "# after cost" in every
    assert "ms  total" not in every


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (TEXT.replace("f32[4, 8]", "f32[5, 8]", 1).encode(), "m.pir:6:8: matmul: contracted ext"),
        (TEXT.replace("(%x, %w)", "(%2, %w)").encode(), "m.pir:6:15: %2 is used before"),
        (b"\xff\xfe\x00", "m.pir: is not text in UTF-8"),
    ],
    ids=["operands", "order", "bytes"],
)
def test_text_that_is_wrong_is_an_error_at_its_place(
    content: bytes, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("m.pir").write_bytes(content)
    assert words in said(capsys, "opt m.pir -p shapes", 2)[1]
    assert cli.run(["analyze", "m.pir"]) == 2
    assert capsys.readouterr().err.count("m.pir") == 1


def test_passes_are_listed_with_kind_and_summary(capsys: pytest.CaptureFixture[str]) -> None:
    lines = said(capsys, "passes")[0].splitlines()
    assert "shapes" in [line.split()[0] for line in lines]
    assert {line.split()[1] for line in lines if line[0] != " "} == {"analysis", "transform"}


def test_verifying_each_pass_finds_the_one_that_breaks_the_module(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, module: Any, am: object) -> Any:
        graph = module.graph
        return replace(module, graph=replace(graph, nodes=graph.nodes[1:]))

    monkeypatch.setattr("perfc.passes.rewriting.canonicalize.Canonicalize.run", broken)
    _, err = said(capsys, "opt -p canonicalize --verify-each m.pir", 2)
    assert "after pass canonicalize: relu 2: %1 is used before" in err
    said(capsys, "opt -p canonicalize m.pir")
