"""Models that a converter in another process reads, and folders of runtimes."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from perfc.errors import MissingExtraError, ModelError
from perfc.frontend import load
from perfc.frontend.conversion import reader, worker
from perfc.frontend.conversion.convertible import Convertible, source_of

EXAMPLES = Path(__file__).parents[2] / "examples" / "models"
DOCUMENT = """<net name="n" version="11"><layers>
<layer id="0" name="x" type="Parameter"><data shape="?,4" element_type="f32"/>
<output><port id="0" precision="FP32" names="x"><dim>-1</dim><dim>4</dim></port></output></layer>
<layer id="1" name="y" type="ReLU"><input><port id="0"/></input>
<output><port id="1" precision="FP32"><dim>-1</dim><dim>4</dim></port></output></layer>
<layer id="2" name="z" type="Result"><input><port id="0"/></input></layer></layers><edges>
<edge from-layer="0" from-port="0" to-layer="1" to-port="0"/>
<edge from-layer="1" from-port="1" to-layer="2" to-port="0"/></edges></net>"""
HDF5 = b"\x89HDF\r\n\x1a\n"


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "saved_model.pb").write_bytes(b"\x08\x01\x12\x00")
    return folder


class Converter:
    """Substitute of the process: writes a document, or ends without one."""

    def __init__(self, answer: dict[str, Any] | None) -> None:
        self.answer = answer
        self.command: list[str] = []

    def __call__(self, command: list[str], **_: Any) -> SimpleNamespace:
        self.command = command
        made, reply = command[-2:]
        if self.answer is not None:
            Path(made).write_text(DOCUMENT)
            Path(reply).write_text(json.dumps(self.answer))
        return SimpleNamespace(returncode=9, stderr="Traceback\nMemoryError: too large")


@pytest.mark.parametrize(
    ("name", "content", "source"),
    [
        ("net.keras", b"PK\x03\x04", Convertible.KERAS),
        ("net.h5", HDF5, Convertible.KERAS),
        ("net.pdmodel", b"\n\x02", Convertible.PADDLE),
        ("net.pb", b"\n\x02", Convertible.FROZEN),
        ("saved_model.pb", b"\x08\x01", Convertible.SAVED_MODEL),
        ("net.pb", b"\x08\x07", None),
        ("net.onnx", b"\x08\x07", None),
    ],
)
def test_a_source_is_known_by_name_and_first_bytes(
    name: str, content: bytes, source: Convertible | None
) -> None:
    assert source_of(name, content) is source


def test_a_converted_model_is_read(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = Converter({})
    monkeypatch.setattr(subprocess, "run", process)
    module = load(saved)
    assert [n.op.mnemonic for n in module.graph.nodes] == ["relu"]
    assert module.origin is not None
    assert module.origin.path == str(saved)
    assert process.command[-4:-2] == [str(saved), "SAVED_MODEL"]
    # the file in the folder is the folder
    load(saved / "saved_model.pb")
    assert process.command[-4] == str(saved)


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        ({"missing": "openvino"}, MissingExtraError, "pip install 'openvino>="),
        ({"error": "it fails"}, ModelError, "saved: it fails .convert it to ONNX"),
        (None, ModelError, "its process ended: MemoryError: too large"),
    ],
)
def test_failures_of_the_converter_are_one_line(
    saved: Path,
    monkeypatch: pytest.MonkeyPatch,
    answer: dict[str, Any] | None,
    kind: type,
    message: str,
) -> None:
    monkeypatch.setattr(subprocess, "run", Converter(answer))
    with pytest.raises(kind, match=message) as raised:
        load(saved)
    assert "\n" not in str(raised.value)


def test_a_conversion_has_a_time_limit(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def late(*_: Any, timeout: float, **__: Any) -> None:
        raise subprocess.TimeoutExpired("python", timeout)

    monkeypatch.setattr(subprocess, "run", late)
    monkeypatch.setattr(reader, "LONGEST_S", 5)
    with pytest.raises(ModelError, match="not converted in 5 s"):
        load(saved)


def test_a_missing_converter_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "openvino", None)
    reply = tmp_path / "reply.json"
    worker.main("model", "FROZEN", str(tmp_path / "m.xml"), str(reply))
    assert json.loads(reply.read_text()) == {"missing": "openvino"}


def test_an_old_keras_that_runs_code_of_a_file_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keras = ModuleType("keras")
    keras.__version__ = "3.5.0"  # type: ignore[attr-defined]
    for name, module in (("openvino", ModuleType("o")), ("tensorflow", ModuleType("t"))):
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setitem(sys.modules, "keras", keras)
    reply = tmp_path / "reply.json"
    worker.main("net.h5", "KERAS", str(tmp_path / "m.xml"), str(reply))
    assert "may run code of the file" in json.loads(reply.read_text())["error"]


def test_the_decoder_of_a_folder_is_read(tmp_path: Path) -> None:
    shutil.copy(EXAMPLES / "resnet50.onnx.gz", tmp_path / "decoder.onnx")
    config = {"model": {"decoder": {"filename": "decoder.onnx"}}}
    (tmp_path / "genai_config.json").write_text(json.dumps(config))
    assert load(tmp_path).graph.nodes
    config["model"]["decoder"]["filename"] = "../decoder.onnx"
    (tmp_path / "genai_config.json").write_text(json.dumps(config))
    with pytest.raises(ModelError, match="names no ONNX model of the folder"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("net.mlmodel", b"\x08\x05", "a Core ML model"),
        ("net.mlpackage", None, "a Core ML model"),
        ("net.pte", b"\x1c\0\0\0ET12\0\0", "an ExecuTorch program"),
    ],
)
def test_models_of_phones_are_refused_with_the_way_out(
    tmp_path: Path, name: str, content: bytes | None, message: str
) -> None:
    path = tmp_path / name
    path.mkdir() if content is None else path.write_bytes(content)
    with pytest.raises(ModelError, match=rf"{message} \(give the"):
        load(path)
