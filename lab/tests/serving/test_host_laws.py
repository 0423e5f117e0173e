"""Laws of hosts: how they are learned, their bands, energy, and what ships."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from perfc.serving.host import COMMENT, LEARNED, HostModel
from perfc.serving.power import ANY_BOARD, BoardPower, board_of
from perfc_lab.data.fitted import as_toml
from perfc_lab.serving import (
    ServingQuantity,
    aic,
    energy,
    scores,
    tables,
)
from perfc_lab.serving.learn import (
    LEAST_ROWS,
    is_warm,
    left_out,
    model_fold,
    of_kernels,
    of_other_hosts,
)
from perfc_lab.serving.replay import ReplayedNumber
from perfc_lab.serving.scores import ServingEvidence, law_name, trained

from .test_evidence import row, sample


def test_ends_of_intervals_are_ranks_of_one_row_more() -> None:
    assert scores.edges([float(n) for n in range(1, 100)]) == (5.0, 95.0)
    assert scores.edges([float(n) for n in range(1, 20)]) == (1.0, 19.0)
    assert scores.edges([3.0, 1.0]) == (1.0, 3.0)
    assert scores.edges([float(n) for n in range(1, 40)]) == (2.0, 38.0)


def test_bands_hold_what_is_expected_and_are_of_each_latency() -> None:
    law = HostModel(step_s=4e-3)
    slow = [replace(s, value=1.5 * s.value) for s in lawful(law, "a")]
    given = [*slow, *lawful(law, "b"), *lawful(law, "c")]

    def bands(own: list[ReplayedNumber]) -> dict[str, Any]:
        return scores._bands(own, left_out(own, law_name, model_fold))

    found = bands(given)
    assert set(found) == {"tpot_low", "tpot_high"}
    assert found["tpot_low"] <= 1.0 < found["tpot_high"]
    first = [replace(s, quantity=ServingQuantity.TTFT_S) for s in given]
    assert set(bands(first)) == {"ttft_low", "ttft_high"}
    # all of them exact: the band is no narrower than what is expected
    exact = bands([replace(s, amounts=(s.value, *(0.0,) * 6)) for s in given])
    assert (exact["tpot_low"], exact["tpot_high"]) == (
        pytest.approx(1.0, abs=1e-6),
        pytest.approx(1.0, abs=1e-6),
    )
    assert scores._ratios([sample(3.0)], [2.0]) == [1.5]
    assert scores._ratios([sample(3.0)], [0.0]) == [3e12]


def test_energy_is_of_kernels_and_of_boards_that_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(energy, "idle_of", lambda target: 50.0)
    law = HostModel(kernels=2.0, prompts=3.0, exchanges=0.5)
    given = sample(1.0, ServingQuantity.ENERGY_J, amounts=(7.0, 1.0, 2.0, 0.1, 0.01, 0.02))
    # 2 · 7 + 3 · 1 + 0.5 · 2 joules in 2 · 0.1 + 3 · 0.01 + 0.5 · 0.02 s, of two ranks for 0.3 s
    assert of_kernels(law, given) == (pytest.approx(18.0), pytest.approx(0.24))
    assert energy.parts_of(law, given, 0.3) == pytest.approx((18, 50 * (0.6 - 0.24), 1))
    assert energy.parts_of(law, given, 0.05) == pytest.approx((18, 0, 1)), "nothing waits"
    assert BoardPower(1.5, 3.0).joules(18, 4) == 1.5 * 18 + 3 * 4
    rate = sample(
        4.0,
        ServingQuantity.TOKENS_PER_S,
        measured={ServingQuantity.TOKENS_PER_S: 10.0},
        amounts=(8.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
    )
    assert energy.times_of_tokens(law, [rate, given]) == {"one": 16 / 4 / 10}
    watched = replace(given, value=0.8 * 10 + 2.5 * 50 * (0.6 - 0.13))
    rates = replace(rate, amounts=(12.0, *(0.0,) * 6))
    found = energy.fitted_boards([watched, rates], {"x": HostModel()}, lambda s: "x")
    # 0.3 s a token, 0.6 s of two ranks; one row tells of no board, but of any
    assert found == {ANY_BOARD: BoardPower(0.8, 2.5, 1)}


def test_each_board_that_rows_tell_of_has_its_own_power() -> None:
    spread = [(1.0 + i % 3, 0.5 + i) for i in range(LEAST_ROWS)]
    parts = [
        (target, (a, b, power * a + waiting * b))
        for target, power, waiting in (("x", 0.8, 4.0), ("y", 2.0, 1.5))
        for a, b in spread
    ]
    found = energy.power_by_board([*parts, ("z", (1.0, 1.0, 1.0))])
    assert found["x"] == BoardPower(0.8, 4.0, LEAST_ROWS)
    assert found["y"] == BoardPower(2.0, 1.5, LEAST_ROWS)
    assert found[ANY_BOARD].rows == 2 * LEAST_ROWS + 1
    assert board_of(found, "x") is found["x"]
    assert board_of(found, "z") is found[ANY_BOARD], "one row is too few"
    assert board_of({}, "x") == BoardPower(1.0, 1.0)
    assert energy.power_by_board([]) == {}


def test_prefixes_that_engines_seem_to_know_teach_nothing() -> None:
    assert is_warm(row(distinct_prompts=100))
    assert not is_warm(row())


def lawful(law: HostModel, models: Sequence[str], **changed: Any) -> list[ReplayedNumber]:
    """Numbers that obey a law, of several models and sizes of batches."""
    found: list[ReplayedNumber] = []
    for m, model in enumerate(models):
        for i, n in enumerate((1, 4, 16, 64, 256)):
            kernels = (3e-3 + 1e-3 * m) * (1 + n / 64)
            amounts = (kernels, 0.0, 0.0, 1.0, 0.0, float(n), float(min(n, 64)))
            value = sum(getattr(law, k) * v for k, v in zip(LEARNED, amounts, strict=True))
            name = f"{model} {i}"
            own = {"measured": {ServingQuantity.TPOT_S: value}, **changed}
            found.append(sample(value, amounts=amounts, name=name, model=model, **own))
    return found


def test_a_model_left_out_is_predicted_by_the_others() -> None:
    law = HostModel(kernels=1.0, step_s=4e-3)
    given = lawful(law, "abc")
    found = left_out(given, law_name, model_fold)
    for s, p in zip(given, found, strict=True):
        assert p == pytest.approx(s.value, rel=0.1)
    few = left_out(given[:6], law_name, model_fold)
    assert few[5] == pytest.approx(given[5].amounts[0]), "too few others: kernels alone"


def test_what_rows_of_a_host_do_not_tell_other_hosts_do() -> None:
    """Rows of one engine have few sequences but for those of the model that is left out."""
    law = HostModel(sequence_s=4e-5)
    many = lawful(law, ("x", "y"), runtime="vllm")
    few = [s for s in lawful(law, ("a", "b"), runtime="sglang") if s.amounts[5] <= 4]
    tested = lawful(law, ("c",), runtime="sglang")
    alone, told = (
        left_out([*few, *tested], law_name, model_fold),
        left_out([*few, *tested, *many], law_name, model_fold),
    )
    last = len(few) + len(tested) - 1
    value = tested[-1].value
    assert abs(told[last] / value - 1) < 0.25 < abs(alone[last] / value - 1)


def test_hosts_of_benchmarks_tell_nothing_of_servers() -> None:
    many = lawful(HostModel(sequence_s=4e-5), "xy", version="0.12", source=tables.TRTLLM)
    own = lawful(HostModel(), ("a", "b"), runtime="sglang")
    assert law_name(many[0]) == "vllm-bench 0.12"
    assert of_other_hosts([*many, *own], law_name, "sglang") is None
    assert of_other_hosts([*many, *own], law_name, "vllm-bench") is None
    assert of_other_hosts([*own, *many], law_name, "vllm") is not None


def test_laws_that_ship_name_their_rows_and_models() -> None:
    given = lawful(HostModel(step_s=4e-3), ("a", "b", "LLaMA 7B"), source="table")
    laws = trained(ServingEvidence(tuple(given), ()))
    law = laws["vllm"]
    assert (law.rows, law.models, law.source) == (15, ("a", "b", "llama-7b"), "table")
    assert law.step_s == pytest.approx(4e-3, rel=0.2)
    assert law.tpot_low <= 1 <= law.tpot_high
    assert (law.ttft_low, law.ttft_high) == (0.5, 2.0), "nobody measured it"
    text = as_toml(laws, COMMENT)
    assert "[vllm]" in text
    assert 'origin = "fitted"' in text


def test_saturated_servers_teach_the_host_of_offline_benchmarks_too() -> None:
    servers = lawful(HostModel(step_s=4e-3), "ab", source=aic.AIC)
    saturated = lawful(HostModel(step_s=4e-3), "cd", source=tables.ML_ENERGY)
    laws = trained(ServingEvidence((*servers, *saturated), ()))
    assert (laws["vllm"].rows, laws["vllm"].models) == (10, ("a", "b"))
    assert laws["vllm-bench"] == replace(laws["vllm 0.11"], request_s=0.0, token_s=0.0)
    assert laws["vllm-bench"].models == ("c", "d")
