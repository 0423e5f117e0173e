"""Runtimes have other names, which mean the same wherever a runtime is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc import cli
from perfc.deployment import Deployment
from perfc.errors import ParseError, PassError
from perfc.passes.runtimes import runtime, tables

MODEL = Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz"
ALIASES = [("trt", "tensorrt"), ("onnxruntime", "ort"), ("torch", "eager"), ("pytorch", "eager")]
ALIASES += [("torch.compile", "inductor")]


@pytest.mark.parametrize(("alias", "name"), ALIASES)
def test_an_alias_is_the_runtime(alias: str, name: str) -> None:
    assert runtime(alias) is runtime(name)
    assert runtime(f"{alias}:2") == runtime(f"{name}:2")
    assert runtime(f"{alias}:2").name == f"{name}:2"
    assert Deployment().with_values({"runtime": alias}).runtime == name
    assert Deployment().with_values({"runtime": f"{alias}:3"}).table_name == f"{name}:3"


def test_no_name_is_of_two_runtimes() -> None:
    names = [name for table in tables() for name in (table.name, *table.aliases)]
    assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("slip", "meant"),
    [("tensort", "tensorrt"), ("onnxruntim", "onnxruntime"), ("pytorh", "pytorch")],
)
def test_a_slip_is_answered_by_what_could_be_meant(slip: str, meant: str) -> None:
    with pytest.raises(PassError, match=f"did you mean {meant}"):
        runtime(slip)
    with pytest.raises(ParseError, match=f"did you mean {meant}"):
        Deployment().with_values({"runtime": slip})


def test_no_number_of_streams_is_an_error_of_an_alias_too() -> None:
    for name in ("trt:", "tensorrt:", "trt:0"):
        with pytest.raises(PassError, match="no number of streams"):
            runtime(name)


def test_commands_take_aliases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*words: str) -> str:
        assert cli.run([*words]) == 0
        return capsys.readouterr().out

    monkeypatch.chdir(tmp_path)
    model = str(MODEL)
    assert told("analyze", model, "-q", "--runtime", "trt") == told(
        "analyze", model, "-q", "--runtime", "tensorrt"
    )
    rows = told("compare", model, "-t", "a100", "--runtime", "torch,trt", "--output-format", "csv")
    assert [line.split(",")[3] for line in rows.splitlines()[1:]] == ["tensorrt", "eager"]
    (tmp_path / "perfc.toml").write_text('[deployment]\nruntime = "pytorch"\n')
    by_file = told("analyze", model, "-q")
    (tmp_path / "perfc.toml").write_text('[deployment]\nruntime = "eager"\n')
    assert by_file == told("analyze", model, "-q")
