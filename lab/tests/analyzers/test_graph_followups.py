"""What follows from an estimate: a whole training, a slice of a GPU; options of both commands."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from perfc.analyzers.graph import weights
from perfc.analyzers.graph.predictor import TrainingBudget
from perfc.analyzers.graph.rows import Quantity
from perfc.commands.analysis.analyze import command as analyze_command
from perfc.machine.mig import GB, profiles
from perfc_lab.commands.eval import command as eval_command
from perfc_lab.commands.train import command as train_command
from perfc_lab.training.graphs import cards as cards_
from perfc_lab.training.graphs.protocols import GraphProtocol, folds
from perfc_lab.whole_runs.boosted_totals import BoostedTotals

from .graph_rows import measurements

MODEL = str(Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz")


def card(folder: Path, quantity: Quantity) -> str:
    data = measurements()
    data = data.of([replace(r, memory_bytes=1e9 + 1e6 * r.batch) for r in data.rows])
    fold = next(folds(data, GraphProtocol.RANDOM, (0,)))
    made = BoostedTotals("", quantity)
    made.fit(fold.train, fold.validation, TrainingBudget(), lambda _: None)
    made.calibrate(fold.validation)
    return str(weights.save(made, cards_.card_of(made, fold.train, "random", {}), folder))


def predicted(*arguments: str) -> dict[str, Any]:
    given = (
        "--runtime",
        "eager",
        "--batch",
        "8",
        "--runtime-version",
        "1.8",
        "--dtype",
        "f32",
        "--no-tf32",
        "--output-format",
        "json",
    )
    answer = CliRunner().invoke(analyze_command, ["-q", MODEL, *given, *arguments])
    assert answer.exit_code == 0, answer.output
    return dict(json.loads(answer.stdout))


def test_a_predicted_memory_names_a_slice(tmp_path: Path) -> None:
    given = ("--predictor", card(tmp_path, Quantity.MEMORY))
    assert predicted(*given, "-t", "a100-sxm4-40gb")["mig_profile"] == "1g.5gb"
    assert predicted(*given, "-t", "a100-sxm4-80gb")["mig_profile"] == "1g.10gb"
    assert predicted(*given, "-t", "titan-xp")["mig_profile"] is None


def test_slices_are_those_of_the_target() -> None:
    answer = profiles("a100-pcie-80gb")
    names = ["1g.10gb", "2g.20gb", "3g.40gb", "7g.80gb"]
    assert [(p.name, p.capacity_bytes) for p in answer] == [
        (n, int(n.split(".")[1][:-2]) * GB) for n in names
    ]
    assert [p.name for p in profiles("a100-sxm4-40gb")][::3] == ["1g.5gb", "7g.40gb"]
    assert profiles("rtx4090") == ()


@pytest.mark.parametrize("command", [eval_command, train_command])
def test_the_width_of_a_network_can_be_given(command: object) -> None:
    assert "--scale" in CliRunner().invoke(command, ["graph", "--help"]).output  # type: ignore[arg-type]
