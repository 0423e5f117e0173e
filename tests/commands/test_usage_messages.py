"""Calls in the words of other tools say in one line how perfc spells them."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from perfc.commands import cli
from perfc.commands.shared import listing
from perfc.common.other_names import ANSWERS, COMMANDS, OPTIONS
from perfc.machine import load_machine

MODEL = Path(__file__).parents[2] / "examples" / "models" / "resnet50.onnx.gz"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("analyze m.onnx --gpu a100", "no option '--gpu': it is -t NAME here"),
        ("analyze m.onnx --device=a100", "no option '--device': it is -t NAME here"),
        ("analyze m.onnx --batch-size 8", "it is --batch N here"),
        ("analyze m.onnx --fp16", "it is --dtype f16 here"),
        ("analyze m.onnx --bacth 8", "Did you mean '--batch'?"),
        ("llm llama-3.1-8b --request-rate 4", "it is --rate N here"),
        ("llm llama-3.1-8b --tensor-parallel-size 4", "it is --tp N here"),
        (
            "analyze m.onnx --slo 4ms",
            "an option of perfc compare, perfc mig, perfc sweep, perfc llm",
        ),
        ("llm llama-3.1-8b --slo 4ms", "perfc sweep, perfc llm search"),
        ("llm llama-3.1-8b --gpus 4", "it is --tp N here"),
        ("analyze m.onnx --gpus 4", "it is --gpus N of perfc fit, perfc plan"),
        ("analyze m.onnx --gpus a100", "it is -t NAME here"),
        ("analyze m.onnx --tp 2", "an option of perfc llm serve, perfc plan"),
        ("llm llama-3.1-8b --decode", "prefill by --isl N and decode by --osl N"),
        ("llm llama-3.1-8b --enforce-eager", "it is --runtime eager of perfc analyze"),
        ("analyze m.onnx --mode2 x", "No such option '--mode2' (see"),
        ("plan m.json --lr 1", "every run or step costs the same"),
        ("llm m.json --lrx 1", "No such option '--lrx' (see"),
        ("check --baselines", "No such option '--baselines' (see"),
        ("analyze m.onnx --n 4", "No such option '--n' (see"),
        ("analyze m.onnx -c 4", "No such option '-c' (see"),
        ("analyze m.onnx -X 4", "No such option '-X' (see"),
        ("analyze m.onnx -layout nhwc", "no option '-layout': it is --layout here"),
        ("llm m.gguf -tb 8", "no option '-tb': it is --threads N of perfc analyze"),
        ("analyze m.onnx -op f32", "no option '-op': it is --dtype NAME here"),
        ("llm m.json --my-tokenizer x", "text has no part in the cost"),
        ("analyze m.onnx --noTacticCheck", "it allocates and compiles nothing"),
        ("analyze m.onnx -o a.html -o b.json", "one file per run: run again for another"),
        (
            "analyze m.onnx --batch 1..8",
            "no size, as in --batch 8; perfc sweep takes ranges",
        ),
        ("fit m.onnx --memory 8GB", "it is -t NAME here"),
        ("compare m.onnx --price --slo 4ms", "need rows of machines: leave out --price"),
        ("analyze m.onnx --train adam_w", "no optimizer 'adam_w' (did you mean adamw?)"),
        ("sweep m.onnx --batch 1..64", "as in --batch 8 or 1:64"),
        ("-t a100 m.onnx", "options follow a command, as in perfc analyze -t a100 m.onnx"),
        ("m.onnx -t a100", "perfc analyze m.onnx -t a100"),
        ("benchmark m.onnx", "no command 'benchmark'; did you mean measure?"),
        ("bulk report out", "no command 'bulk report'; its folder is a table: duckdb"),
        ("analyse m.onnx", "did you mean analyze?"),
        ("compare m.onnx --slo 4", "--slo: '4' is no duration (as in 30us, 5ms)"),
        ("roofline a100 h100", "one TARGET and one MODEL at a time: 2 targets"),
    ],
)
def test_what_to_type_is_said(line: str, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(line.split()) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count("\n") == 1


PEERS = tomllib.loads(Path(__file__).with_name("peer_options.toml").read_text(encoding="utf-8"))


@pytest.mark.parametrize("tool", PEERS)
def test_options_of_other_tools_are_answered(tool: str, capsys: pytest.CaptureFixture[str]) -> None:
    flags = {path: listing.flags_of(c) for path, c in listing.all_commands()}
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
                assert answer in ANSWERS, (command, option, error)
            elif place == "here":
                assert flag in here, (command, option, error)
            else:
                names = owners.removesuffix(" and others").split(", ")
                assert all((flag or name) in flags[n.removeprefix("perfc ")] for n in names), error


def test_options_that_are_suggested_are_there() -> None:
    flags = {path: listing.flags_of(c) for path, c in listing.all_commands()}
    every = frozenset[str]().union(*flags.values())
    assert {spelled.partition(" ")[0] for spelled in OPTIONS} <= every
    for answer in ANSWERS:
        assert set(re.findall(r"--[a-z-]+", answer)) <= every
        named = set(re.findall(r"perfc ([a-z]+)", answer)) - {"predicts", "has"}
        assert named <= {path.split()[0] for path in flags}


def test_every_command_is_spelled_once_and_is_there() -> None:
    others = [other for names in COMMANDS.values() for other in names]
    assert len(others) == len(set(others))
    names = cli.Commands().list_commands(None)  # type: ignore[arg-type]
    assert {name for name in COMMANDS if not name.startswith("-")} <= set(names)
    assert not {other for others in COMMANDS.values() for other in others} & set(names)


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
    assert len({load_machine(name).name for name in near}) == len(near) > 1


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
