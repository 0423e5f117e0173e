"""How a model is run: said alike to every command, in a file and in Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import perfc
from perfc import cli

from .invocations import commands

RESNET = Path(__file__).parents[2] / "examples/models/resnet50.onnx.gz"
ONE_WAY = {
    "target": "rtx4090",
    "runtime": "inductor",
    "framework": "vllm",
    "runtime_version": "2.4",
    "dtype": "amp-bf16",
    "tf32": False,
    "layout": "channels-last",
    "streams": 1,
    "mode": "inference",
    "host_launch": "30us",
    "reserve": "5%",
}


def said(capsys: pytest.CaptureFixture[str], *args: str) -> str:
    code = cli.run(list(args))
    shown = capsys.readouterr()
    assert code == 0, shown.err
    return shown.out


def arguments() -> list[str]:
    words = [f"--{k.replace('_', '-')}={v}" for k, v in ONE_WAY.items() if k != "tf32"]
    return [*words, "--no-tf32", "--dim=batch=64"]


def test_options_a_file_and_keywords_give_the_same_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    form = ("--output-format", "json")
    typed = said(capsys, "analyze", str(RESNET), *arguments(), *form)
    file = [f"{k.replace('_', '-')} = {json.dumps(v)}\n" for k, v in ONE_WAY.items()]
    table = f"[deployment]\n{''.join(file)}dims = {{ batch = 64 }}\n"
    (tmp_path / "perfc.toml").write_text(table)
    assert said(capsys, "analyze", str(RESNET), *form) == typed
    (tmp_path / "perfc.toml").unlink()
    project = table.replace("[deployment]", "[tool.perfc.deployment]")
    (tmp_path / "pyproject.toml").write_text(project)
    assert said(capsys, "analyze", str(RESNET), *form) == typed
    (tmp_path / "pyproject.toml").unlink()
    report = perfc.analyze(RESNET, **ONE_WAY, dims={"batch": 64})  # type: ignore[arg-type]
    assert json.loads(json.dumps(report.to_dict())) == json.loads(typed)
    assert "channels-last" in typed


def test_a_whole_run_is_said_alike_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    form = ("--output-format", "json")
    typed = json.loads(said(capsys, "analyze", "-q", str(RESNET), *arguments(), *form))
    assert typed["framework"] == "torch 2.4"
    assert typed["deployment"] == {**ONE_WAY, "host_launch": 3e-05, "dims": {"batch": 64}}
    (tmp_path / "perfc.toml").write_text(
        "[deployment]\n"
        + "".join(f"{k.replace('_', '-')} = {json.dumps(v)}\n" for k, v in ONE_WAY.items())
        + "[deployment.dims]\nbatch = 64\n"
    )
    assert json.loads(said(capsys, "analyze", "-q", str(RESNET), *form)) == typed
    run = perfc.predict(RESNET, **ONE_WAY, dims={"batch": 64})  # type: ignore[arg-type]
    assert (run.value, run.low, run.high) == (typed["value"], typed["low"], typed["high"])


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        ('targt = "a100"', "perfc.toml:2: no key 'targt' in deployment (did you mean target?)"),
        ('runtime_version = "2.4"', "perfc.toml:2: no key 'runtime_version' in deployment ("),
        ('runtime = "x"', "perfc.toml:2: no runtime 'x'"),
        ('framework = "tgi"', "perfc.toml:2: no 'tgi' (there are trtllm, vllm, sglang"),
        ("dtype = 16", "perfc.toml:2: 16 is not a string"),
        ('dtype = "fp7"', "perfc.toml:2: no precision 'fp7'"),
        ('tf32 = "no"', "perfc.toml:2: 'no' is neither true nor false"),
        ("streams = true", "perfc.toml:2: no such number: 'True'"),
        ("host-launch = true", "perfc.toml:2: 'True' is no duration (as in 30us"),
        ('host-launch = "nan us"', "perfc.toml:2: 'nan us' is no duration"),
        ("host-launch = -1e-6", "perfc.toml:2: '-1e-06' is no duration"),
        ("dims = 3", "perfc.toml:2: 3 is not a table"),
        ("dims = { batch = -1 }", "perfc.toml:2: batch = -1 is no extent"),
        ("dims = { size = 4 }", "perfc.toml:2 gives it"),
        ('mode = "training"', "perfc.toml:2: a training step needs"),
        ('checkpointing = "block"', "perfc.toml:2: only a training step has it"),
        ('streams = 1\nlayout = "channels-last"', "perfc.toml:3: ort does not run channels-last"),
    ],
)
def test_what_a_file_gets_wrong_has_its_line(
    table: str,
    expected: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "perfc.toml").write_text(f"[deployment]\n{table}\n")
    assert cli.run(["analyze", str(RESNET), "--no-predict"]) == 2
    err = capsys.readouterr().err
    assert expected in err
    assert err.count("\n") == 1
    assert cli.run(["analyze", str(RESNET), "--no-predict", "--isolated"]) == 0


def test_the_command_line_wins_over_the_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "perfc.toml").write_text(
        '[deployment]\ntarget = "h100"\nruntime = "eager"\ntf32 = false\ndims = { batch = 2 }\n'
    )
    args = ("analyze", str(RESNET), "--no-predict", "--full")
    assert "h100-sxm5-80gb, batch = 2, eager" in said(capsys, *args)
    shown = said(capsys, *args, "-t", "a100", "--runtime", "ort", "--tf32", "--dim", "batch=3")
    assert shown == said(capsys, *args, "--isolated", "-t", "a100", "--dim", "batch=3")


def test_what_lint_says_wins_over_the_deployment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "perfc.toml"
    args = ("lint", str(RESNET), "--exit-zero", "--min-gain", "0", "--output-format", "json")
    file.write_text('[deployment]\ntarget = "h100"\n[lint]\ntarget = "t4"\n')
    shown = said(capsys, *args)
    assert shown == said(capsys, *args, "--isolated", "-t", "t4")
    file.write_text('[deployment]\ntarget = "t4"\n')
    assert said(capsys, *args) == shown
    file.write_text('[lint]\nruntime = "x"\n')
    assert cli.run(["lint", str(RESNET)]) == 2
    assert "perfc.toml: lint: no runtime 'x'" in capsys.readouterr().err


def test_a_target_of_the_file_lies_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    inside = tmp_path / "src"
    inside.mkdir()
    target = Path(perfc.__file__).parent / "targets/t4.toml"
    (tmp_path / "mine.toml").write_bytes(target.read_bytes())
    (tmp_path / "perfc.toml").write_text('[deployment]\ntarget = "mine.toml"\n')
    monkeypatch.chdir(inside)
    assert " on NVIDIA T4" in said(capsys, "analyze", str(RESNET), "--no-predict")


def test_budgets_are_deployments_and_the_command_line_wins(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "m.onnx.gz").write_bytes(RESNET.read_bytes())
    table = (
        '[deployment]\ntarget = "h100"\nruntime = "eager"\n'
        '[[budget]]\nmodel = "*.gz"\nlayout = "channels-last"\ntf32 = false\nflop = "+0%"\n'
    )
    kernels = 'framework = "vllm"\nhost-launch = "30us"\n'
    for more in (kernels, ""):
        (tmp_path / "perfc.toml").write_text(table + more)
        said(capsys, "check", "--write-baseline")
        words = f'runtime = "eager"\n{more}layout = "channels-last"\ntf32 = false\n'
        assert words in (tmp_path / "perfc.lock").read_text()
        assert "1 same" in said(capsys, "check")
    other = said(capsys, "check", "--runtime", "inductor", "--tf32")
    assert "on h100-sxm5-80gb, inductor, layout channels-last, tf32, batch=1" in other
    said(capsys, "check", "--write-baseline", "--runtime", "inductor", "--tf32")
    (tmp_path / "perfc.toml").write_text(
        '[[budget]]\nmodel = "*.gz"\ntf32 = "convolutions"\nlayout = "channels-last"\n'
        'target = "h100"\nruntime = "eager"\nflop = "+0%"\n'
    )
    words = said(capsys, "check", "--runtime", "inductor")
    assert "on h100-sxm5-80gb, inductor, layout channels-last, tf32 convolutions, batch=1" in words


def test_the_page_has_every_field() -> None:
    page = (Path(__file__).parents[2] / "docs/deployment.md").read_text(encoding="utf-8")
    rows = [line.split(" | ") for line in page.splitlines() if line.startswith("| `-")]
    shown = {row[2].strip("` "): row[1].strip("` ") for row in rows if len(row) == 5}
    analyze = dict(commands())["analyze"]
    fields = {p.name for p in analyze.params if type(p).__name__ == "DeploymentOption"}
    assert {*shown} == {*fields, "parallel", "batch", "seq", "dims"}
    assert all(key == name.replace("_", "-") for name, key in shown.items())
