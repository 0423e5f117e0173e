"""The command line: reports, errors, help and files."""

from __future__ import annotations

import json
import stat
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from perfc import __version__, cli

RESNET = Path(__file__).resolve().parents[2] / "examples" / "models" / "resnet50.onnx.gz"


@pytest.fixture(autouse=True)
def _plain_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setenv("NO_COLOR", "1")


@pytest.fixture
def mystery(tmp_path: Path) -> Path:
    """A model with an operator nobody knows."""
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 64])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 64])
    node = helper.make_node("Mystery", ["x"], ["y"], name="secret", domain="acme")
    graph = helper.make_graph([node], "g", [x], [y])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("acme", 1)]
    path = tmp_path / "mystery.onnx"
    onnx.save(helper.make_model(graph, opset_imports=opsets), path)
    return path


def test_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--version"]) == 0
    assert capsys.readouterr().out == f"perfc {__version__}\n"


def test_help_lists_every_command_in_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["--help"]) == 0
    listed = capsys.readouterr().out.partition("Commands: ")[2].splitlines()
    lines = [line for line in listed if line.startswith("  ") and line[2] != " "]
    assert all(len(line.split()) > 2 and "`" not in line for line in lines)
    names = [line.split()[0] for line in lines]
    assert len(names) == len({*names})
    for name in names:
        assert cli.run([name, "--help"]) == 0
        assert capsys.readouterr().out.startswith(f"Usage: perfc {name} ")


@pytest.mark.parametrize("args", [[], ["targets"], ["data"]])
def test_without_a_command_its_help_is_a_page_on_standard_error(
    args: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(args) == 2
    page = capsys.readouterr().err
    assert page.startswith("Usage: perfc")
    assert len(page.splitlines()) > 5, "no single line"


def test_traceback_is_shown_only_with_debug(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["analyze", "nowhere.onnx"]) == 2
    assert "Traceback" not in capsys.readouterr().err
    for args in (["--debug", "analyze", "nowhere.onnx"], ["analyze", "nowhere.onnx", "--debug"]):
        assert cli.run(args) == 2
        assert "Traceback" in capsys.readouterr().err


def test_bug_is_one_line_that_asks_for_a_report(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(args: list[str]) -> int:
        raise ZeroDivisionError("a surprise")

    monkeypatch.setattr("perfc.commands.cli.invoke", fail)
    assert cli.run(["analyze", "m.onnx"]) == 2
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "ZeroDivisionError: a surprise" in error
    assert "report it with 'perfc --debug analyze m.onnx'" in error


def test_interrupt_is_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def interrupted(args: list[str]) -> int:
        raise KeyboardInterrupt

    monkeypatch.setattr("perfc.commands.cli.invoke", interrupted)
    assert cli.run(["analyze", "m.onnx"]) == 130
    assert capsys.readouterr().err == ""


def test_incomplete_analysis_is_three_only_when_strict(
    mystery: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["analyze", str(mystery)]) == 0
    lax = capsys.readouterr()
    assert lax.err == ""
    assert cli.run(["analyze", str(mystery), "--strict"]) == 3
    strict = capsys.readouterr()
    assert strict.out == lax.out
    assert strict.err.startswith("incomplete: ")
    assert "Mystery" in strict.err
    short = ["-q", "--output-format", "json"], ["-o", str(mystery.with_name("timed.onnx"))]
    for more in short:
        assert cli.run(["analyze", str(mystery), "--strict", *more]) == 3
    assert cli.run(["analyze", str(RESNET), "--strict"]) == 0


@pytest.mark.parametrize("form", ["text", "json", "markdown", "csv"])
def test_file_holds_what_would_have_been_printed(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["analyze", str(RESNET), "--output-format", form]
    assert cli.run(args) == 0
    printed = capsys.readouterr().out
    target = tmp_path / "report"
    target.write_text("old")
    target.chmod(0o640)
    assert cli.run([*args, "-o", str(target)]) == 0
    assert capsys.readouterr().out == ""
    assert target.read_text(encoding="utf-8") == printed
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [target]


def test_failed_analysis_leaves_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "report"
    target.write_text("old")
    assert cli.run(["analyze", "nowhere.onnx", "-o", str(target)]) == 2
    assert target.read_text() == "old"


@pytest.mark.parametrize(
    ("spelling", "dtype"),
    [("fp16", "f16"), ("FP16", "f16"), ("bfloat16", "bf16"), ("tf32", "tf32")],
)
def test_spellings_of_types_are_understood(
    spelling: str, dtype: str, capsys: pytest.CaptureFixture[str]
) -> None:
    args = ["analyze", str(RESNET), "--dtype", spelling, "--output-format", "json"]
    assert cli.run(args) == 0
    assert json.loads(capsys.readouterr().out)["assumptions"]["dtype"] == dtype


def test_without_tf32_products_take_longer(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["analyze", str(RESNET), "--dim", "batch=8", "--output-format", "json"]
    times = []
    for extra in ([], ["--no-tf32"]):
        assert cli.run([*args, *extra]) == 0
        times.append(json.loads(capsys.readouterr().out)["summary"]["sustained_s"]["value"])
    assert times[1] > 2 * times[0]


def test_dims_may_be_repeated_or_joined(capsys: pytest.CaptureFixture[str]) -> None:
    gpt2 = str(RESNET.parent / "gpt2.onnx.gz")
    outputs = []
    for dims in (["--dim", "batch=2,seq=64"], ["--dim", "batch=2", "--dim", "seq=64"]):
        assert cli.run(["analyze", gpt2, *dims, "--view", "summary"]) == 0
        outputs.append(capsys.readouterr().out)
    assert outputs[0] == outputs[1]


def test_values_drive_shapes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [24])
    s = helper.make_tensor_value_info("s", TensorProto.INT64, [2])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, None)
    nodes = [
        helper.make_node("Expand", ["x", "s"], ["e"], name="grow"),
        helper.make_node("Exp", ["e"], ["y"], name="exp"),
    ]
    graph = helper.make_graph(nodes, "g", [x, s], [y])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)]), path)
    args = ["analyze", str(path), "--strict", "--view", "summary"]
    assert cli.run([*args, "--value", "s=10,24"]) == 0
    assert "240 flop" in capsys.readouterr().out
    assert cli.run([*args, "--value", "s=[10, 24]"]) == 0
    assert "240 flop" in capsys.readouterr().out
    assert cli.run(args) == 3


def test_time_and_ir_of_passes_go_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    args = ["analyze", str(RESNET), "--time-passes", "--print-ir-after", "shapes"]
    assert cli.run(args) == 0
    result = capsys.readouterr()
    assert "# after shapes" in result.err
    assert "ms  roofline" in result.err
    assert "# after" not in result.out
