"""The JSON of commands is valid under the schema that `perfc dev schema` prints."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click
import jsonschema
import pytest

from perfc import cli
from perfc.commands.dev.schema import documents

from .invocations import prepare

CASES = (
    ("report", "analyze model.onnx"),
    ("report", "analyze model.onnx --no-predict --runtime torch"),
    ("compare", "compare model.onnx -t a100,t4"),
    ("compare", "compare model.onnx -t a100,cpu --slo 1us --dtype f32,f16 --no-predict"),
    ("compare", "analyze model.onnx -t a100,t4"),
    ("compare", "compare model.onnx -t a100/3g.40gb,a100 --region france"),
    ("cost", "compare --price model.onnx -t a100,cpu,a100/1g.10gb --region 100 --terms spot"),
    ("cost", "compare --price model.onnx -t h100 --steps 1000 --cloud aws --no-predict --pue 1.2"),
    ("mig", "mig model.onnx -t a100 --slo 10ms"),
    ("diffusion", "diffusion pixart-sigma-xl-2-1024 -t h100"),
    ("diffusion", "diffusion sana1.5-1.6b-1024 -t t4 --unguided"),
    ("fit", "fit model.onnx -t a100 --batch 4"),
    ("fit", "fit model.onnx -t a100 --train adamw --batch 8 --no-predict"),
    ("mig", "mig model.onnx -t a30 --no-predict"),
    ("op", "op matmul --m 64 --n 64 --k 64 -t a100,t4"),
    ("op", "op softmax --rows 64 --columns 64 --dtype f16"),
    ("collective", "op collective --bytes 64MiB --ranks 8 -t h100,a100"),
    ("sweep", "sweep model.onnx --batch 1:64:*4 -t a100,t4"),
    ("sweep", "sweep model.onnx --batch 1,8 --no-predict"),
    ("check", "check"),
    ("check", "check missing.onnx"),
    ("diff", "diff model.onnx new.onnx --to batch=8"),
    ("diff", "diff model.onnx new.onnx"),
    ("lint", "lint model.onnx --min-gain 0 --extend-select ALL"),
    ("lint", "lint model.onnx missing.onnx"),
    ("rule", "lint --explain all"),
    ("rule", "lint --explain PF101"),
    ("explain", "explain model.onnx relu"),
    ("explain", "explain model.onnx 0 --runtime eager -t cpu"),
    ("explain", "explain model.onnx 0 --dtype f16 --batch 8"),
    ("explain", "explain model.onnx 0 -t rtx4090 --runtime eager --dtype amp-f16"),
    ("predict", "analyze -q model.onnx -t rtx4090"),
    ("predict", "analyze -q model.onnx -t a100 --train adamw"),
    ("ncu", "trace report.csv"),
    ("ncu", "trace report.csv --target v100-16gb"),
    ("trace", "trace trace.json"),
    ("trace-diff", "diff trace.json trace.json"),
    ("trace-ranks", "trace trace.json trace.json"),
    ("roofline", "roofline a100 --model model.onnx"),
    ("roofline", "roofline t4"),
    ("measure", "measure model.onnx --repeat 1 --min-time 0.01"),
    ("replay", "measure --replay trace.json#4 --repeat 1 --min-time 0"),
    ("measure", "measure model.onnx --repeat 1 --min-time 0.01 -t cpu"),
    ("target", "targets show a100"),
    ("target", "targets show cpu"),
    ("targets", "targets show a100 t4"),
    ("target-list", "targets list"),
    ("baseline", "check --show-baseline"),
    ("llm", "llm serve llama-3.1-8b -t h100 --isl 64 --osl 8"),
    ("llm", "llm serve llama-3.1-8b -t l40s --isl 64 --osl 8 --tp 2 --rate 2"),
    ("plan", "plan gpt2 --gpus 2 -t dgx-a100 --seq 64 --global-batch 4 --micro-batch 1"),
    ("plan", "plan olmoe-1b-7b --gpus 2 -t h100 --seq 64 --global-batch 4 --dp 2 --train sgd"),
    ("scale", "plan --curve gpt2 -t dgx-a100 --seq 256 --gpus 1,8"),
    ("scale", "plan --curve llama-3.2-1b -t h100 --seq 256 --tp 2 --gpus 2,3,4"),
    ("llm-published", "llm llama-3.1-8b -t h100 --isl 64 --osl 8 --predictor trees"),
    ("llm-search", "llm search llama-3.1-8b -t l4 --isl 2048 --osl 8"),
)
ELSEWHERE = {"schema", "eval"}
"""Commands whose JSON is no document: a schema, another program's format, rows of a scoreboard."""


@pytest.fixture(scope="module", autouse=True)
def _folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    path: Path = tmp_path_factory.mktemp("schemas")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        prepare(path)
        shutil.copy("model.onnx", "new.onnx")
        yield


def printed(line: str, capsys: pytest.CaptureFixture[str]) -> Any:
    if line.startswith("measure"):
        pytest.importorskip("torch" if "--replay" in line else "onnxruntime")
    capsys.readouterr()
    cli.run([*line.split(), "--output-format", "json"])
    return json.loads(capsys.readouterr().out)


def schema(name: str, capsys: pytest.CaptureFixture[str]) -> Any:
    capsys.readouterr()
    assert cli.run(["dev", "schema", name]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(("name", "line"), CASES)
def test_json_is_valid_under_its_schema(
    name: str, line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    published = schema(name, capsys)
    validator = jsonschema.Draft202012Validator(published)
    validator.check_schema(published)
    result = printed(line, capsys)
    validator.validate(result)
    assert published["title"] == result["schema"] == f"perfc-{name}/1"
    for key in result:
        less = {k: v for k, v in result.items() if k != key}
        assert not validator.is_valid(less), key
    assert not validator.is_valid({**result, "more": 1})


def with_json(command: click.Command, path: str = "") -> Iterator[str]:
    """Commands that write JSON."""
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            result = command.get_command(context, name)
            assert result is not None
            yield from with_json(result, f"{path} {name}".strip())
        return
    for option in command.params:
        formats = option.type.choices if isinstance(option.type, click.Choice) else ()
        if option.name in ("form", "output_format") and "json" in formats:
            yield path


def test_every_command_that_writes_json_is_tested() -> None:
    written = [p for p in with_json(cli.cli) if p.split()[0] not in ELSEWHERE]
    assert len(written) > 15
    lines = [line for _, line in CASES]
    kinds = {"op": "op matmul"}
    for path in written:
        wanted = kinds.get(path.split()[0], path)
        assert any(f"{line} ".startswith(f"{wanted} ") for line in lines), path


def test_every_schema_is_tested_and_the_report_is_the_usual_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert set(documents()) == {name for name, _ in CASES}
    assert cli.run(["dev", "schema"]) == 0
    assert json.loads(capsys.readouterr().out) == schema("report", capsys)
    assert cli.run(["dev", "schema", "reprot"]) == 2
    assert "no document 'reprot' (there are" in capsys.readouterr().err
