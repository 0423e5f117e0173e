"""Kernels that only serving has: experts, mixed batches, latents."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pytest

from perfc.analyzers.estimators.selection import inside
from perfc.analyzers.features.classes.attention import BLOCK_QUERIES, key_s
from perfc.analyzers.features.classes.experts import (
    UNITS,
    choice_of,
    popularity,
    tokens_of_experts,
    work,
)
from perfc.analyzers.features.classes.mixed_attention import schedule
from perfc.analyzers.features.lowering import lower
from perfc.analyzers.features.rows import Protocol
from perfc.analyzers.features.sheet import Sheet
from perfc.analyzers.features.table import class_of, complete
from perfc.ir.op import Kind
from perfc.ir.problem import Attention, Experts, MixedAttention
from perfc.ir.tensors.types import DType
from perfc.machine import load_machine
from perfc.passes.runtimes import LaunchMode
from perfc.study.single_kernel import op
from perfc_lab.training.calibration.calibrate import Calibrating, calibrate
from perfc_lab.training.calibration.machines import FEWER_MACHINES, unseen_machines
from perfc_lab.training.experiments import thinned
from perfc_lab.training.fit import _card
from perfc_lab.training.growing import Recipe, grow, protocols_of, stacked
from perfc_lab.training.protocols import dealt, split

from .synthetic import MACHINES, blocks, matmul_rows

if TYPE_CHECKING:
    from perfc.analyzers.artefacts.forest import Forest
    from perfc.analyzers.features.classes import Columns

H100 = Sheet(load_machine("h100"))
MOE = {"tokens": 64, "hidden": 2048, "inner": 768, "chosen": 8, "experts": 128}
MIXED = {
    "query_len": 512,
    "kv_len": 1024,
    "decodes": 32,
    "cached_len": 4095,
    "heads": 32,
    "kv_heads": 8,
    "head_dim": 128,
}
LATENT = {
    "batch": 4,
    "query_len": 1,
    "kv_len": 4096,
    "heads": 16,
    "head_dim": 576,
    "value_dim": 512,
}


def columns(name: str, shape: dict[str, int], **changes: float) -> Columns:
    """One kernel."""
    return complete(
        class_of(name), {n: np.array([float(v)]) for n, v in {**shape, **changes}.items()}
    )


def test_evenly_chosen_experts_are_touched_by_all_pairs_until_there_are_enough() -> None:
    for tokens, touched in ((1, 8), (4, 32), (16, 128), (64, 128)):
        rows = columns("experts", MOE, tokens=tokens)
        assert work(rows, "bf16", H100).touched[0] == pytest.approx(touched)
    rows = columns("experts", MOE, tokens=64, ranks=4)
    parts = work(rows, "bf16", H100)
    assert parts.touched[0] == 32
    assert parts.load[0] == 64 * 8 / 4
    # four tokens an expert fill no tile of any height
    assert [float(t[0]) for t in parts.tiles] == [32.0] * len(UNITS)


def test_skew_leaves_experts_idle_and_makes_a_rank_busier() -> None:
    even, skewed = (
        work(columns("experts", MOE, ranks=4, skew=skew), "bf16", H100) for skew in (0.0, 1.2)
    )
    assert skewed.touched[0] < even.touched[0]
    assert skewed.load[0] > even.load[0]
    rows = columns("experts", MOE, skew=1.2, tokens=2)
    counts = tokens_of_experts(rows, popularity(rows))
    assert counts.max() <= 2


@pytest.mark.parametrize("tokens", [1, 4, 16, 64, 1024])
def test_tokens_that_choose_alone_leave_experts_idle_as_often_as_drawn_ones(tokens: int) -> None:
    alone = work(columns("experts", MOE, tokens=tokens, alone=1), "bf16", H100)
    assert alone.touched == pytest.approx(max(128 * (1 - (1 - 8 / 128) ** tokens), 1))
    assert alone.load == pytest.approx(tokens * 8), "one rank has all pairs"
    even = work(columns("experts", MOE, tokens=tokens), "bf16", H100)
    assert alone.touched <= even.touched + 1e-9
    draw = np.random.default_rng(tokens)
    drawn = np.array(
        [
            np.bincount(
                np.concatenate([draw.choice(128, 8, replace=False) for _ in range(tokens)]),
                minlength=128,
            )
            for _ in range(20)
        ]
    )
    assert alone.touched == pytest.approx((drawn > 0).sum(axis=1).mean(), rel=0.05)
    for unit, tiles in zip(UNITS, alone.tiles, strict=True):
        assert tiles == pytest.approx(np.ceil(drawn / unit).sum(axis=1).mean(), rel=0.15)


@pytest.mark.parametrize("tokens", [4, 16, 64, 512])
@pytest.mark.parametrize("skew", [0.5, 1.01, 1.2])
def test_tokens_that_prefer_some_experts_leave_others_idle_as_drawn_ones_do(
    tokens: int, skew: float
) -> None:
    """Independent choices with shares of a power law between 1 and 200."""
    draw, count, chosen = np.random.default_rng(tokens), 128, 8
    position = (np.arange(count) + 0.5) / count
    rest = 1 - skew
    odds = ((200.0**rest - 1) * position + 1) ** (1 / rest)
    odds *= chosen / odds.sum()
    drawn = np.array([(draw.random((tokens, count)) < odds).sum(axis=0) for _ in range(40)])
    asked = {"tokens": tokens, "chosen": chosen, "experts": count, "alone": 1}
    told = work(columns("experts", MOE, **asked, skew=skew), "bf16", H100)
    assert told.touched == pytest.approx((drawn > 0).sum(axis=1).mean(), rel=0.05)
    assert told.load == pytest.approx(tokens * chosen)
    for unit, tiles in zip(UNITS, told.tiles, strict=True):
        assert tiles == pytest.approx(np.ceil(drawn / unit).sum(axis=1).mean(), rel=0.15)
    even = work(columns("experts", MOE, **asked), "bf16", H100)
    assert told.touched < even.touched + 1e-9


def test_steps_of_few_tokens_choose_alone_whatever_skew_is_stated() -> None:
    assert choice_of(64, None) == {"skew": 0.0, "alone": 1.0}
    assert choice_of(64, 1.2) == {"skew": 1.2, "alone": 1.0}
    assert choice_of(4096, None) == {"skew": 1.01, "alone": 0.0}
    assert choice_of(4096, 1.2) == {"skew": 1.2, "alone": 0.0}
    assert choice_of(4096, 0.0) == {"skew": 0.0, "alone": 1.0}


def test_the_busiest_of_several_ranks_has_more_of_what_is_chosen_alone() -> None:
    ranks = work(columns("experts", MOE, tokens=64, ranks=8, alone=1), "bf16", H100)
    assert 64 * 8 / 8 < ranks.load < 1.5 * 64 * 8 / 8


def test_a_floor_of_experts_counts_one_token_and_the_mean_rank() -> None:
    kind = class_of("experts")
    amounts = kind.amounts(columns("experts", MOE), "bf16")
    assert amounts.mac[0] == 64 * 8 * 3 * 2048 * 768
    assert amounts.read_bytes[0] == 2 * (8 * 3 * 2048 * 768 + 64 * 2048)
    shared = kind.amounts(columns("experts", MOE, ranks=16), "bf16")
    assert shared.mac[0] == amounts.mac[0] / 16
    narrow = kind.amounts(columns("experts", MOE, weight_bits=4), "bf16")
    assert narrow.read_bytes[0] == 8 * 3 * 2048 * 768 / 2 + 2 * 64 * 2048


def test_experts_of_a_model_are_a_row() -> None:
    report = op("experts", "h100", dtype="bf16", **MOE)
    row = lower(report.roofline.kernels[0], report.roofline.env)
    assert row is not None
    assert (row.class_name, row.dtype) == ("experts", "bf16")
    assert {**MOE, "matrices": 3, "ranks": 1}.items() <= row.parameters.items()
    plain = op("experts", "h100", dtype="f16", function="plain", **MOE)
    row = lower(plain.roofline.kernels[0], plain.roofline.env)
    assert row is not None
    assert (row.dtype, row.parameters["matrices"]) == ("bf16", 2)


def test_single_tokens_of_a_mixed_batch_run_in_waves_of_a_tile_a_head() -> None:
    rows = columns("mixed_attention", MIXED, query_len=16, kv_len=16, cached_len=1023, kv_heads=1)
    plan = schedule(rows, "bf16", H100)
    waves = np.ceil(32 * 32 / H100.sm_count)
    assert plan.total_s[0] == pytest.approx(waves * 1024 * key_s(rows, "bf16", H100)[0])


def test_a_block_with_a_key_multiplies_takes_exponentials_and_reads() -> None:
    rows = columns("mixed_attention", MIXED)
    sm = H100.sm_count
    products_s = 2 * BLOCK_QUERIES * 256 * sm / H100.matrix_flop_per_s("bf16")
    exponentials_s = BLOCK_QUERIES * sm / H100.special_op_per_s("f32")
    # four warps read 512 bytes each, 128 a clock
    reads_s = 16 / H100.clock_hz
    found = key_s(rows, "bf16", H100)[0]
    assert found == pytest.approx(products_s + exponentials_s + reads_s)
    wide = columns("mixed_attention", MIXED, head_dim=256)
    assert key_s(wide, "bf16", H100)[0] - found == pytest.approx(products_s + reads_s)
    # what was measured of one key, in clocks, where a walk of 8,192 takes 264 and 187 µs
    for name, walk_s, least, most in (
        ("rtx4090", 264e-6, 0.9, 1.0),
        ("rtx-pro-6000-server", 187e-6, 1.0, 1.15),
    ):
        told_s = 8192 * key_s(rows, "bf16", Sheet(load_machine(name)))[0]
        assert least < walk_s / told_s < most


def test_a_mixed_batch_does_what_its_halves_do() -> None:
    mixed = class_of("mixed_attention").amounts(columns("mixed_attention", MIXED), "bf16")
    shared = {n: MIXED[n] for n in ("heads", "kv_heads", "head_dim")}
    chunk = {"batch": 1, "query_len": 512, "kv_len": 1024, **shared}
    tokens = {"batch": 32, "cached_len": 4095, **shared}
    halves = [
        class_of(name).amounts(columns(name, shape), "bf16")
        for name, shape in (("attention_prefill", chunk), ("attention_decode", tokens))
    ]
    for amount in ("mac", "floor_mac", "read_bytes", "write_bytes"):
        both = sum(getattr(half, amount)[0] for half in halves)
        assert getattr(mixed, amount)[0] == pytest.approx(both)


def test_latents_are_read_once_for_keys_and_values() -> None:
    amounts = class_of("latent_attention").amounts(columns("latent_attention", LATENT), "bf16")
    assert amounts.mac[0] == 4 * 16 * 4096 * (576 + 512)
    assert amounts.read_bytes[0] == 2 * (4 * 4096 * 576 + 4 * 16 * 576)
    decode = {
        "batch": 4,
        "cached_len": 4095,
        "heads": 16,
        "kv_heads": 1,
        "head_dim": 576,
        "value_dim": 512,
    }
    apart = class_of("attention_decode").amounts(columns("attention_decode", decode), "bf16")
    assert apart.read_bytes[0] > 1.8 * amounts.read_bytes[0]


def bound(problem: Any) -> Any:
    """A kernel as far as lowering looks at it."""
    counts = SimpleNamespace(write_bytes=1.0, mac=1.0)
    kernel = SimpleNamespace(kind=Kind.ATTENTION, problem=problem)
    return SimpleNamespace(counts=counts, kernel=kernel, dtype=DType.BF16)


CHUNK = Attention(1, 32, 8, 512, 1024, 128, 128, is_causal=True, cache_bits=16)
TOKENS = Attention(16, 32, 8, 1, 2049, 128, 128, cache_bits=16)


def test_a_mixed_batch_is_a_row_of_its_own() -> None:
    row = lower(bound(MixedAttention(CHUNK, TOKENS)), {})
    assert row is not None
    assert row.class_name == "mixed_attention"
    expected = {"query_len": 512, "kv_len": 1024, "decodes": 16, "cached_len": 2048, "heads": 32}
    assert expected.items() <= row.parameters.items()
    half = lower(bound(MixedAttention(CHUNK, TOKENS._replace(batch=0))), {})
    assert half is not None
    assert half.class_name == "attention_prefill"


def test_heads_of_latents_are_told_by_their_extents() -> None:
    latent = Attention(4, 16, 1, 1, 4096, 576, 512, cache_bits=16)
    expanded = Attention(1, 16, 16, 1024, 1024, 192, 128, is_causal=True)
    for problem in (latent, expanded):
        row = lower(bound(problem), {})
        assert row is not None
        assert row.class_name == "latent_attention"
        assert row.parameters["head_dim"] == problem.head_dim
    grouped = lower(bound(expanded._replace(kv_heads=4)), {})
    assert grouped is not None
    assert grouped.class_name == "attention_prefill"


def test_ranks_of_experts_are_extents_of_a_row() -> None:
    problem = Experts(64, 2048, 384, 8, 128, ranks=4, weight_bits=4, scale_block=32, skew=1.2)
    row = lower(bound(problem), {})
    assert row is not None
    expected = {"inner": 384, "ranks": 4, "weight_bits": 4, "scale_block": 32, "skew": 1.2}
    assert expected.items() <= row.parameters.items()


def test_tokens_of_prompts_prefer_some_experts_where_nobody_says_how_they_choose() -> None:
    problem = Experts(1023, 2048, 384, 8, 128)
    few, many = lower(bound(problem), {}), lower(bound(problem._replace(tokens=1024)), {})
    even = lower(bound(problem._replace(tokens=1024, skew=0.0)), {})
    assert few is not None
    assert many is not None
    assert even is not None
    chosen = [(row.parameters["skew"], row.parameters["alone"]) for row in (few, many, even)]
    assert chosen == [(0.0, 1.0), (1.01, 0.0), (0.0, 1.0)]


def test_groups_are_dealt_out_once_each() -> None:
    every = blocks(count=40)
    parts = dealt(every, ("n",), 3)
    assert len(parts) == 3
    held = [{float(n) for b in split(every, part).test for n in b.columns["n"]} for part in parts]
    assert set.union(*held) == {float(n) for b in every for n in b.columns["n"]}
    assert sum(map(len, held)) == len(set.union(*held))
    for part in parts:
        both = split(every, part)
        assert sum(map(len, both.train)) + sum(map(len, both.test)) == 120


def test_a_tree_grows_no_more_leaves_than_it_may() -> None:
    stack = stacked(blocks(count=300), ("one",), Recipe())
    recipe = Recipe(trees=5, depth=10, leaves=7, least_weight=1.0)
    forest = grow(stack, recipe)
    leaves = np.add.reduceat(forest.feature < 0, forest.roots)
    assert leaves.tolist() == [7] * 5
    level = grow(stack, replace(recipe, leaves=0))
    assert np.add.reduceat(level.feature < 0, level.roots).max() > 7


def test_rows_of_one_group_are_calibrated_by_single_rows() -> None:
    rows = matmul_rows(count=200)
    alike = replace(
        rows, columns={**rows.columns, "n": np.full(200, 64.0), "k": np.full(200, 64.0)}
    )
    recipe = Recipe(trees=5, depth=3, spread_trees=3)
    card = _card("matmul", [alike], ("n", "k"), {})
    _, calibration = calibrate(
        [alike], recipe, ("n", "k"), card, leave_machines_out=False, how=Calibrating(turns=2)
    )
    assert calibration.bands.seen.low < 0 < calibration.bands.seen.high
    assert protocols_of([alike]) == (Protocol.GRAPH,)


def test_kernels_that_only_a_profiler_timed_are_known_in_every_runtime() -> None:
    card = _card("matmul", [replace(matmul_rows(), protocol=Protocol.KERNELS)], ("n", "k"), {})
    assert {inside(card, launch, "h100") for launch in LaunchMode} == {Protocol.KERNELS}
    both = replace(card, protocols=(Protocol.GRAPH, Protocol.KERNELS))
    assert inside(both, LaunchMode.GRAPH, "h100") is Protocol.GRAPH
    assert inside(both, LaunchMode.EAGER, "h100") is Protocol.KERNELS


def test_classes_of_two_machines_borrow_what_machines_share() -> None:
    few = blocks(MACHINES[:2], count=50)
    assert unseen_machines(few, Recipe(), ("one",), cast("Forest", None)) == {"": FEWER_MACHINES}


def test_rows_are_thinned_to_about_as_many_as_asked_for() -> None:
    every = blocks(count=1000)
    assert 400 < sum(map(len, thinned(every, 500))) < 600
    assert thinned(every, 0) == every
    assert thinned(every, 3000) == every
