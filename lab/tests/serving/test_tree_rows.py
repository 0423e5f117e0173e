"""Rows that trees for language models learn from, and what is made of them, by hand."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("xgboost")
np = pytest.importorskip("numpy")

from perfc.deployment.prices import region_named
from perfc.deployment.prices.regions import J_PER_KWH
from perfc.frontend.config import read_config
from perfc.frontend.config.facts import parameters
from perfc.serving.host import HostModel
from perfc.serving.power import ANY_BOARD, BoardPower
from perfc_lab.serving import ServedRow, ServingQuantity, energy
from perfc_lab.serving.aic import AIC
from perfc_lab.serving.replay import ReplayedNumber
from perfc_lab.serving.tables import ML_ENERGY
from perfc_lab.trees import experiment, kernel_sum
from perfc_lab.trees.boosted import NUMBERS, best_of, grown
from perfc_lab.trees.folds import HeldOutKind
from perfc_lab.trees.graph_network import STATIC, measurements
from perfc_lab.trees.kernel_sum import KernelSum
from perfc_lab.trees.rows import (
    COLUMNS,
    QWEN,
    Target,
    TreeRow,
    expected_bytes,
    features_of,
    targets_of,
)

SERVED = ServedRow(
    AIC,
    "one",
    "llama-3.1-8b",
    "h100-sxm5-80gb",
    "sglang",
    "1.2.3",
    "bf16",
    "",
    2,
    4,
    1,
    3,
    100,
    11,
    4,
    False,
    (),
    True,
    {ServingQuantity.TPOT_S: 0.02, ServingQuantity.TTFT_S: 0.3},
)


STEP = (0.5, 0.25, 0.125, 2.0, 1.0, 8.0, 8.0)


def sample(
    quantity: ServingQuantity, value: float = 1.0, amounts: tuple[float, ...] = STEP
) -> ReplayedNumber:
    return ReplayedNumber(SERVED, quantity, amounts, value)


def named(row: TreeRow) -> dict[str, float]:
    return dict(zip(COLUMNS, row.features, strict=True))


def qwen_row(weights: str, value: float, isl: int = 1, **changed: Any) -> TreeRow:
    served = replace(
        SERVED,
        source=QWEN,
        name=f"{weights} {isl}",
        runtime="transformers",
        dataset=weights,
        isl=isl,
        **changed,
    )
    return TreeRow(QWEN, served.model, served.target, Target.MEMORY, value, (), served)


def test_a_closed_loop_writes_its_answers_in_the_time_of_the_first_and_the_later_tokens() -> None:
    counted = [sample(ServingQuantity.TTFT_S), sample(ServingQuantity.TPOT_S)]
    (found,) = targets_of(SERVED, counted)
    assert found.target is Target.THROUGHPUT
    assert found.value == pytest.approx(4 * 11 / (0.3 + 10 * 0.02))
    assert found.tokens == 44
    assert [w for w, _ in found.parts] == [1.0, 10.0]
    assert [s.quantity for _, s in found.parts] == [ServingQuantity.TTFT_S, ServingQuantity.TPOT_S]
    other = replace(SERVED, source="elsewhere")
    assert list(targets_of(other, counted)) == [], "of other tables nobody says it is a closed loop"
    assert list(targets_of(SERVED, counted[:1])) == []


def test_a_rate_that_was_measured_is_of_as_many_tokens_as_its_time() -> None:
    served = replace(
        SERVED,
        prefill=(1, 1, 2),
        model="LLaMA v3 8B",
        measured={ServingQuantity.TOKENS_PER_S: 50.0, ServingQuantity.ENERGY_J: 0.7},
    )
    counted = [
        sample(ServingQuantity.TOKENS_PER_S, 0.25),
        sample(ServingQuantity.ENERGY_J, 0.7, (3.0, 0.1)),
    ]
    rate, energy = targets_of(served, counted)
    assert (rate.value, rate.tokens) == (50.0, 12.5)
    assert (rate.source, rate.model) == (f"{AIC}, disaggregated", "llama-3-8b")
    assert (energy.target, energy.value, energy.tokens) == (Target.ENERGY, 0.7, 1.0)
    assert [s.quantity for _, s in energy.parts] == [
        ServingQuantity.ENERGY_J,
        ServingQuantity.TOKENS_PER_S,
    ]
    assert math.isnan(energy.expected)


def test_features_say_how_a_row_was_deployed() -> None:
    (found,) = targets_of(SERVED, [sample(ServingQuantity.TTFT_S), sample(ServingQuantity.TPOT_S)])
    stated = {
        "BS": 4,
        "SL": 100,
        "GPUs": 6,
        "tensor": 2,
        "expert": 4,
        "data": 1,
        "engines": 3,
        "prompt GPUs": 0,
        "output tokens": 11,
        "static": 0,
        "runtime": 1,
        "version": 1002.003,
        "eager": 1,
    }
    assert {n: named(found)[n] for n in stated} == stated
    changed = replace(SERVED, prefill=(2, 1, 3), is_static=True, runtime="ort", concurrency=0)
    values = dict(zip(COLUMNS, features_of(changed), strict=True))
    assert (values["prompt GPUs"], values["GPUs"], values["static"]) == (6, 12, 1)
    assert math.isnan(values["runtime"])
    assert math.isnan(values["BS"]), "nobody says how many users there were"


def test_the_memory_of_one_user_is_weights_cache_and_the_largest_step() -> None:
    found = expected_bytes(SERVED)
    weights = 2 * parameters(read_config("llama-3.1-8b")).resident
    cache = 111 * 2 * 32 * 8 * 128 * 2
    assert weights + cache < found < 1.1 * weights + cache
    longer = expected_bytes(replace(SERVED, osl=1011))
    assert longer - found == pytest.approx(1000 * 2 * 32 * 8 * 128 * 2), "answers lie in the cache"


def test_loading_takes_more_where_a_checkpoint_has_a_tied_head() -> None:
    small = replace(SERVED, model="qwen2.5-0.5b", runtime="transformers", isl=1, osl=2)
    short = {w: expected_bytes(replace(small, weights=w)) for w in ("awq", "gptq", "bf16")}
    head = 2 * 896 * 151_936
    assert short["awq"] - short["gptq"] == pytest.approx(head, rel=0.02)
    assert short["bf16"] > short["gptq"] + head, "its layers are in 16 bits, its head is tied"
    # longer answers take more than loading did
    long = {w: expected_bytes(replace(small, weights=w, osl=60_000)) for w in ("awq", "gptq")}
    assert long["awq"] == long["gptq"]
    untied = replace(small, model="qwen2.5-7b")
    whole = {w: expected_bytes(replace(untied, weights=w)) for w in ("awq", "gptq")}
    assert whole["awq"] == whole["gptq"], "its checkpoint has the head that the model has"


def test_each_gpu_has_the_tensors_of_its_own_layers() -> None:
    one, two, four = (expected_bytes(replace(SERVED, engines=n)) for n in (1, 2, 4))
    assert two > one
    assert four - two == pytest.approx(2 * (two - one))


def energetic(kernels_j: float, kernels_s: float, token_s: float, value: float) -> TreeRow:
    served = replace(SERVED, source=ML_ENERGY, measured={ServingQuantity.TOKENS_PER_S: 1 / token_s})
    timed = ReplayedNumber(served, ServingQuantity.TOKENS_PER_S, (token_s, *(0.0,) * 6), token_s)
    drawn = ReplayedNumber(
        served, ServingQuantity.ENERGY_J, (kernels_j, 0.0, 0.0, kernels_s, 0.0, 0.0), value
    )
    return TreeRow(
        ML_ENERGY,
        served.model,
        served.target,
        Target.ENERGY,
        value,
        features_of(served),
        served,
        ((1.0, drawn), (1.0, timed)),
    )


def test_two_numbers_of_energy_are_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "idle_of", lambda target: 50.0)
    # two ranks: a token of 10 ms waits for 20 ms less its kernels
    given = [(1.0, 0.004, 0.010), (3.0, 0.010, 0.010), (2.0, 0.002, 0.030), (5.0, 0.030, 0.010)]
    taught = [energetic(j, k, t, 0.8 * j + 2.5 * 50 * max(2 * t - k, 0.0)) for j, k, t in given]
    found = KernelSum(taught)
    assert found.joules(taught[0])[:2] == (pytest.approx(1.0), pytest.approx(50 * 0.016))
    assert found.joules(taught[3])[:2] == (pytest.approx(5.0), 0.0), "nothing waits"
    assert found.boards == {ANY_BOARD: BoardPower(0.8, 2.5, 4)}
    assert [math.exp(v) for v in found(taught)] == pytest.approx([r.value for r in taught])
    assert KernelSum(()).boards == {}


def test_hosts_that_launch_each_kernel_have_their_own_numbers_of_energy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(energy, "idle_of", lambda target: 50.0)

    def in_graphs(row: TreeRow) -> TreeRow:
        parts = [(w, replace(s, row=replace(s.row, is_eager=False))) for w, s in row.parts]
        return replace(row, served=replace(row.served, is_eager=False), parts=tuple(parts))

    given = [(1.0 + i, 0.004, 0.010 + 0.004 * (i % 3)) for i in range(kernel_sum.LEAST_ROWS)]
    eager, bench = (
        [energetic(j, k, t, a * j + b * 50 * (2 * t - k)) for j, k, t in given]
        for a, b in ((0.8, 2.5), (1.2, 4.0))
    )
    taught = [*eager, *map(in_graphs, bench)]
    said = [math.exp(v) for v in KernelSum(taught)(taught)]
    assert said == pytest.approx([r.value for r in taught])
    few = KernelSum([*eager, *map(in_graphs, bench[:-1])])
    assert list(few.boards_of) == [True]


def test_shares_of_a_time_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_sum, "active_share", lambda name: 0.3)
    monkeypatch.setattr(kernel_sum, "grouping", lambda name: 2.0)
    monkeypatch.setattr(kernel_sum, "cache_share", lambda name, tokens: tokens / 1000)
    law = HostModel(kernels=2.0, prompts=4.0, exchanges=8.0, step_s=0.5, sequence_s=0.25)
    parts = ((2.0, sample(ServingQuantity.TPOT_S)),)
    row = TreeRow(AIC, "m", "h100", Target.THROUGHPUT, 1.0, (), SERVED, parts, 10.0)
    said = KernelSum(())
    said.everywhere = law
    # kernels 1 + prompts 1 + exchanges 1 + step 1 + sequences 2, twice
    assert said.value(row) == pytest.approx(10 / 12)
    (found,) = said.shares([row])
    caches = 4 * (SERVED.isl + SERVED.osl // 2) / 1000
    assert list(found) == pytest.approx(
        [math.log(1.2), 1 / 6, 1 / 6, 3 / 6, 4.0, 0.3, 2.0, math.log(caches)]
    )
    # of less than a step the sequences are those that there are
    short = (0.0, 0.0, 0.0, 0.5, 0.0, 6.0, 6.0)
    part = replace(row, parts=((1.0, sample(ServingQuantity.TPOT_S, 1.0, short)),))
    assert said.shares([part])[0][4] == pytest.approx(6.0)
    bare = replace(row, parts=())
    assert math.isnan(said.value(bare))
    assert all(math.isnan(v) for v in said.shares([bare])[0])
    kept = replace(row, target=Target.MEMORY, expected=77.0)
    assert said.value(kept) == 77.0


def test_a_token_touches_all_parameters_but_experts_that_were_not_chosen() -> None:
    assert kernel_sum.active_share("llama-3.1-8b") == 1.0
    found = parameters(read_config("mixtral-8x7b"))
    assert kernel_sum.active_share("mixtral-8x7b") == found.active / found.resident < 0.5
    assert math.isnan(kernel_sum.active_share("nobody/knows-1b"))


def test_the_best_settings_are_those_with_the_least_error_of_rows_left_out() -> None:
    table = np.array([[float(i % 16)] for i in range(64)])
    logs = np.log(1 + table[:, 0])
    is_test = np.arange(64) % 4 == 0
    deep, flat = (0.3, 4, 1.0), (0.001, 1, 1.0)
    found = best_of(table, logs, [is_test], (flat, deep), (0,))
    assert (found.rate, found.depth, found.share) == deep
    assert found.trees in NUMBERS
    trees = grown(table, logs, found, (0,))
    assert trees(table) == pytest.approx(logs, abs=0.05)

    def error(number: int) -> float:
        some = grown(table[~is_test], logs[~is_test], replace(found, trees=number), (0,))
        return float(np.abs(np.exp(some(table[is_test]) - logs[is_test]) - 1).mean())

    errors = {n: error(n) for n in NUMBERS}
    assert errors[found.trees] == pytest.approx(min(errors.values()), abs=1e-6)


def test_carbon_is_the_mean_energy_of_a_model_by_the_worlds_grid(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(experiment, "left_out", lambda own, make, kind: (np.array([3.0, 5.0]), 0.0))
    own = [energetic(1.0, 0.01, 0.01, v) for v in (1.0, 2.0)]
    (found,) = experiment.carbon(own)
    grams = region_named("world").carbon_g_per_kwh * 1e6 / J_PER_KWH
    assert (found.model, found.count) == ("llama-3.1-8b", 2)
    assert found.measured_g == pytest.approx(1.5 * grams)
    assert found.predicted_g == pytest.approx(4.0 * grams)
    assert list(experiment.carbon([])) == []


def test_folds_that_leave_nothing_to_learn_from_are_none() -> None:
    own = [energetic(1.0, 0.01, 0.01, v) for v in (1.0, 2.0)]
    assert HeldOutKind.MODEL not in list(experiment.kinds_of(own))
    assert experiment.learned_from([qwen_row("BF16", 1.0), *own], Target.ENERGY) == own
    memory = experiment.learned_from([qwen_row("BF16", 1.0), *own], Target.MEMORY)
    assert [r.source for r in memory] == [QWEN]
    assert set(experiment.makers(Any, 0.0)) < set(experiment.makers(Any, 1.0))  # type: ignore[arg-type]
    assert experiment.rate_of(lambda: None) > 1e6


def test_a_graph_network_is_given_times_memory_or_energy_of_each_row() -> None:
    pytest.importorskip("torch_geometric")
    own = [
        replace(qwen_row("BF16", 8.0), features=tuple(map(float, range(len(COLUMNS))))),
        replace(energetic(1.0, 0.01, 0.01, 0.5), served=replace(SERVED, concurrency=0)),
        replace(energetic(1.0, 0.01, 0.01, 20.0), target=Target.THROUGHPUT),
    ]
    found = measurements(own)
    memory, energy, rate = found.rows
    assert (memory.memory_bytes, energy.energy_j, rate.time_s) == (8.0, 0.5, 1 / 20)
    assert math.isnan(memory.time_s)
    assert math.isnan(memory.energy_j)
    assert math.isnan(energy.time_s)
    assert math.isnan(rate.memory_bytes)
    assert (memory.batch, energy.batch) == (4, 1)
    assert {r.graph for r in found.rows} <= set(found.graphs)
    assert memory.known == tuple(float(i) for i in STATIC)
