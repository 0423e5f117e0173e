"""Computations of each output of a report: changes that would help are runs of their own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perfc import cli
from perfc.analyzers.runs import prediction
from perfc.view.report.memory_sections import remedies

if TYPE_CHECKING:
    from perfc.analyzers.estimators import Execution
    from perfc.analyzers.runs.prediction import PredictionTable

MODEL = str(Path(__file__).parents[3] / "examples" / "models" / "resnet50.onnx.gz")


@pytest.mark.parametrize(
    ("arguments", "is_shown"),
    [
        ((), True),
        (("--full",), True),
        (("--output-format", "json"), True),
        (("-q",), False),
        (("--view", "kernels,memory"), False),
        (("--output-format", "csv"), False),
        (("--output-format", "trace"), False),
        (("-q", "--strict"), False),
    ],
)
def test_changes_are_evaluated_only_where_they_are_shown(
    arguments: tuple[str, ...],
    is_shown: bool,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    runs, evaluate = [], remedies.what_if_s

    def counted(*args: object, **keywords: object) -> float | None:
        runs.append(args)
        return evaluate(*args, **keywords)

    monkeypatch.setattr(remedies, "what_if_s", counted)
    with pytest.raises(SystemExit, match="0"):
        cli.main(["analyze", MODEL, "-t", "a100", *arguments])
    assert capsys.readouterr().out
    assert bool(runs) == is_shown


def test_a_run_is_predicted_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, predict = [], prediction.predicted

    def counted(execution: Execution) -> PredictionTable:
        runs.append((execution.machine.name, execution.kernels.runtime.name))
        return predict(execution)

    monkeypatch.setattr(prediction, "predicted", counted)
    with pytest.raises(SystemExit, match="0"):
        cli.main(["analyze", MODEL, "-t", "a100", "-q"])
    assert capsys.readouterr().out
    assert runs == [("a100-sxm4-80gb", "ort")]


def test_no_run_is_predicted_twice_for_changes_that_would_help(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    runs, predict = [], prediction.predicted

    def counted(execution: Execution) -> PredictionTable:
        dtypes = sorted({str(bound.dtype) for bound in execution.bounds.kernels})
        runs.append((execution.kernels.runtime.name, *dtypes))
        return predict(execution)

    monkeypatch.setattr(prediction, "predicted", counted)
    monkeypatch.setattr(remedies, "batch_symbol", lambda report: None)
    with pytest.raises(SystemExit, match="0"):
        cli.main(["analyze", MODEL, "-t", "a100"])
    assert capsys.readouterr().out
    assert len(runs) > 2
    assert len(runs) == len({*runs})
