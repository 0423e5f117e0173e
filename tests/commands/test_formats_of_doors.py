"""Every command that takes a model takes it in every format."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

from perfc import cli
from perfc.frontend.reading.folder import SUFFIXES
from tests.frontend.checkpoints.files import write_gguf
from tests.frontend.openvino.test_openvino import network as openvino_network
from tests.frontend.tflite.flat import network as tflite_network

FIXTURES = Path(__file__).parents[1] / "fixtures"

DOORS = (
    "analyze M -t a100 -q",
    "compare M -t a100,h100",
    "diff M M -t a100",
    "lint M -t a100 --exit-zero",
    "check M -t a100",
    "check --write-baseline M -t a100",
    "init M -t a100 --no-hook --force",
    "init . -t a100 --no-hook --force",
    "fit M -t a100",
    "sweep M --batch 1,2 -t a100",
    "roofline a100 M",
    "bulk M -t a100 -o out",
    "bulk . -t a100 -o out",
    "dev ir M",
)
MODEL = helper.make_model(
    helper.make_graph(
        [helper.make_node("Relu", ["x"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", 64])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["batch", 64])],
    ),
    opset_imports=[helper.make_opsetid("", 17)],
    ir_version=8,
)


def exported(path: Path) -> None:
    torch = pytest.importorskip("torch")
    batch = torch.export.Dim("batch", min=1, max=64)
    program = torch.export.export(
        torch.nn.ReLU(), (torch.randn(4, 64),), dynamic_shapes={"input": {0: batch}}
    )
    torch.export.save(program, path)


WRITTEN: dict[str, Callable[[Path], object]] = {
    "m.onnx": lambda path: path.write_bytes(MODEL.SerializeToString()),
    "m.onnx.gz": lambda path: path.write_bytes(gzip.compress(MODEL.SerializeToString())),
    "m.onnxtxt": lambda path: path.write_text(onnx.printer.to_text(MODEL)),
    "m.pt2": exported,
    "m.gguf": write_gguf,
    "m.tflite": lambda path: path.write_bytes(tflite_network().file()),
    "model.xml": lambda path: openvino_network().save(path.parent),
    "relax.json": lambda path: path.write_bytes((FIXTURES / "relax-0.27.json").read_bytes()),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_every_door_takes_every_format(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    WRITTEN[name](Path(name))
    # a folder is searched for files of models only
    doors = [door for door in DOORS if name.endswith(SUFFIXES) or " . " not in door]
    for door in doors:
        code = cli.run([name if word == "M" else word for word in door.split()])
        captured = capsys.readouterr()
        assert (code, "error" in captured.err) == (0, False), (door, captured)


@pytest.mark.parametrize("end", ["tflite", "mlir", "keras", "pdmodel", "stablehlo", "pir"])
def test_a_missing_file_of_any_format_is_no_name_on_the_hub(
    end: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["analyze", f"folder/m.{end}"]) == 2
    assert "o such file" in capsys.readouterr().err


def test_a_file_of_a_revision_is_no_module(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["diff", "absent:m.tflite", "m.tflite"]) == 2
    assert "git has no revision 'absent' here" in capsys.readouterr().err
