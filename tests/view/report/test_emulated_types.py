"""Types of 16 bits that no unit of a machine computes: said wherever a time is printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from perfc import cli
from perfc.machine import load_machine

GPT2 = str(Path(__file__).parents[3] / "examples/models/gpt2.onnx.gz")
LACKING = "has no bf16 units: emulated in f32"


@pytest.mark.parametrize("target", ["t4", "v100", "rtx2080ti"])
@pytest.mark.parametrize("command", [["analyze"], ["fit"], ["compare"]])
def test_a_turing_gpu_is_said_to_emulate_bf16(
    command: list[str], target: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cli.run([*command, "gpt2", "--target", target, "--dtype", "bf16"])
    assert LACKING in capsys.readouterr().out
    cli.run([*command, "gpt2", "--target", target, "--dtype", "f16"])
    assert LACKING not in capsys.readouterr().out


def test_an_engine_says_that_it_computes_in_f16(capsys: pytest.CaptureFixture[str]) -> None:
    cli.run(["llm", "llama-3.2-1b", "--target", "t4", "--dtype", "bf16", "--osl", "8"])
    assert "t4 has no bf16: computed in f16" in capsys.readouterr().out


def test_no_change_that_makes_room_asks_for_an_emulated_type(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for target, half in (("t4", "f16"), ("a100", "bf16")):
        cli.run(["fit", GPT2, "--target", target, "--runtime", "eager"])
        printed = capsys.readouterr().out
        assert f"--dtype {half}" in printed
        assert ("--dtype bf16" in printed) == (half == "bf16")


def test_machines_say_what_they_emulate() -> None:
    said = {
        name: [code for code in ("f16", "bf16", "f32") if load_machine(name).emulates(code)]
        for name in ("t4", "gtx1080ti", "p100", "a100", "m1", "xeon-e5-2698-v4")
    }
    assert said == {
        "t4": ["bf16"],
        "gtx1080ti": ["f16", "bf16"],
        "p100": ["bf16"],
        "a100": [],
        "m1": [],
        "xeon-e5-2698-v4": [],
    }
