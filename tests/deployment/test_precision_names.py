"""One table of names for element types: every door takes them, and refuses what is none."""

from __future__ import annotations

from pathlib import Path

import pytest

import perfc
from perfc.analyzers.estimators import predictor
from perfc.analyzers.features.classes import classes
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.steps.setting import Precision, precision_of
from perfc.cli import run
from perfc.errors import ParseError, PerfcError
from perfc.frontend.lowering.elements import ELEMENT_BITS
from perfc.ir.tensors.types import DType, bits_of, dtype_named
from perfc.machine import load_machine
from perfc.review.check.config import load as load_budgets

RESNET = str(Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz")
SAME = {
    "f16": ("fp16", "half", "float16", "FLOAT16", "torch.float16"),
    "bf16": ("bfloat16", "BFLOAT16"),
    "f32": ("fp32", "float32", "float"),
    "f8e4m3": ("fp8", "f8", "float8_e4m3fn", "fp8_e4m3", "e4m3"),
    "f8e5m2": ("float8_e5m2", "fp8-e5m2"),
    "i8": ("int8", "INT8"),
    "i4": ("int4",),
    "f4e2m1": ("fp4", "float4_e2m1"),
}
SPELLED = [(name, code) for code, names in SAME.items() for name in (code, *names)]
STRANGE = ("fp7", "", "?", "f", "int", "float9_e1m1", "é" * 99)
MATMUL = {"m": [512.0], "n": [512.0], "k": [512.0]}


@pytest.mark.parametrize(("name", "code"), SPELLED)
def test_every_spelling_is_the_element_type(name: str, code: str) -> None:
    assert dtype_named(name).code == code


@pytest.mark.parametrize("name", STRANGE)
def test_what_is_no_element_type_is_refused(name: str) -> None:
    with pytest.raises(ParseError, match="no element type"):
        dtype_named(name)


def test_bits_are_those_of_the_type_wherever_they_are_read() -> None:
    assert {d.onnx: d.bits for d in DType if d.onnx > 0 and d.bits} == ELEMENT_BITS
    assert [bits_of(n) for n in ("fp8", "half", "tf32", "int4")] == [8, 16, 32, 4]


@pytest.mark.parametrize("class_name", ["matmul", "softmax", "convolution", "attention_prefill"])
def test_no_class_of_kernels_takes_an_unknown_type_for_32_bits(class_name: str) -> None:
    import numpy as np

    kind = classes()[class_name]
    rows = {n: np.array([64.0]) for n in (*kind.parameters, *kind.optional)}
    with pytest.raises(ParseError, match="no element type"):
        kind.amounts(rows, "fp7")


def test_the_operator_predictor_takes_every_spelling() -> None:
    machine = load_machine("h100")
    times = {
        name: predictor.predict("matmul", MATMUL, name, machine, Protocol.KERNELS).time_s[0]
        for name in ("f8e4m3", "fp8", "float8_e4m3fn")
    }
    assert len(set(times.values())) == 1
    with pytest.raises(ParseError, match="no element type 'fp7'"):
        predictor.predict("matmul", MATMUL, "fp7", machine, Protocol.KERNELS)


@pytest.mark.parametrize(
    ("name", "code"),
    [("fp8", "f8e4m3"), ("HALF", "f16"), ("float8_e4m3fn", "f8e4m3"), ("amp_fp16", "amp-f16")],
)
def test_the_api_and_the_command_line_agree(
    name: str, code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert perfc.analyze(RESNET, dtype=name).dtype == code
    assert run(["analyze", RESNET, "--no-predict", "--dtype", name]) == 0
    assert f"ONNX Runtime · {code}\n" in capsys.readouterr().out


@pytest.mark.parametrize("command", ["analyze", "diff", "lint", "roofline"])
def test_an_unknown_precision_is_one_line_at_every_door(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = {
        "analyze": ["analyze", RESNET],
        "diff": ["diff", RESNET, RESNET],
        "lint": ["lint", "--isolated", RESNET],
        "roofline": ["roofline", "a100", "--model", RESNET],
    }[command]
    assert run([*arguments, "--dtype", "fp7"]) == 2
    said = capsys.readouterr().err
    assert "no precision 'fp7'" in said
    assert said.count("\n") == 1


def test_a_budget_has_the_precision_as_perfc_writes_it(tmp_path: Path) -> None:
    file = tmp_path / "perfc.toml"
    file.write_text('[[budget]]\nmodel = "*.onnx"\ndtype = "fp16"\n')
    assert load_budgets(file).budgets[0].deployment.dtype == "f16"
    file.write_text('[[budget]]\nmodel = "*.onnx"\ndtype = "fp7"\n')
    with pytest.raises(PerfcError, match=r"perfc.toml:3: no precision 'fp7'"):
        load_budgets(file)


@pytest.mark.parametrize(
    ("name", "precision"),
    [
        ("fp16", Precision.F16),
        ("amp bfloat16", Precision.AMP_BF16),
        ("AMP_half", Precision.AMP_F16),
    ],
)
def test_whole_runs_take_the_same_names(name: str, precision: Precision) -> None:
    assert precision_of(name, "--precision") is precision
