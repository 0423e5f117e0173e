"""Trees for language models: folds, trees on a kernel sum, what is kept of a training."""

from __future__ import annotations

import math
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("xgboost")
np = pytest.importorskip("numpy")

from perfc.errors import MissingExtraError, ParseError
from perfc.frontend.config import read_config
from perfc.frontend.config.facts import parameters
from perfc.machine import load_machine
from perfc.serving.host import HostModel, amounts
from perfc_lab.serving import ServedRow, ServingQuantity
from perfc_lab.serving.aic import UNSTATED
from perfc_lab.serving.replay import ReplayedNumber
from perfc_lab.trees import experiment, predictors
from perfc_lab.trees.board import board
from perfc_lab.trees.boosted import ForestSettings, grown
from perfc_lab.trees.cache import NumberCache, digest_of
from perfc_lab.trees.folds import HeldOutKind, folds_of
from perfc_lab.trees.graph_network import GraphNetwork
from perfc_lab.trees.kernel_sum import SHARES, KernelSum, cache_share, grouping
from perfc_lab.trees.rows import COLUMNS, Target, TreeRow, features_of
from perfc_lab.trees.scores import groups_of, held_of, left_out, score_of, scores_of
from perfc_lab.trees.shipped import weights

FEW = ForestSettings(0.3, 3, 1.0, 20)
LAW = HostModel(kernels=1.3, step_s=0.004, sequence_s=5e-5)
MODELS = ("llama-2-7b", "llama-3.1-8b", "mistral-7b-v0.1", "opt-6.7b")


def row(model: str, users: int, target: str = "h100", isl: int = 128) -> TreeRow:
    """A row whose time is exactly what `LAW` says of its amounts."""
    kernels_s = parameters(read_config(model)).resident * 6e-13 * (1 + users / 200)
    counted = amounts(kernels_s, 0.0, 0, users)
    time_s = LAW.step(kernels_s, 0.0, 0, users)
    served = ServedRow(
        "aic_serving",
        f"{model} {users}",
        model,
        load_machine(target).name,
        "vllm",
        "0.19.0",
        "bf16",
        "",
        1,
        1,
        1,
        1,
        isl,
        64,
        users,
        False,
        (),
        False,
        {ServingQuantity.TOKENS_PER_S: users / time_s},
    )
    sample = ReplayedNumber(served, ServingQuantity.TOKENS_PER_S, counted, time_s)
    return TreeRow(
        served.source,
        model,
        served.target,
        Target.THROUGHPUT,
        users / time_s,
        features_of(served),
        served,
        ((1.0, sample),),
        float(users),
    )


@pytest.fixture(scope="module")
def rows() -> list[TreeRow]:
    return [row(m, users) for m in MODELS for users in (1, 2, 4, 8, 16, 32, 64, 128)]


def test_random_folds_have_every_model_in_training_and_others_leave_it_out(
    rows: list[TreeRow],
) -> None:
    folds = folds_of(rows, HeldOutKind.RANDOM)
    assert sorted(set(folds)) == list("01234")
    for fold in set(folds):
        taught = {r.model for r, name in zip(rows, folds, strict=True) if name != fold}
        assert taught == set(MODELS)
    again = folds_of([*rows, *rows], HeldOutKind.RANDOM)
    assert again[: len(rows)] == again[len(rows) :] == folds, "a run that is published twice"
    assert folds_of(rows, HeldOutKind.MODEL) == [r.model for r in rows]
    assert set(folds_of(rows, HeldOutKind.MACHINE)) == {load_machine("h100").name}


def test_a_law_is_found_again_and_makes_the_kernel_sum_exact(rows: list[TreeRow]) -> None:
    said = np.exp(KernelSum(rows)(rows))
    assert said == pytest.approx([r.value for r in rows], rel=0.05)
    bare = np.exp(KernelSum(())(rows))
    assert (bare > 1.25 * np.array([r.value for r in rows])).all(), "kernels alone are too fast"


def test_residual_trees_have_half_the_error_of_plain_ones_on_unseen_models(
    rows: list[TreeRow],
) -> None:
    errors = {}
    for make in (lambda: predictors.PlainTrees(settings=FEW), predictors.ResidualTrees):
        wrong = []
        for model in MODELS:
            predictor = make()
            predictor.fit([r for r in rows if r.model != model], HeldOutKind.MODEL)
            asked = [r for r in rows if r.model == model]
            wrong += list(abs(predictor.predict(asked) / [r.value for r in asked] - 1))
        errors[make] = sum(wrong) / len(wrong)
    plain, residual = errors.values()
    assert residual < plain / 2
    assert residual < 0.05


def test_prompts_apart_keep_up_or_are_added_to_the_time_of_an_answer() -> None:
    plain = row("llama-3.1-8b", 8)
    served = replace(plain.served, prefill=(8, 1, 1), dataset=UNSTATED)
    first = ReplayedNumber(served, ServingQuantity.TTFT_S, amounts(0.0, 0.0, 0, 0), 1.0)
    first = replace(first, amounts=(1.0, *[0.0] * (len(first.amounts) - 1)))
    later = replace(plain.parts[0][1], row=served, quantity=ServingQuantity.TPOT_S)
    apart = replace(plain, served=served, parts=((1.0, first), (10.0, later)), tokens=10.0)
    waiting, keeping = KernelSum(()), KernelSum((), keeps_up=True)
    tokens_s = 10.0 / waiting.value(apart) - 1.0
    assert 10.0 / keeping.value(apart) == pytest.approx(tokens_s)
    assert keeping.value(plain) == waiting.value(plain), "whose prompts are not apart"
    said = dict(zip(COLUMNS, features_of(served), strict=True))
    assert said["workers told"] == 0.0
    told = dict(zip(COLUMNS, features_of(replace(served, dataset="")), strict=True))
    assert told["workers told"] == 1.0


def test_a_residual_is_told_how_heads_share_keys_and_how_large_caches_are(
    rows: list[TreeRow],
) -> None:
    assert grouping("llama-3.1-8b") == 4
    assert grouping("llama-2-7b") == 1
    assert grouping("deepseek-ai/DeepSeek-V3") == 128, "one latent vector for all heads"
    # 32 layers, 8 heads of keys and values, 128 wide, two bytes
    model = parameters(read_config("llama-3.1-8b"))
    bytes_a_token = 32 * 2 * 8 * 128 * 2
    assert cache_share("llama-3.1-8b", 100) == pytest.approx(
        100 * bytes_a_token / (2 * model.active)
    )
    shares = KernelSum(())(rows), KernelSum(()).shares(rows)
    caches = dict(zip(SHARES, shares[1].T, strict=True))["caches"]
    users = np.array([r.served.concurrency for r in rows])
    assert caches[users == 128] == pytest.approx(caches[users == 1] + math.log(128))


def test_formats_of_caches_and_drafts_are_features_of_a_deployment() -> None:
    served = row("llama-3.1-8b", 8).served
    plain = dict(zip(COLUMNS, features_of(served), strict=True))
    other = features_of(replace(served, cache="f8e4m3", drafted=3))
    assert plain["cache bits"] == 16
    assert plain["drafted"] == 0
    assert dict(zip(COLUMNS, other, strict=True))["cache bits"] == 8
    assert dict(zip(COLUMNS, other, strict=True))["drafted"] == 3


def test_a_correction_that_is_half_believed_is_half_as_large(rows: list[TreeRow]) -> None:
    base = predictors.Base.BARE
    whole, half, none = (
        predictors.ResidualForest(base, settings, share)
        for settings, share in ((predictors.FLAT, 1.0), (predictors.FLAT, 0.5), (None, 1.0))
    )
    residual = predictors.ResidualTrees()
    residual.columns = tuple(range(len(COLUMNS)))
    residual._learn(rows, (whole, half, none))
    corrected, halved, bare = (residual._answer(c, rows) for c in (whole, half, none))
    assert np.abs(corrected - bare).max() > 0.1
    assert halved == pytest.approx((corrected + bare) / 2)


def test_answers_together_are_their_mean_as_often_as_each_was_added() -> None:
    errors = np.array([[0.25, -0.125, 2.0], [-0.25, 0.125, 2.0], [0.25, -0.125, 2.0]])
    assert sorted(predictors.together(errors)) == [0, 1, 1], "two thirds of one cancel the other"
    assert predictors.together(errors[:, :1]) == [0], "alone it gets no better by being repeated"


def test_trees_without_a_sum_say_all_of_it(rows: list[TreeRow]) -> None:
    alone = predictors.ResidualForest(predictors.Base.NOTHING, predictors.FLAT)
    residual = predictors.ResidualTrees()
    residual.columns = tuple(range(len(COLUMNS)))
    residual._learn(rows, (alone,))
    assert residual._answer(alone, rows) == pytest.approx(predictors.logs_of(rows), abs=0.2)
    residual.chosen = {"": (alone, predictors.ResidualForest(predictors.Base.NOTHING))}
    half = residual.predict(rows)
    assert half**2 == pytest.approx(np.exp(residual._answer(alone, rows))), "the other says one"


def test_what_was_computed_is_kept_with_what_it_was_computed_from(tmp_path: Path) -> None:
    counted: list[int] = []

    def numbers() -> list[float]:
        counted.append(1)
        return [1.5, math.nan]

    kept = NumberCache(tmp_path)
    first, second = (kept.numbers(("trees", "0"), numbers) for _ in range(2))
    assert len(counted) == 1
    assert first[0] == second[0] == 1.5
    assert math.isnan(second[1])
    kept.numbers(("trees", "1"), numbers)
    assert len(counted) == 2, "of other rows nothing is known"
    for path in tmp_path.iterdir():
        path.write_text("[]")
    kept.numbers(("trees", "0"), numbers)
    assert len(counted) == 3, "a file that is none is written anew"
    NumberCache().numbers(("trees", "0"), numbers)
    assert len(counted) == 4


def test_folds_that_were_tested_are_not_trained_again(rows: list[TreeRow], tmp_path: Path) -> None:
    made: Any = Taught
    kept = NumberCache(tmp_path)
    found, seconds = left_out(rows, made, HeldOutKind.MODEL, cache=kept, method="x")
    again = left_out(rows, None, HeldOutKind.MODEL, cache=kept, method="x")  # type: ignore[arg-type]
    assert again[0].tolist() == found.tolist()
    assert again[1] == seconds
    changed = [replace(rows[0], value=2 * rows[0].value), *rows[1:]]
    assert digest_of(changed) != digest_of(rows)
    with pytest.raises(TypeError):
        left_out(changed, None, HeldOutKind.MODEL, cache=kept, method="x")  # type: ignore[arg-type]


def test_an_unknown_number_is_a_branch_of_its_own() -> None:
    table = np.array([[math.nan], [0.0], [5.0]] * 8)
    trees = grown(table, np.array([1.0, 2.0, 3.0] * 8), ForestSettings(0.5, 2, 1.0, 40), (0,))
    assert trees(table)[:3] == pytest.approx([1, 2, 3], abs=0.1)


def test_trees_beside_each_other_choose_columns_at_each_node() -> None:
    table = np.random.default_rng(0).random((64, 4))
    settings = ForestSettings(0.1, 3, 1.0, 5)
    columns = (0, 1, 2, 3)
    alone, beside, chosen = (
        grown(table, table[:, 0], s, columns)
        for s in (
            settings,
            replace(settings, parallel_trees=4),
            replace(settings, node_columns=0.25),
        )
    )
    assert len(beside.booster.get_dump()) == 4 * len(alone.booster.get_dump()) == 20
    assert set(alone.booster.get_score()) == {"c0"}
    assert set(chosen.booster.get_score()) > {"c0"}


def test_a_score_counts_what_has_no_answer(rows: list[TreeRow]) -> None:
    said = np.array([1.1 * r.value for r in rows])
    said[0] = math.nan
    found = score_of(rows, said, "x", HeldOutKind.RANDOM, "all", 0.0)
    assert (found.rows, found.unanswered) == (len(rows) - 1, 1)
    assert found.mape == pytest.approx(0.1)
    assert found.tau == pytest.approx(1.0)


class Taught:
    """Predicts the number of rows that it was taught."""

    def fit(self, rows: list[TreeRow], kind: HeldOutKind) -> None:
        assert kind is HeldOutKind.MODEL
        self.models = {row.model for row in rows}
        self.count = len(rows)

    def predict(self, rows: list[TreeRow]) -> np.ndarray:
        assert not self.models & {row.model for row in rows}
        return np.full(len(rows), float(self.count))


def test_each_row_is_predicted_by_a_training_without_its_fold(rows: list[TreeRow]) -> None:
    told: list[str] = []
    made: Any = Taught
    found, seconds = left_out(rows, made, HeldOutKind.MODEL, told.append)
    assert found.tolist() == [24.0] * len(rows)
    assert told == [f"{rows[0].target.value}, unseen model: {seconds:.0f} s"]
    mixed = [replace(r, source="other") if i % 2 else r for i, r in enumerate(rows)]
    scores = list(scores_of(mixed, "x", made, HeldOutKind.MODEL))
    assert [(s.slice, s.rows) for s in scores] == [
        ("aic_serving", 16),
        ("other", 16),
        ("all tables", 32),
    ]
    assert [s.slice for s in scores_of(rows, "x", made, HeldOutKind.MODEL)] == ["aic_serving"]
    one_model = [r for r in rows if r.model == MODELS[0]]
    assert np.isnan(left_out(one_model, made, HeldOutKind.MODEL)[0]).all(), "nothing to learn from"


def test_ends_of_few_other_folds_are_at_least_as_far_as_those_of_all_tables() -> None:
    # a table of two folds, one of which is off by half; another table of three is off by a tenth
    ratios = np.array([1.0] * 40 + [1.5] * 40 + [1.1, 0.9] * 60)
    folds = np.array(["a"] * 40 + ["b"] * 40 + ["c"] * 40 + ["d"] * 40 + ["e"] * 40)
    own = np.arange(len(ratios)) < 80
    held, width = held_of(ratios, folds, own)
    # of b nothing but 0.9 to 1.1 is known, of a up to 1.5
    assert held == 0.5
    assert width == pytest.approx((1.5 / 0.9 + 1.1 / 0.9) / 2, rel=0.01)
    many = np.array([str(i % 6) for i in range(80)] + ["x"] * 120)
    assert held_of(ratios, many, own) == (1.0, 1.5), "of five other folds the table tells"


def test_rows_partly_given_are_left_out_of_a_total_of_their_own(rows: list[TreeRow]) -> None:
    apart, partly = "b, disaggregated", "b, disaggregated, partly given"
    every = [replace(rows[i], source=s) for i, s in enumerate(("a", apart, partly))]
    groups = groups_of(every)
    assert list(groups) == ["a", apart, partly, "all tables, all given", "all tables"]
    assert groups["all tables, all given"] == ["a", apart]
    assert groups["all tables"] == ["a", apart, partly]
    assert list(groups_of(every[:2])) == ["a", apart, "all tables"]
    assert list(groups_of(every[1:])) == [apart, partly, "all tables"]


def test_trees_are_written_and_read_back_alike(rows: list[TreeRow], tmp_path: Path) -> None:
    own = [r for r in rows if r.model != "opt-6.7b"][:12]
    family = weights.TreeFamily.SERVED
    weights.train(own, tmp_path, family, FEW)
    trees = weights.read(tmp_path, family, Target.THROUGHPUT)
    again = predictors.PlainTrees(settings=FEW)
    again.fit(own, HeldOutKind.RANDOM)
    assert [trees(r.features) for r in own] == pytest.approx(list(again.predict(own)), rel=1e-3)
    with pytest.raises(ParseError, match="no trees of energy"):
        weights.read(tmp_path, family, Target.ENERGY)
    card = tmp_path / "served-throughput.json"
    card.write_text(card.read_text().replace('"TVS"', '"other"'))
    with pytest.raises(ParseError, match="other features"):
        weights.read(tmp_path, family, Target.THROUGHPUT)


def test_the_page_has_both_kinds_of_folds_and_the_figures_of_the_thesis(
    rows: list[TreeRow], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(experiment, "settings_of", lambda *_: FEW)
    monkeypatch.setattr(experiment, "ABLATED", FEW)
    monkeypatch.setattr(experiment, "THESIS", FEW)
    monkeypatch.setattr(predictors, "ABLATION", predictors.ABLATION[-2:])
    monkeypatch.setattr(predictors, "CANDIDATES", predictors.CANDIDATES[:2])
    monkeypatch.setattr(predictors, "FINE", ())
    found = experiment.compared_rows(rows[::2], lambda _: None, gnn_s=0)
    kinds = {s.split for s in found.scores}
    assert kinds == {HeldOutKind.RANDOM.value, HeldOutKind.MODEL.value}, (
        "one machine leaves nothing to learn from"
    )
    page = board(found).written("markdown", "by hand")
    assert "5.49%, 109.73, 0.96" in page
    assert "unseen model" in page
    assert "by hand" in page
    assert "kernel sum" in board(found).written("text")
    assert '"perfc-eval/1"' in board(found).written("json")


def test_a_network_without_pytorch_is_refused_before_anything_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in [n for n in sys.modules if n.startswith("perfc_lab.papers.llm_sage")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(MissingExtraError, match="needs torch"):
        experiment.compared(tmp_path, lambda _: None, gnn_s=1.0)


def test_the_graph_network_learns_rows_of_language_models(rows: list[TreeRow]) -> None:
    pytest.importorskip("torch_geometric")
    network = GraphNetwork(limit_s=1.0)
    network.fit(rows, HeldOutKind.RANDOM)
    said = network.predict(rows)
    assert said.shape == (len(rows),)
    assert (said > 0).all()
    assert len(rows[0].features) == len(COLUMNS)


def test_the_day_of_a_run_is_a_feature_where_it_is_published() -> None:
    served = row("llama-3.1-8b", 8).served

    def day(published: str) -> float:
        features = features_of(replace(served, measured_on=published))
        return dict(zip(COLUMNS, features, strict=True))["day"]

    assert day("2026-03-01") - day("2026-02-28") == 1.0
    assert math.isnan(day(""))
    assert math.isnan(day("last spring"))
