"""What a kernel sum leaves, from rows that are alike."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import pytest

np = pytest.importorskip("numpy")
pytest.importorskip("scipy")

from perfc_lab.serving import ServedRow, ServingQuantity
from perfc_lab.trees.kernel_sum import SHARES
from perfc_lab.trees.likeness import LEAST_ROWS, PARTS, AspectSums, Likeness, by_table, tabulated
from perfc_lab.trees.predictors import table_of
from perfc_lab.trees.rows import DISAGGREGATED, PARTLY, Target, TreeRow, features_of

MODELS = ("llama-2-7b", "opt-6.7b")
USERS = (1, 2, 4, 16, 32, 64)


def row(model: str, users: int, source: str = "a", **changed: object) -> TreeRow:
    served = ServedRow(
        source,
        f"{model} {users}",
        model,
        "h100-sxm5-80gb",
        "vllm",
        "0.19.0",
        "bf16",
        "",
        1,
        1,
        1,
        1,
        128,
        64,
        users,
        False,
        (),
        False,
        {ServingQuantity.TOKENS_PER_S: 1.0},
    )
    served = replace(served, **changed)  # type: ignore[arg-type]
    features = features_of(served)
    return TreeRow(source, model, served.target, Target.THROUGHPUT, 1.0, features, served)


def table(rows: list[TreeRow]) -> object:
    return np.concatenate([table_of(rows), np.full((len(rows), len(SHARES)), 0.5)], axis=1)


def smooth(one: TreeRow) -> float:
    """Left of a row: a line in the logarithm of its users, another of each model."""
    slope = 0.06 if one.model == MODELS[0] else -0.04
    return 0.1 + slope * math.log2(one.served.concurrency)


def left_of(rows: list[TreeRow], of: Callable[[TreeRow], float]) -> object:
    return np.array([of(one) for one in rows])


@pytest.mark.parametrize("terms", AspectSums)
def test_rows_between_known_ones_are_told_from_them(terms: AspectSums) -> None:
    known = [row(model, users) for model in MODELS for users in USERS]
    asked = [row(model, 8) for model in MODELS]
    likeness = Likeness.fitted(terms, known, table(known), left_of(known, smooth))
    expected = [smooth(one) for one in asked]
    assert likeness(asked, table(asked)) == pytest.approx(expected, abs=0.03)


def test_tables_say_nothing_of_each_other_and_few_rows_nothing_at_all() -> None:
    known = [row(model, users) for model in MODELS for users in USERS]
    few = [row(MODELS[0], users, "b") for users in range(1, LEAST_ROWS)]
    every = known + few
    likeness = Likeness.fitted(AspectSums.ONE, every, table(every), np.ones(len(every)))
    assert set(likeness.processes) == {"a"}
    asked = [row(MODELS[0], 8, source) for source in ("a", "b", "c")]
    assert likeness(asked, table(asked)) == pytest.approx([1.0, 0.0, 0.0], abs=0.01)


def test_rows_not_all_stated_are_among_the_others_of_their_table() -> None:
    sources = f"a{DISAGGREGATED}", f"a{DISAGGREGATED}{PARTLY}", "a"
    rows = [row(MODELS[0], 8, source) for source in sources]
    found = {name: places.tolist() for name, places in by_table(rows).items()}
    assert found == {f"a{DISAGGREGATED}": [0, 1], "a": [2]}


def test_what_tells_a_setting_is_a_number_of_its_own() -> None:
    rows = [
        row(MODELS[0], 8),
        row(MODELS[0], 8, tensor=2),
        row(MODELS[0], 8, drafted=3),
        row(MODELS[1], 8),
        row(MODELS[0], 8, version="0.20.0"),
    ]
    kinds = tabulated(rows, table(rows)).kinds
    layout, model, version = kinds[:, 3].tolist(), kinds[:, -1].tolist(), kinds[:, 0].tolist()
    assert len(set(layout[:3])) == 3
    assert layout[0] == layout[3] == layout[4]
    assert model[0] == model[1] != model[3]
    assert version[0] == version[1] != version[4]


def test_what_nobody_states_is_a_number() -> None:
    rows = [row(MODELS[0], 0), row(MODELS[0], 8, measured_on="2026-02-15")]
    features = table(rows)
    assert np.isnan(features[0, PARTS.index("BS")])  # type: ignore[index]
    places = tabulated(rows, features).places
    assert np.isfinite(places).all()
    assert places[1, 0] - places[0, 0] == pytest.approx(3.0), "no users count as one, in octaves"
