"""Commands that learn from served models and score them: what they write, and where."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from perfc.serving.host import HostModel
from perfc.serving.power import BoardPower
from perfc_lab.commands import eval as evaluating
from perfc_lab.commands import train as training
from perfc_lab.serving import (
    ServedRow,
    ServingQuantity,
    batch_laws,
    batches,
    scoreboard,
    scores,
)
from perfc_lab.serving.learn import predicted
from perfc_lab.serving.replay import ReplayedNumber
from perfc_lab.serving.scores import ServingEvidence
from perfc_lab.trees import experiment
from perfc_lab.trees.shipped import passes, weights


def run(command: Any, *arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(command, arguments)
    return result.exit_code, result.output


def test_laws_are_written_into_a_folder_that_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[Path] = []

    def gathered(data: Path, say: Any) -> ServingEvidence:
        asked.append(data)
        say("two numbers")
        return ServingEvidence((), ())

    monkeypatch.setattr(scores, "gathered", gathered)
    monkeypatch.setattr(scores, "trained", lambda evidence: {"vllm": HostModel(step_s=0.00123456)})
    monkeypatch.setattr(batch_laws, "trained", lambda rows: {"llamacpp": HostModel(rows=len(rows))})
    monkeypatch.setattr(batches, "fixed_batches", lambda data: iter(("one", "two")))
    boards = {"h100": BoardPower(1.1, 2.5, 9)}
    monkeypatch.setattr(scores, "trained_boards", lambda evidence, laws: boards)
    folder = tmp_path / "a" / "laws"
    for _ in range(2):
        code, said = run(
            training.command, "serving", "--data", str(tmp_path), "--output", str(folder)
        )
        assert code == 0, said
    assert asked == [tmp_path, tmp_path]
    assert str(folder / "host.toml") in said
    assert "two numbers" in said
    text = (folder / "host.toml").read_text()
    assert "[vllm]" in text
    assert tomllib.loads(text)["llamacpp"]["rows"] == 2
    assert "step_s = 0.001235" in text, "four digits"
    told = tomllib.loads((folder / "power.toml").read_text())
    of_all = {"usual": {"origin": "fitted"}}
    assert told == of_all | {"h100": {"power": 1.1, "waiting": 2.5, "rows": 9}}
    assert str(folder / "offline.npz") in said
    assert (folder / "offline.npz").stat().st_size > 0


def test_trees_are_written_into_their_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[tuple[Any, ...]] = []

    def served(name: str, data: Path) -> list[str]:
        calls.append((name, data))
        return [name]

    def train(rows: Any, output: Path, family: weights.TreeFamily, say: Any) -> list[Path]:
        calls.append((rows, output, family))
        return [output / f"{family.value}.npz"]

    monkeypatch.setattr(passes, "served_rows", served)
    monkeypatch.setattr(passes, "pass_rows", lambda data: iter([data]))
    monkeypatch.setattr(weights, "train", train)
    out, tables = tmp_path / "w", list(experiment.LEARNED_FROM)
    arguments = ["trees", "--data", str(tmp_path), "--passes", str(tmp_path), "-o", str(out)]
    code, said = run(training.command, *arguments)
    assert code == 0, said
    assert calls[:-2] == [(name, tmp_path) for name in tables]
    assert calls[-2:] == [
        (tables, out, weights.TreeFamily.SERVED),
        ([tmp_path], out, weights.TreeFamily.PASSES),
    ]
    assert said.splitlines() == [str(out / "served.npz"), str(out / "passes.npz")]


@pytest.mark.parametrize("form", ["json", "markdown", "text"])
def test_the_scoreboard_is_written_in_every_form(
    form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scores, "gathered", lambda data, say: ServingEvidence((), ()))
    monkeypatch.setattr(scoreboard, "replays", lambda data: ())
    monkeypatch.setattr(scoreboard, "llama_cpp", lambda data: ())
    code, said = run(
        evaluating.command, "serving", "--data", str(tmp_path), "--output-format", form
    )
    assert code == 0, said
    if form == "json":
        tree = json.loads(said)
        assert tree["schema"] == "perfc-eval/1"
        assert (tree["scores"], tree["checks"], tree["unanswered"]) == ([], [], {})
    else:
        assert "Served language models" in said.partition("\n")[0]


def test_a_first_token_waits_for_its_server() -> None:
    row = ServedRow(
        "t", "one", "m", "h100", "vllm", "", "", "", 1, 1, 1, 1, 1, 2, 3, False, (), False, {}
    )
    amounts = (0.5, 0.0, 0.0, 2.0, 0.0, 3.0, 3.0)
    law = HostModel(kernels=2.0, step_s=0.25, sequence_s=0.5, request_s=10.0)
    expected = {
        ServingQuantity.TPOT_S: 3.0,
        ServingQuantity.TOKENS_PER_S: 3.0,
        ServingQuantity.TTFT_S: 10 + 3.0,
    }
    found = {q: predicted(law, ReplayedNumber(row, q, amounts, 1.0)) for q in expected}
    assert found == pytest.approx(expected)
