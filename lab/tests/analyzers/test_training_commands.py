"""``perfc train op`` and ``perfc eval`` on a small table."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import date
from pathlib import Path

import pytest
from click.testing import CliRunner

from perfc.analyzers.artefacts import artefact
from perfc.errors import PerfcError
from perfc_lab.board import Score
from perfc_lab.commands.eval import command as evaluate
from perfc_lab.commands.train import command as train
from perfc_lab.data.weights import card_text
from perfc_lab.training import experiments as module
from perfc_lab.training import growing, scoreboard
from perfc_lab.training.fit import Recipe

from .synthetic import write_table

pytest.importorskip("pyarrow")
pytest.importorskip("pandas")

NAMED = module.experiments()
FIGURE = Score("random", "all", 3, 0.1, 0.1, 0.9, 1.0, 1.5, None, "")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    real = module.experiments()["matmul"]
    assert isinstance(real, module.OperatorExperiment)
    recipe = Recipe(trees=10, depth=3, spread_trees=4, left_out={"trees": 5})
    small = replace(real, recipe=recipe, sources=("aic_gemm",))
    monkeypatch.setattr(module, "experiments", lambda: {"matmul": small})


def run(command: object, *arguments: str) -> tuple[int, str]:
    done = CliRunner().invoke(command, list(arguments), catch_exceptions=True)  # type: ignore[arg-type]
    if isinstance(done.exception, PerfcError):
        return 2, str(done.exception)
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout


def test_training_writes_a_card_and_arrays(tmp_path: Path) -> None:
    write_table(tmp_path / "aic_gemm.parquet")
    arguments = ("op", "matmul", "--data", str(tmp_path), "--output", str(tmp_path / "out"))
    code, out = run(train, *arguments)
    assert code == 0
    assert out.strip().endswith("matmul.json")
    card = artefact.load(tmp_path / "out" / "matmul.json").card
    assert card.rows == 900
    assert set(card.data) == {"aic_gemm.parquet"}
    assert card.targets == ("a100-sxm4-80gb", "b200-sxm-180gb", "h100-sxm5-80gb")


def test_weights_of_another_schema_stop_it_before_anything_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(tmp_path / "aic_gemm.parquet")
    out = tmp_path / "out"
    arguments = ("op", "matmul", "--data", str(tmp_path), "--output", str(out))
    assert run(train, *arguments)[0] == 0
    path = out / "matmul.json"
    card = artefact.read_card(path)
    other = replace(card, schema="0" * 16)
    path.write_text(card_text(other, card.arrays_sha256))
    with monkeypatch.context() as patched:
        patched.setattr(growing, "boost", lambda *_: pytest.fail("trained"))
        code, said = run(train, *arguments)
    assert code == 2
    assert card.schema in said
    assert artefact.read_card(path).schema == other.schema
    assert run(train, *arguments, "--force")[0] == 0
    assert artefact.load(path).card.schema == card.schema


def test_the_scoreboard_is_written_into_the_card(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_table(tmp_path / "aic_gemm.parquet")
    out = tmp_path / "out"
    run(train, "op", "matmul", "--data", str(tmp_path), "--output", str(out))
    path = out / "matmul.json"
    monkeypatch.setattr(scoreboard.into_cards, "__defaults__", (out,))
    _, said = run(evaluate, "matmul", "--data", str(tmp_path), "--output-format", "json", "--cards")
    metrics = artefact.load(path).card.metrics
    figures = json.loads(said)["matmul"]
    assert set(metrics) == {f"{f['split']}: {f['slice']}" for f in figures}
    for one in figures:
        written = metrics[f"{one['split']}: {one['slice']}"]
        assert written["rows"] == one["rows"]
        assert written["mape"] == pytest.approx(one["mape"], abs=1e-5)
        assert written["coverage"] == pytest.approx(one["coverage"], abs=1e-5)


@pytest.mark.parametrize("wrong", [float("nan"), -3.0])
def test_rows_without_a_time_leave_weights_alone(tmp_path: Path, wrong: float) -> None:
    write_table(tmp_path / "aic_gemm.parquet", wrong)
    out = tmp_path / "out"
    code, said = run(train, "op", "matmul", "--data", str(tmp_path), "--output", str(out))
    assert code == 2
    assert "a time is a positive number" in said
    assert "\n" not in said
    assert not out.exists()


def test_no_table_and_a_table_of_something_else_are_one_line(tmp_path: Path) -> None:
    code, said = run(train, "op", "matmul", "--data", str(tmp_path))
    assert code == 2
    assert "no such table" in said
    (tmp_path / "aic_gemm.parquet").write_bytes(b"PAR1 not really")
    code, said = run(evaluate, "matmul", "--data", str(tmp_path))
    assert code == 2
    assert "not the table expected" in said
    assert "\n" not in said


def test_the_scoreboard_has_every_split(tmp_path: Path) -> None:
    write_table(tmp_path / "aic_gemm.parquet")
    plot = tmp_path / "board.svg"
    code, out = run(
        evaluate, "matmul", "--data", str(tmp_path), "--output-format", "json", "--plot", str(plot)
    )
    figures = json.loads(out)["matmul"]
    splits = {f["split"] for f in figures}
    assert "unseen (n, k), fold 0" in splits
    assert sum(s.startswith("unseen machine") for s in splits) == 3
    missed = any(f["goal"] is not None and f["mape"] > f["goal"] for f in figures)
    assert code == int(missed)
    assert plot.read_text().startswith("<svg")


def test_a_page_says_what_is_held_out_and_which_command_wrote_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_table(tmp_path / "aic_gemm.parquet")
    page = Path("accuracy") / "matmul.md"
    page.parent.mkdir()
    code, out = run(evaluate, "op", "matmul", "--data", str(tmp_path), "-o", str(page))
    assert code in (0, 1)
    assert not out
    title, held_out, _, origin, table, fitted = page.read_text(encoding="utf-8").split("\n\n")
    assert title == f"# Accuracy: {module.experiments()['matmul'].title}"
    assert "(n, k), and one fifth of them is held out" in held_out
    assert origin == (
        f"`eval op matmul --data DIR -o accuracy/matmul.md` wrote this page on {date.today()}."
    )
    assert all(line.count("|") == 10 for line in table.splitlines())
    assert fitted.startswith("Fitted on tested rows (unseen machines): `flop_per_joule`, ")
    assert str(tmp_path) not in page.read_text(encoding="utf-8")


def test_a_page_of_several_experiments_has_a_table_for_each() -> None:
    several = list(NAMED.values())[:4]
    found = scoreboard.board({e: [FIGURE] for e in several}).written("markdown", "Written by hand.")
    assert found.count("\n## ") == found.count("| random | all |") == len(several) == 4
    assert found.startswith("# ")
    assert found.count("Written by hand.") == 1


def test_an_experiment_that_is_none_is_told_with_those_there_are(tmp_path: Path) -> None:
    code, said = run(evaluate, "nonsense", "--data", str(tmp_path))
    assert code == 2
    assert "there are matmul" in said
