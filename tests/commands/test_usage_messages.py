"""Calls in the words of other tools say in one line how perfc spells them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from perfc import cli

from .invocations import commands

MODEL = Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz"


PEERS = tomllib.loads(Path(__file__).with_name("peer_options.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("tool", PEERS)
def test_options_of_other_tools_are_answered(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = {
        path: {
            f
            for p in c.params
            if not getattr(p, "hidden", False)
            for f in (*p.opts, *p.secondary_opts)
        }
        for path, c in commands()
    }
    for command in PEERS[tool]["commands"]:
        here = flags["llm serve" if command == "llm" else command]
        for option in PEERS[tool]["options"]:
            name = re.split("[ =]", option)[0]
            if name in here:
                continue
            assert cli.run([*command.split(), *option.split(), "no-such.onnx"]) == 2
            error = capsys.readouterr().err
            assert error.count("\n") == 1
            said = re.search(
                r"no option '\S+: (?:(?:it is (-\S+).*?|an option) (here|of (.+))|(.+))", error
            )
            if said is None:
                # a letter has a meaning in few commands
                assert len(name) == 2, (command, option, error)
                continue
            flag, place, owners, answer = said.groups()
            if answer:
                named = {*re.findall(r"--[a-z-]+", answer)}
                assert named <= frozenset().union(*flags.values()), (command, option, error)
            elif place == "here":
                assert flag in here, (command, option, error)
            else:
                names = owners.removesuffix(" and others").split(", ")
                assert all((flag or name) in flags[n.removeprefix("perfc ")] for n in names), error


TRACES = {
    "pytorch.json": {"schemaVersion": 1, "deviceProperties": [], "traceEvents": []},
    "ort.json": [{"cat": "Session", "pid": 1, "ts": 1, "ph": "X", "name": "model_loading"}],
    "tensorrt.json": [{"count": 10}, {"name": "conv", "timeMs": 1.0, "averageMs": 0.1}],
}


@pytest.mark.parametrize("name", TRACES)
@pytest.mark.parametrize("command", ["analyze", "llm", "fit", "compare"])
def test_a_trace_is_no_model(
    command: str,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    # longer than a configuration may be
    Path(name).write_text(json.dumps(TRACES[name]) + " " * (2 << 20))
    assert cli.run([command, name]) == 2
    said = f"{name}: a trace of a profiler, not a model (perfc trace {name} reads it)"
    assert capsys.readouterr().err == f"error: {said}\n"


def test_near_targets_are_different_ones(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["analyze", str(MODEL), "-t", "RTX 3080 Laptop"]) == 2
    near = re.findall(r"rtx-?\d[\w-]*", capsys.readouterr().err.partition("did you mean")[2])
    assert cli.run(["targets", "show", *near, "--output-format", "json"]) == 0
    found = {machine["name"] for machine in json.loads(capsys.readouterr().out)["targets"]}
    assert len(found) == len(near) > 1


def test_gpus_of_a_cluster_are_counted_as_gpus(capsys: pytest.CaptureFixture[str]) -> None:
    for target, said in {"dgx-h100": "16 GPUs of dgx-h100", "a100": "16 × a100-"}.items():
        assert cli.run(["plan", "llama-3.1-8b", "-t", target, "--gpus", "16"]) == 0
        assert said in capsys.readouterr().out.splitlines()[0]


def test_a_model_is_drawn_on_its_target(capsys: pytest.CaptureFixture[str]) -> None:
    pages = []
    for words in (
        ["a100", str(MODEL)],
        [str(MODEL), "-t", "a100"],
        ["a100", "--model", str(MODEL)],
    ):
        assert cli.run(["roofline", *words, "--batch", "8"]) == 0
        pages.append(capsys.readouterr().out)
    assert pages[0] == pages[1] == pages[2]
    assert "resnet50" in pages[0]


def test_a_revision_is_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    shutil.copy(MODEL, tmp_path / "m.onnx.gz")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for words in (["init", "-q"], ["add", "."], [*who, "commit", "-qm", "one"]):
        subprocess.run(["git", *words], check=True, cwd=tmp_path)
    calls = {
        ("HEAD",): "perfc diff HEAD:MODEL MODEL",
        ("m.onnx.gz", "HEAD"): "perfc diff HEAD:m.onnx.gz m.onnx.gz",
    }
    for words, call in calls.items():
        assert cli.run(["diff", *words]) == 2
        assert f"HEAD: a revision of git, not a model (as in {call})" in capsys.readouterr().err
    assert cli.run(["diff", "HEAD:m.onnx.gz", "m.onnx.gz"]) == 0
    whole = capsys.readouterr().out
    assert cli.run(["diff", "HEAD", "m.onnx.gz"]) == 0
    assert capsys.readouterr().out == whole


def test_help_of_llm_lists_serve_and_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["llm", "--help"]) == 0
    page = capsys.readouterr().out
    assert "\n  serve " in page
    assert {"--isl", "--concurrency", "--rate", "--target"} <= set(page.replace(",", " ").split())
    assert cli.run(["llm", "--help-all"]) == 0
    page = capsys.readouterr().out
    assert {"--isl", "--concurrency", "--rate", "--kv-dtype", "--tp", "--target"} <= set(
        page.replace(",", " ").split()
    )
