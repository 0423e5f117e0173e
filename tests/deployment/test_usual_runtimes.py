"""The runtime of a model where none is given: that of its format, if it runs on the target."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

import perfc
from perfc.deployment import Deployment
from perfc.frontend.reading.module_name import NamedModule
from perfc.view.report import Verdict

GPU, PROCESSOR = "a100", "xeon-gold-6148"
HEADS = {
    "m.tflite": b"\x1c\0\0\0TFL3",
    "m.xml": b"<?xml version='1.0'?><net/>",
    "m.pt2": b"PK\x03\x04",
    "m.mlir": b"module {}",
    "m.keras": b"PK\x03\x04",
    "m.pdmodel": b"\n",
    "m.onnx": b"\x08\x07",
}


@pytest.mark.parametrize(
    ("name", "processor", "gpu"),
    [
        ("m.tflite", "litert", "ort"),
        ("m.xml", "openvino", "ort"),
        ("m.pt2", "eager", "eager"),
        ("m.mlir", "xla", "xla"),
        ("m.keras", "tensorflow", "tensorflow"),
        ("m.pdmodel", "paddle", "paddle"),
        ("m.onnx", "ort-cpu-blocked", "ort"),
        ("timm:resnet18", "eager", "eager"),
    ],
)
def test_files_run_where_their_format_is_from(
    tmp_path: Path, name: str, processor: str, gpu: str
) -> None:
    path = name
    if name in HEADS:
        file = tmp_path / name
        file.write_bytes(HEADS[name])
        path = str(file)
    for target, usual in ((PROCESSOR, processor), (GPU, gpu)):
        assert Deployment(target=target).for_model(path).table.name == usual
        assert Deployment(target=target, runtime="inductor").for_model(path).runtime == "inductor"
    moved = Deployment(target=PROCESSOR).for_model(path).with_values({"target": GPU})
    assert moved.for_model(path).table.name == gpu


def test_functions_of_jax_run_under_xla() -> None:
    assert Deployment().for_model(NamedModule("package:f", is_jax=True)).runtime == "xla"
    assert Deployment().for_model(NamedModule("package:f")).runtime == "eager"


def test_a_runtime_that_stands_in_is_said_in_words() -> None:
    report = perfc.analyze("examples/models/resnet50.onnx.gz", PROCESSOR)
    assert Verdict.of(report).runtime == "ONNX Runtime"
    source = report.source
    model = replace(source, origin=replace(source.origin, producer="OpenVINO"))
    there = perfc.analyze(model, PROCESSOR)
    assert Verdict.of(there).runtime == "OpenVINO"
    assert Verdict.of(there.with_(GPU)).runtime == "as under ONNX Runtime"
    assert Verdict.of(there.with_(GPU, runtime="eager")).runtime == "eager"
