"""A caller who does not say whose kernel is meant gets an interval that holds those measured."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from perfc.analyzers.artefacts import artefact
from perfc.analyzers.artefacts.artefact import Artefact, WeightsError
from perfc.analyzers.artefacts.card import parse_card
from perfc.analyzers.artefacts.implementations import candidate_kernels
from perfc.analyzers.estimators.predictor import Estimates, predict, predict_with
from perfc.analyzers.features.classes import classes
from perfc.analyzers.features.classes.experts import ExpertsKernel
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import complete
from perfc.machine import load_machine
from perfc_lab.board import coverage_of
from perfc_lab.data import weights as weights_
from perfc_lab.data.rows import Rows
from perfc_lab.data.weights import card_text, implementations
from perfc_lab.tables.aic_moe import kernel_of
from perfc_lab.training.evaluate import CallerContext
from perfc_lab.training.fit import Recipe, train

from .synthetic import MACHINES, matmul_rows

SLOWER = {"one": 1.0, "two": 1.6, "three": 2.2}
RECIPE = Recipe(trees=60, depth=5, spread_trees=10, left_out={"trees": 10, "depth": 3})
SHAPE = {"m": np.array([256.0]), "n": np.array([2048.0]), "k": np.array([2048.0])}


def rows_of(target: str, framework: str, seed: int, count: int = 500) -> Rows:
    """Rows in blocks of 128 under framework three, per tensor under the others."""
    rows = matmul_rows(target, count, seed, framework)
    block = 128.0 if framework == "three" else 0.0
    columns = {
        **rows.columns,
        "input_bits": np.full(count, 16.0),
        "scale_block": np.full(count, block),
    }
    return replace(rows, columns=columns, time_s=rows.time_s * SLOWER[framework])


def blocks() -> list[Rows]:
    """The last machine runs one framework alone."""
    found = [
        rows_of(target, framework, 10 * i + j)
        for i, target in enumerate(MACHINES)
        for j, framework in enumerate(SLOWER)
    ]
    return [b for b in found if b.target != MACHINES[2] or b.framework == "one"]


@pytest.fixture(scope="module")
def found() -> Artefact:
    return train("matmul", blocks(), RECIPE, ("n", "k"))


def asked(
    found: Artefact, framework: str = "", target: str = "h100", **columns: float
) -> Estimates:
    rows = {**SHAPE, **{name: np.array([value]) for name, value in columns.items()}}
    return predict_with(found, rows, "bf16", Sheet(load_machine(target)), Protocol.GRAPH, framework)


def width(one: Estimates) -> float:
    return float(one.high_s[0] / one.low_s[0])


def test_an_unnamed_framework_has_a_wider_interval_than_each_that_is_named(
    found: Artefact,
) -> None:
    named = [
        asked(found, name, input_bits=16.0, scale_block=128.0 if name == "three" else 0.0)
        for name in SLOWER
    ]
    unnamed = asked(found)
    assert width(unnamed) > 1.3 * max(map(width, named))
    assert unnamed.low_s[0] < min(one.time_s[0] for one in named)
    assert unnamed.high_s[0] > max(one.time_s[0] for one in named)
    assert min(one.time_s[0] for one in named) < unnamed.time_s[0]


def test_what_a_caller_states_of_the_operands_narrows_whose_it_may_be(found: Artefact) -> None:
    blockwise = asked(found, input_bits=16.0, scale_block=128.0)
    named = asked(found, "three", input_bits=16.0, scale_block=128.0)
    assert blockwise.time_s[0] == named.time_s[0]
    assert width(blockwise) == width(named)
    per_tensor = asked(found, input_bits=16.0)
    assert width(named) < width(per_tensor) < width(asked(found))


def test_a_framework_without_its_choices_makes_those_it_was_seen_to_make(found: Artefact) -> None:
    stated = asked(found, "three", input_bits=16.0, scale_block=128.0)
    assert asked(found, "three").time_s[0] == stated.time_s[0]


def test_a_framework_that_nobody_measured_may_be_any(found: Artefact) -> None:
    assert asked(found, "four").time_s[0] == asked(found).time_s[0]


def test_a_machine_with_one_framework_means_that_one(found: Artefact) -> None:
    unnamed = asked(found, target=MACHINES[2])
    named = asked(found, "one", MACHINES[2], input_bits=16.0)
    assert (unnamed.time_s[0], width(unnamed)) == (named.time_s[0], width(named))


def test_a_machine_that_nobody_measured_means_what_runs_on_the_nearest(found: Artefact) -> None:
    def frameworks(target: str) -> set[str]:
        columns = complete(classes()["matmul"], SHAPE)
        sheet = Sheet(load_machine(target))
        return {
            m.framework
            for m in candidate_kernels(found.card, columns, "bf16", sheet, Protocol.GRAPH)
        }

    assert frameworks("h200") == set(SLOWER)
    assert frameworks("gb200") == {"one"}


@pytest.mark.parametrize("how", [CallerContext.NOTHING, CallerContext.CHOICES])
def test_nine_in_ten_further_kernels_lie_inside_whoever_they_are(
    found: Artefact, how: CallerContext
) -> None:
    low, high, time_s = [], [], []
    for i, framework in enumerate(SLOWER):
        rows = rows_of("h100-sxm5-80gb", framework, 700 + i, 2000)
        told = how.of(rows)
        one = predict_with(
            found, told.columns, told.dtype, Sheet(load_machine("h100")), told.protocol
        )
        low.append(one.low_s)
        high.append(one.high_s)
        time_s.append(rows.time_s)
    held = coverage_of(*map(np.concatenate, (time_s, low, high)))
    assert 0.86 < held < 0.95


def test_a_card_keeps_whose_kernels_were_measured(found: Artefact) -> None:
    card = found.card
    assert len(card.implementations) == 7
    again = parse_card(card_text(card, "0"))
    assert again.implementations == card.implementations
    assert again.calibration.bands.levels.low == pytest.approx(card.calibration.bands.levels.low)


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ('"graph", "one", [16, 0]', '"graph", "nobody", [16, 0]'),
        ('"levels": [0.0', '"levels": [0.6'),
    ],
)
def test_a_card_that_contradicts_itself_is_none(found: Artefact, right: str, wrong: str) -> None:
    text = card_text(found.card, "0")
    assert right in text
    with pytest.raises(ValueError, match=r"not measured|levels"):
        parse_card(text.replace(right, wrong))


def test_rows_of_one_framework_tell_nothing_apart() -> None:
    assert implementations([matmul_rows()]) == ()


def test_what_a_framework_chooses_is_a_parameter_that_models_leave_out() -> None:
    for kind in classes().values():
        assert set(kind.by_framework) <= set(kind.optional)
        assert set(kind.chosen_by) <= {*kind.parameters, *kind.optional}
        assert not set(kind.by_framework) & set(kind.chosen_by)


SHIPPED = {
    "matmul": ({"m": 128.0, "n": 4096.0, "k": 4096.0}, "f8e4m3", "h100"),
    "attention_prefill": (
        {
            "batch": 1.0,
            "query_len": 2048.0,
            "kv_len": 2048.0,
            "heads": 32.0,
            "kv_heads": 8.0,
            "head_dim": 128.0,
        },
        "bf16",
        "b200",
    ),
    "attention_decode": (
        {"batch": 16.0, "cached_len": 2048.0, "heads": 32.0, "kv_heads": 8.0, "head_dim": 128.0},
        "bf16",
        "b200",
    ),
}


@pytest.mark.parametrize("name", SHIPPED)
def test_weights_that_ship_know_callers_who_name_no_framework(name: str) -> None:
    shape, dtype, target = SHIPPED[name]
    card = artefact.read_card(artefact.SHIPPED / f"{name}.json")
    assert card.implementations
    calibration = card.calibration
    # a category whose kernels are all of one framework has no levels of its own
    own = {bands.levels for bands in calibration.categories.values()} - {calibration.bands.levels}
    assert len(own) >= len(calibration.categories) / 2
    rows: Mapping[str, np.ndarray] = {k: np.array([v]) for k, v in shape.items()}
    machine = load_machine(target)
    by = {
        one.framework
        for one in card.implementations
        if (one.target, one.dtype) == (machine.name, dtype)
    }
    assert len(by) > 2
    unnamed = predict(name, rows, dtype, machine, Protocol.GRAPH)
    named = [predict(name, rows, dtype, machine, Protocol.GRAPH, one) for one in sorted(by)]
    assert width(unnamed) > min(map(width, named))
    assert unnamed.low_s[0] < np.median([one.time_s[0] for one in named]) < unnamed.high_s[0]


def test_implementations_of_another_class_are_refused(found: Artefact, tmp_path: Path) -> None:
    path = weights_.save(found, tmp_path)
    assert artefact.load(path).card.implementations == found.card.implementations
    path.write_text(path.read_text().replace('"one", [16, 0]', '"one", [16]'))
    with pytest.raises(WeightsError, match="implementations of another class"):
        artefact.load(path)


QWEN3_30B = {"tokens": 64.0, "hidden": 2048.0, "inner": 384.0, "chosen": 8.0, "experts": 128.0}


def experts_s(dtype: str, framework: str, **columns: float) -> float:
    rows = {n: np.array([v]) for n, v in {**QWEN3_30B, **columns}.items()}
    machine = load_machine("h100")
    return float(predict("experts", rows, dtype, machine, Protocol.GRAPH, framework).time_s[0])


def test_nobody_means_kernels_that_were_timed_without_their_tuner() -> None:
    half_s = experts_s("bf16", "vllm")
    assert experts_s("f8e4m3", "vllm") < half_s
    untuned = float(ExpertsKernel.UNTUNED_CUTLASS)
    assert experts_s("f8e4m3", "vllm", kernel=untuned) > 2 * half_s


def test_a_framework_with_untuned_kernels_alone_means_those_that_others_tuned() -> None:
    card = artefact.read_card(artefact.SHIPPED / "experts.json")
    kind, sheet = classes()["experts"], Sheet(load_machine("h100"))
    columns = complete(kind, {n: np.array([v]) for n, v in QWEN3_30B.items()})

    def kernels(dtype: str, framework: str) -> set[tuple[str, float]]:
        means = candidate_kernels(card, columns, dtype, sheet, Protocol.GRAPH, framework)
        return {(one.framework, float(one.columns["kernel"][0])) for one in means}

    tuned = {("trtllm", float(ExpertsKernel.CUTLASS))}
    assert kernels("f8e4m3", "vllm") == kernels("f8e4m3", "trtllm") == tuned
    assert kernels("bf16", "sglang") == {("sglang", float(ExpertsKernel.TRITON))}


def test_untuned_rows_are_asked_for_by_name_alone() -> None:
    kernel = np.array([ExpertsKernel.UNTUNED_CUTLASS, ExpertsKernel.TRITON], np.float64)
    columns = {name: np.full(2, value) for name, value in QWEN3_30B.items()} | {"kernel": kernel}
    rows = Rows("experts", "h100-sxm5-80gb", "bf16", Protocol.GRAPH, "sglang", columns, np.ones(2))
    assert [len(one) for one in CallerContext.EVERYTHING.among([rows])] == [2]
    (left,) = CallerContext.NOTHING.among([rows])
    assert left.columns["kernel"].tolist() == [ExpertsKernel.TRITON]
    assert CallerContext.NOTHING.among([rows.take(np.array([0]))]) == []


@pytest.mark.parametrize(
    ("target", "has_blocks", "kernel"),
    [
        ("h100", False, ExpertsKernel.UNTUNED_CUTLASS),
        ("h100", True, ExpertsKernel.CUTLASS),
        ("b200", False, ExpertsKernel.CUTLASS),
        ("rtx-pro-6000-server", False, ExpertsKernel.CUTLASS),
    ],
)
def test_flashinfer_tunes_nothing_before_tables_are_made(
    target: str, has_blocks: bool, kernel: ExpertsKernel
) -> None:
    sheet = Sheet(load_machine(target))
    assert kernel_of("sglang_flashinfer_cutlass_moe", sheet, has_blocks=has_blocks) is kernel
    assert kernel_of("moe_torch_flow_cutlass", sheet) is ExpertsKernel.CUTLASS
