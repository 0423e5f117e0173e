"""``perfc dev ir``, ``perfc dev opt`` and ``perfc dev passes``."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from perfc.commands.dev import ir, opt, passes
from perfc.commands.shared.options import parse_dims
from perfc.errors import ModelError, ParseError, PassError, ShapeError
from perfc.ir.graph import Module
from perfc.ir.syntax.parse import parse_module
from perfc.ir.syntax.text import print_module
from perfc.passes.rewriting.canonicalize import Canonicalize

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


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "m.pir"
    path.write_text(TEXT)
    return str(path)


def invoke(command: object, *args: str, stdin: str | None = None) -> Result:
    return CliRunner().invoke(command, args, input=stdin, catch_exceptions=False)  # type: ignore[arg-type]


def test_ir_prints_every_type_and_parses_back(model: str) -> None:
    out = invoke(ir.command, model, "--dim", "N=8").stdout
    assert print_module(parse_module(out)) == out
    assert "dim N in 1..64 = 8" in out
    assert "%2 = relu(%1) : f32[N, 8]" in out


def test_ir_prints_facts_when_asked(model: str) -> None:
    out = invoke(ir.command, model, "--facts", "cost").stdout
    assert "    ! cost {mac=32*N, " in out


def test_ir_reads_a_model_of_the_repository() -> None:
    path = Path(__file__).resolve().parents[2] / "examples" / "models" / "resnet50.onnx.gz"
    out = invoke(ir.command, str(path)).stdout
    assert out.count("= conv(") == 53
    assert "?" not in out.replace("=?", "")
    assert print_module(parse_module(out)) == out


def test_ir_writes_a_file(model: str, tmp_path: Path) -> None:
    target = tmp_path / "out.pir"
    assert invoke(ir.command, model, "-p", "", "-o", str(target)).stdout == ""
    assert target.read_text() == TEXT
    with pytest.raises(ModelError, match="No such file"):
        invoke(ir.command, model, "-o", str(tmp_path / "nowhere" / "out.pir"))


def test_opt_reads_standard_input() -> None:
    out = invoke(opt.command, "-", "-p", "shapes", stdin=TEXT).stdout
    assert "matmul(%x, %w) : f32[N, 8]" in out


def test_opt_watches_passes(model: str, tmp_path: Path) -> None:
    dump = tmp_path / "dump"
    options = ["--time-passes", "--verify-each", "--print-ir-after", "cost", "--dump-ir", str(dump)]
    result = invoke(opt.command, model, "-p", "shapes,cost", *options)
    assert "ms  shapes" in result.stderr
    assert "ms  total" in result.stderr
    assert "# after cost\nperfir 1" in result.stderr
    assert "# after shapes" not in result.stderr
    assert sorted(p.name for p in dump.iterdir()) == ["000-shapes.pir", "001-cost.pir"]
    everything = invoke(opt.command, model, "-p", "shapes,cost", "--print-ir-after-all").stderr
    assert "# after shapes" in everything
    assert "# after cost" in everything


def test_opt_names_the_position_of_operands_that_do_not_go_together(tmp_path: Path) -> None:
    path = tmp_path / "bad.pir"
    path.write_text(TEXT.replace("%w: f32[4, 8]", "%w: f32[5, 8]"))
    with pytest.raises(ShapeError, match=r"bad\.pir:6:8: matmul: contracted extents differ"):
        invoke(opt.command, str(path), "-p", "shapes")


def test_opt_refuses_what_is_not_text(tmp_path: Path) -> None:
    path = tmp_path / "bad.pir"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ModelError, match="is not text in UTF-8"):
        invoke(opt.command, str(path), "-p", "shapes")


@pytest.mark.parametrize(
    ("binding", "message"),
    [("N", "'N' is not NAME=N"), ("N=x", "'N=x'"), ("N=-1", "N = -1 is no extent"), ("=1", "'=1'")],
)
def test_bindings_that_are_not_are_refused(binding: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse_dims((binding,))


def test_bindings_may_be_repeated_or_joined() -> None:
    assert parse_dims(("batch=8,seq=128", "a=b=3")) == {"batch": 8, "seq": 128, "a=b": 3}
    assert parse_dims(()) == {}


@pytest.mark.parametrize(
    ("binding", "message"),
    [("M=1", r"no symbol M \(the model has N\)"), ("N=65", "N=65 is outside 1..64")],
)
def test_bindings_the_model_does_not_allow_are_refused(
    model: str, binding: str, message: str
) -> None:
    with pytest.raises(ParseError, match=message):
        invoke(opt.command, model, "-p", "shapes", "--dim", binding)


def test_passes_lists_every_pass_with_its_summary() -> None:
    out = invoke(passes.command).stdout
    assert "shapes  " in out
    assert "transform" in out


def test_verifying_each_pass_finds_the_one_that_breaks_the_module(
    model: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(self: object, module: Module, am: object) -> Module:
        graph = module.graph
        return replace(module, graph=replace(graph, nodes=graph.nodes[1:]))

    monkeypatch.setattr(Canonicalize, "run", broken)
    with pytest.raises(PassError, match="after pass canonicalize: relu 2: %1 is used before"):
        invoke(opt.command, "--passes", "canonicalize", "--verify-each", model)
    assert invoke(opt.command, "--passes", "canonicalize", model).exit_code == 0
