"""Whole transformers from two cuts; how far errors hang together is chosen on other networks."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pandas import DataFrame

from perfc import cli
from perfc.analyzers.features.rows import DataError
from perfc.analyzers.intervals.summing import ErrorSide
from perfc.errors import MissingExtraError
from perfc.passes.runtimes import Tf32
from perfc_lab.training.experiments import neusight_runs
from perfc_lab.training.experiments.neusight_runs import EXPERIMENT, TimedLabel, correlation
from perfc_lab.training.runs.end_to_end import Spent, TrainingStep

KERNELS = 4


def timed(off: float) -> TimedLabel:
    """A run of four equal kernels of 1 s, each within a tenth, measured ``off`` seconds longer."""
    sides = {ErrorSide("matmul_f32", True, 0.1 + i * 1e-12): 1.0 for i in range(KERNELS)}
    made = TrainingStep(Spent(float(KERNELS), (sides,), (sides,)), Spent(0.0))
    return TimedLabel("v100", "net", "inf", KERNELS + off, made)


def test_errors_that_cancel_need_none() -> None:
    assert correlation(timed(off) for off in (0.05, 0.1, 0.19)) == 0.0


def test_the_least_that_holds_nine_in_ten() -> None:
    inside, far = [timed(0.1)] * 8, timed(9.0)
    asked = 0.3
    # variance of the sum: rho (4 w)^2 + (1 - rho) 4 w^2
    need = ((asked / 0.1) ** 2 - KERNELS) / (KERNELS**2 - KERNELS)
    found = correlation([*inside, timed(asked), far])
    assert found == pytest.approx(need, abs=0.01)
    assert found >= need


def test_one_error_where_none_holds_as_many() -> None:
    assert correlation([timed(9.0)] * 3) == 1.0


def test_a_line_has_the_times_of_both_passes_at_a_correlation() -> None:
    one = timed(0.3)
    assert one.line(0.0) == pytest.approx((4.3, 4.0, 3.8, 4.2, 0.0))
    assert one.line(1.0) == pytest.approx((4.3, 4.0, 3.6, 4.4, 0.0))
    assert (one.is_held(0.0), one.is_held(1.0)) == (False, True)


def row(model: str, mode: str, device: str, measured_s: float) -> dict[str, object]:
    return {
        "variant": "eager",
        "model": model,
        "mode": mode,
        "device": device,
        "batch": 4,
        "seq_len": 128,
        "e2e_latency_ms": measured_s * 1e3,
        "hf_config_json": '{"n_layer": 5, "architectures": ["Net"]}',
    }


def test_runs_are_two_cuts_and_as_many_layers_more(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    asked: list[tuple[object, ...]] = []

    def exported(*given: object, architecture: str, **more: object) -> Path:
        asked.append((*given, architecture, more["training"]))
        return Path(f"{given[3]}.onnx")

    def plan_of(path: Path, *given: object, tf32: Tf32, trains: bool) -> tuple[str, int]:
        asked.append((*given, tf32, trains))
        return "plan", int(path.stem)

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(neusight_runs, "exported", exported)
    monkeypatch.setattr(neusight_runs, "Plan", SimpleNamespace(of=plan_of))
    # head 1 s, a layer 2 s forward; backward 3 s a layer; floors 0.5 s and 1 s a layer
    monkeypatch.setattr(
        neusight_runs,
        "inference",
        lambda p: TrainingStep(Spent(1.0 + 2 * p[1]), Spent(0.0), 0.5 + p[1]),
    )
    monkeypatch.setattr(
        neusight_runs,
        "training",
        lambda p: TrainingStep(Spent(1.0 + 2 * p[1]), Spent(3.0 * p[1]), 0.5),
    )
    said: list[str] = []
    for mode, whole_s in (("inf", 11.0), ("train", 26.0)):
        made = neusight_runs.timed(
            SimpleNamespace(**row("bert_large", mode, "v100", 2 * whole_s)), said.append
        )
        assert made.made.whole.time_s == pytest.approx(whole_s)
        assert made.made.floor_s == pytest.approx(5.5 if mode == "inf" else 0.5)
        assert (made.device, made.model, made.mode) == ("v100", "bert_large", mode)
    assert said == [f"v100 bert_large {mode} 4 x 128: 0.500" for mode in ("inf", "train")]
    assert [a[2:] for a in asked if a[0] == "bert_large"] == [
        (128, units, task, is_training)
        for task, is_training in (
            ("BertForSequenceClassification", False),
            ("BertForPreTraining", True),
        )
        for units in (1, 2)
    ]
    assert asked[1] == ("v100", {"batch": 4}, "eager-literal", Tf32.NONE, False)


def test_figures_are_of_both_modes_of_each_and_of_each_machine(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rows = [
        row("a", "inf", "v100", 4.05),
        row("b", "inf", "t4", 4.4),
        row("a", "train", "v100", 5.0),
        {**row("a", "inf", "v100", 9.0), "variant": "compiled"},
    ]
    monkeypatch.setattr(neusight_runs, "read_parquet", lambda path: DataFrame(rows))

    def made(row: Any, say: object) -> TimedLabel:
        return replace(
            timed(row.e2e_latency_ms * 1e-3 - KERNELS),
            device=row.device,
            model=row.model,
            mode=row.mode,
        )

    monkeypatch.setattr(neusight_runs, "timed", made)
    said: list[str] = []
    found = {f.slice: f for f in EXPERIMENT.evaluate(Path("data"), said.append)}
    assert list(found) == [
        "both",
        "inference",
        "training, forward and backward",
        "inference, t4",
        "inference, v100",
        "training, forward and backward, v100",
    ]
    both, inf = found["both"], found["inference"]
    assert (both.rows, inf.rows) == (3, 2)
    errors = [abs(4 / 4.05 - 1), abs(4 / 4.4 - 1), abs(4 / 5 - 1)]
    assert both.mape == pytest.approx(sum(errors) / 3)
    assert both.median == pytest.approx(errors[1])
    assert inf.mape == pytest.approx(sum(errors[:2]) / 2)
    # of 4.05 s the interval is chosen on 4.4 s, which the widest holds, and the other way round
    assert inf.coverage == pytest.approx(0.5)
    assert both.floor_holds == 1.0
    assert said[0] == "correlation of products, inference: 1.0"


def test_nothing_is_trained_and_without_torch_nothing_said(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def missing(row: object, say: object) -> TimedLabel:
        raise MissingExtraError("building models needs torch", hint="pip")

    with pytest.raises(DataError, match="no weights of their own"):
        EXPERIMENT.train(Path("data"), print)
    monkeypatch.setattr(
        neusight_runs, "read_parquet", lambda path: DataFrame([row("a", "inf", "t4", 1.0)])
    )
    monkeypatch.setattr(neusight_runs, "timed", missing)
    said: list[str] = []
    assert list(EXPERIMENT.evaluate(Path("data"), said.append)) == []
    assert len(said) == 1
    assert said[0].startswith("neusight_runs: left out, building models needs torch")


def test_a_page_stays_as_it_is_where_no_figure_was_measured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def missing(row: object, say: object) -> TimedLabel:
        raise MissingExtraError("building models needs torch", hint="pip")

    monkeypatch.setattr(
        neusight_runs, "read_parquet", lambda path: DataFrame([row("a", "inf", "t4", 1.0)])
    )
    monkeypatch.setattr(neusight_runs, "timed", missing)
    page = tmp_path / "page.md"
    page.write_text("figures")
    words = ["eval", "op", "neusight_runs", "--data", str(tmp_path), "-o", str(page)]
    assert cli.run(words) == 2
    assert "neusight_runs: no figure was measured" in capsys.readouterr().err
    assert page.read_text() == "figures"
