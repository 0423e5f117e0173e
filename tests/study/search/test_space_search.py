"""``perfc search``: the front is Pareto-optimal, and its numbers are those of ``perfc.analyze``."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import perfc
from perfc import cli
from perfc.deployment import Deployment
from perfc.errors import ModelError
from perfc.ir.symbolic.evaluate import evaluate
from perfc.study.search import Objective, SearchPlan, Space, SpaceSearch, search_space
from perfc.study.search.evaluate import ModelEvaluator
from perfc.study.search.run import pareto
from perfc.study.search.samplers import Sampler, sampler_of
from perfc.study.search.views import document, render_csv
from perfc.view.report.formats.document import Table
from perfc.view.report.sections.verdict import memory_need

optuna: Any = pytest.importorskip("optuna")
EXAMPLE = Path(__file__).parents[3] / "examples" / "search_space.py"
HOW = Deployment(target="t4", dims={"batch": 2})
EVERY = tuple(Objective)
PARAMS = {f"{name}{i}": 1 for name in ("kernel", "layers") for i in range(3)} | {
    f"filters{i}": 16 for i in range(3)
}


def searched(
    plan: SearchPlan, text: str = str(EXAMPLE), how: Deployment = HOW
) -> tuple[Space, SpaceSearch]:
    space = Space.load(text)
    evaluator = ModelEvaluator(how, frozenset((*plan.objectives, *plan.limits)))
    return space, search_space(space, evaluator, plan)


def written(folder: Path, body: str) -> str:
    path = folder / "space.py"
    folder_of_example = str(EXAMPLE.parent)
    path.write_text(f"import optuna, onnx, sys; sys.path.append({folder_of_example!r})\n\n{body}")
    return str(path)


@pytest.mark.parametrize("runtime", ["tensorrt", "eager"])
def test_the_numbers_of_the_front_are_those_of_analyze(runtime: str) -> None:
    how = Deployment(target="t4", dims={"batch": 2}, runtime=runtime)
    space, search = searched(SearchPlan(EVERY, trials=12, sampler=Sampler.RANDOM), how=how)
    assert len(search.front) > 2
    for trial in search.front:
        model, score = space.function(optuna.trial.FixedTrial(dict(trial.params)))
        report = perfc.analyze(model, deployment=how)
        total, energy = report.prediction.total, report.prediction.energy
        assert energy is not None
        assert trial.value(Objective.LATENCY) == total.time_s
        assert (trial.estimate.low_s, trial.estimate.high_s) == (total.low_s, total.high_s)
        assert trial.value(Objective.ENERGY) == energy.energy_j
        assert trial.value(Objective.MEMORY) == memory_need(report).total_bytes
        assert trial.value(Objective.FLOP) == evaluate(report.cost.work.flop, report.env)
        assert trial.value(Objective.SCORE) == score


def test_no_candidate_is_better_than_one_of_the_front() -> None:
    two = (Objective.LATENCY, Objective.SCORE)
    _, search = searched(SearchPlan(two, trials=30, sampler=Sampler.RANDOM, seed=3))
    points = sorted({(t.value(two[0]), t.value(two[1])) for t in search.front})
    times, scores = zip(*points, strict=True)
    assert all(a < b for a, b in pairwise(times))
    assert all(a < b for a, b in pairwise(scores))
    for trial in search.trials:
        time_s, score = (trial.value(one) for one in two)
        assert any(t <= time_s and s >= score for t, s in zip(times, scores, strict=True))
    assert pareto(search.front, two) == list(search.front)


def test_different_models_with_equal_objectives_are_all_on_the_front(tmp_path: Path) -> None:
    body = f"""
import search_space
def build(trial):
    model, _ = search_space.build(optuna.trial.FixedTrial({PARAMS}))
    model.graph.doc_string = trial.suggest_categorical("doc", ("a", "b"))
    trial.suggest_categorical("unused", (1, 2))
    return model
"""
    path = written(tmp_path, body)
    _, search = searched(SearchPlan((Objective.FLOP,), trials=9, sampler=Sampler.GRID), path)
    assert len(search.trials) == 4
    assert [trial.params["doc"] for trial in search.front] in (["a", "b"], ["b", "a"])


def test_limits_exclude_candidates_and_equal_ones_are_analyzed_once() -> None:
    most = {Objective.LATENCY: 300e-6}
    _, free = searched(SearchPlan((Objective.SCORE,), trials=30, seed=1))
    plan = SearchPlan((Objective.SCORE,), most, trials=120, seed=1)
    _, search = searched(plan)
    assert free.holds
    assert 0 < sum(not trial.is_within for trial in search.trials) < 120
    assert all(trial.value(Objective.LATENCY) <= 300e-6 for trial in search.front)
    assert search.analyzed == len({tuple(trial.params.items()) for trial in search.trials}) < 120


def test_generations_are_those_of_optuna() -> None:
    def objective(trial: Any) -> tuple[float, float]:
        x, y = (trial.suggest_int(name, 0, 40) for name in "xy")
        return x * x + y, (y - 20) ** 2 - x

    params = []
    for sampler in (sampler_of(Sampler.NSGA2, 5), optuna.samplers.NSGAIISampler(seed=5)):
        study = optuna.create_study(directions=["minimize"] * 2, sampler=sampler)
        study.optimize(objective, n_trials=170)
        params.append([trial.params for trial in study.trials])
    assert params[0] == params[1]


def test_a_file_that_each_candidate_overwrites_is_analyzed_each_time(tmp_path: Path) -> None:
    file, wide = str(tmp_path / "candidate.onnx"), {**PARAMS, "filters0": 64}
    body = f"""
import search_space
def build(trial):
    params = trial.suggest_categorical("wide", (False, True)) and {wide} or {PARAMS}
    model, _ = search_space.build(optuna.trial.FixedTrial(params))
    onnx.save(model, {file!r})
    return {file!r}
"""
    plan = SearchPlan((Objective.FLOP,), trials=4, sampler=Sampler.GRID)
    _, search = searched(plan, written(tmp_path, body))
    assert len({trial.value(Objective.FLOP) for trial in search.trials}) == 2


def test_grid_tries_each_combination_once(tmp_path: Path) -> None:
    body = """
def small(trial):
    import search_space
    trial.suggest_categorical("unused", ("a", "b"))
    class Fixed:
        suggest_int = lambda self, *_: 1
        suggest_categorical = lambda self, name, choices: (
            trial.suggest_categorical(name, choices) if name == "kernel0" else choices[0])
    return search_space.build(Fixed())
"""
    path = written(tmp_path, body)
    plan = SearchPlan((Objective.FLOP,), trials=50, sampler=Sampler.GRID)
    _, search = searched(plan, f"{path}:small")
    assert len(search.trials) == 6
    assert search.analyzed == 3


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ("def build(trial): return 1 / 0", "space.py:build: line 3: ZeroDivisionError: division"),
        ("def other(trial): ...", "space.py: has no function build (def build(trial): ...)"),
        ("1 / 0", "space.py: line 3: ZeroDivisionError: division by zero"),
        ("def build(trial): return None", "space.py:build: it returned NoneType"),
        ("def build(trial): return b'no model'", "no candidate of 3 has an answer: "),
        ("def build(trial): return onnx.ModelProto()", "return model, score"),
        ("def build(trial): raise optuna.TrialPruned('odd')", "has an answer: odd"),
    ],
)
def test_errors_are_one_line(
    tmp_path: Path, body: str, words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["search", written(tmp_path, body), "-t", "t4", "--trials", "3"]) == 2
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1
    assert optuna.logging.get_verbosity() == optuna.logging.ERROR  # it has a stream of its own


def test_failures_are_counted_with_their_reasons(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    body = f"""
RESNET = {str(EXAMPLE.parent / "models" / "resnet50.onnx.gz")!r}
def build(trial):
    if (n := trial.suggest_int("n", 0, 3)) == 0:
        raise optuna.TrialPruned("empty")
    return b"broken" if n == 1 else RESNET
"""
    call = ["search", written(tmp_path, body), "-t", "t4", "--trials", "12", "--objective", "flop"]
    assert cli.run([*call, "--sampler", "grid", "--output-format", "json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert result["failures"].pop("empty") == 1
    assert list(result["failures"].values()) == [1]
    assert result["analyzed"] == 1
    assert [row["params"]["n"] for row in result["front"]] in ([2], [3])


def test_no_candidate_within_the_limits_is_a_finding(capsys: pytest.CaptureFixture[str]) -> None:
    call = ["search", str(EXAMPLE), "-t", "t4", "--trials", "3", "--slo", "1ns"]
    assert cli.run(call) == 1
    assert "0 of 3 candidates are within the limits" in capsys.readouterr().out


def test_without_optuna_the_error_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "optuna", None)
    assert cli.run(["search", str(EXAMPLE)]) == 2
    error = capsys.readouterr().err
    assert "pip install 'optuna>=5" in error
    assert error.count("\n") == 1


def test_a_module_with_its_inputs_and_a_score(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    body = """
import torch
def build(trial):
    width = trial.suggest_categorical("width", (8, 16))
    return torch.nn.Linear(64, width), ((64,),), width
"""
    plan = SearchPlan((Objective.FLOP, Objective.SCORE), trials=5, sampler=Sampler.RANDOM)
    _, search = searched(plan, written(tmp_path, body), Deployment(target="t4"))
    assert search.analyzed == 2
    for trial in search.front:
        module = torch.nn.Linear(64, trial.params["width"])
        report = perfc.analyze(module, inputs=((64,),), deployment=Deployment(target="t4"))
        assert trial.value(Objective.FLOP) == evaluate(report.cost.work.flop, report.env)


def test_load_refuses_what_is_no_file() -> None:
    with pytest.raises(ModelError, match="no such file"):
        Space.load("missing.py")


def test_a_long_front_is_printed_in_part() -> None:
    _, search = searched(SearchPlan((Objective.SCORE,), trials=2))
    many = replace(search, front=search.front * 99)
    (table, *_), text = document(many).sections[0].parts, render_csv(many)
    assert isinstance(table, Table)
    assert len(table.rows) == 33
    assert text.count("\n") == 100
