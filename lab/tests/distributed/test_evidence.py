"""Published training runs: how rows are read, laws fitted, errors told, links compared."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from perfc.analyzers.features import networks
from perfc.analyzers.runs.run_law import COMMENT, LEARNED, RunLaw, frameworks, law_of, laws
from perfc.common.fitted import as_toml
from perfc.distributed.recipe import recipe_of
from perfc.distributed.training import Training
from perfc.errors import ModelError, ParseError
from perfc.ir.problem import Exchange
from perfc.machine import Cluster, load_machine
from perfc.machine.parallel import Parallel
from perfc.passes.runtimes import Tf32
from perfc.passes.training.implementation import RecomputePolicy
from perfc_lab.board import Score
from perfc_lab.distributed import RunRow, learn, scoreboard, scores
from perfc_lab.distributed.learn import LEAST, PRIOR, Tangent, fit, group_of, usable
from perfc_lab.distributed.links import LARGE_BYTES, LinkScore, link_scores
from perfc_lab.distributed.models import MEGATRON, MPT, NEMO, SHIPPED, model_of
from perfc_lab.distributed.predicted import PHYSICS, cost_of, work_of
from perfc_lab.distributed.rows import rows
from perfc_lab.distributed.scoreboard import board
from perfc_lab.distributed.scores import DistributedEvidence, RunAnswer, Scaling

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

FOUNDRY = {
    "source": "llm-foundry", "model": "125m", "system": "H100-80GB", "gpus": 8, "gbs": 64,
    "mbs": 4, "seq": 2048, "precision": "amp_bf16", "sharding": "FULL_SHARD",
    "checkpointing": "False", "tokens_per_s_per_gpu": 16384.0, "techniques": None, "task": None,
    "tp": None, "pp": None, "cp": None, "vp": None, "ep": None, "fsdp": None,
}  # fmt: skip
NEMO_ROW = {
    **FOUNDRY, "source": "nemo", "model": "LLAMA3-70B", "system": "DGX-H100", "gpus": 64,
    "gbs": 128, "mbs": 1, "seq": 8192, "precision": "FP8", "tokens_per_s_per_gpu": 1024.0,
    "task": "Pretrain", "tp": 4, "pp": 2, "cp": 2, "vp": 5, "ep": 1, "fsdp": 0,
}  # fmt: skip
TITAN = {
    **FOUNDRY, "source": "torchtitan", "model": "Llama 3.1 8B", "system": "H100-96GB-HBM2e-500W",
    "gbs": None, "mbs": None, "precision": None, "sharding": None, "checkpointing": None,
    "tokens_per_s_per_gpu": 4096.0,
}  # fmt: skip
NEUSIGHT = {
    "mode": "train", "device": "NVIDIA A100-SXM4-40GB", "variant": "eager", "batch": 8,
    "hf_config_json": json.dumps({"model_type": "gpt2"}), "model": "gpt2", "seq_len": 512,
    "e2e_latency_ms": 250.0,
}  # fmt: skip
BIG = {
    "size": "104B", "file": "a.md", "step_s": 100.0, "section": "tries", "gpus": 64.0,
    "gbs": 1024.0, "mbs": 1.0, "dp": 2, "tp": 4, "pp": 8, "zero": "Y", "system": "V100-32GB",
}  # fmt: skip


def read(
    folder: Path, throughput: list[dict[str, Any]] = (), neusight: list[dict[str, Any]] = (),  # type: ignore[assignment]
    big: list[dict[str, Any]] = (),  # type: ignore[assignment]
) -> list[RunRow]:  # fmt: skip
    for name, kept, columns in (
        ("llm_train_throughput", throughput, FOUNDRY), ("neusight_e2e", neusight, NEUSIGHT),
        ("bigscience_train", big, BIG),
    ):  # fmt: skip
        frame = pd.DataFrame(list(kept), columns=list(columns))
        frame.to_parquet(folder / f"{name}.parquet")
    return list(rows(folder))


def test_rows_of_llm_foundry(tmp_path: Path) -> None:
    first, second = read(tmp_path, [
        FOUNDRY,
        {**FOUNDRY, "sharding": "SHARD_GRAD_OP", "checkpointing": "True", "precision": "amp_fp8",
         "system": "A100-40GB"},
    ])  # fmt: skip
    assert first == RunRow(
        "llm-foundry", "llm-foundry", "125m", "bm-gpu-h100-8", "bf16", Parallel(data=8, zero=3),
        Training(2048, 64, 4, "adamw", RecomputePolicy.NONE), 1.0,
    )  # fmt: skip
    assert (second.parallel.zero, second.training.checkpointing) == (2, RecomputePolicy.BLOCK)
    assert (second.weights, second.cluster) == ("f8", "bm-gpu4-8")


def test_rows_of_nemo_and_megatron_bridge(tmp_path: Path) -> None:
    found = read(tmp_path, [
        NEMO_ROW,
        {**NEMO_ROW, "source": "megatron-bridge", "precision": None, "pp": None, "vp": 4,
         "cp": 0, "tp": 1, "fsdp": 64, "task": "LoRA", "ep": 8, "model": "DeepSeekV3"},
    ])  # fmt: skip
    # 128 samples of 8192 tokens, 1024 a second on each of 64
    assert found[0] == RunRow(
        "nemo", "megatron", "LLAMA3-70B", "dgx-h100", "f8",
        Parallel(4, 2, 1, data=4, context=2, sequence=1, zero=1, virtual_stages=5,
                 schedule="interleaved"),
        Training(8192, 128, 1), 16.0, False, True,
    )  # fmt: skip
    assert found[1].parallel == Parallel(1, 1, 8, data=64, zero=3)
    assert (found[1].is_sparse, found[1].training.is_frozen, found[1].weights) == (True, True, "f8")


@pytest.mark.parametrize(
    ("words", "speed", "parallel", "batch", "again", "weights", "compiled"),
    [
        (
            "Local batch size 2 | FSDP",
            4096.0,
            Parallel(data=8, zero=3),
            16,
            RecomputePolicy.SELECTIVE,
            "bf16",
            False,
        ),
        (
            "local batch size 2 | FSDP + torch.compile + Float8",
            4096.0,
            Parallel(data=8, zero=3),
            16,
            RecomputePolicy.SELECTIVE,
            "f8",
            True,
        ),
        (
            "local batch size 2 float8 | FSDP",
            4096.0,
            Parallel(data=8, zero=3),
            16,
            RecomputePolicy.SELECTIVE,
            "bf16",
            False,
        ),
        (
            "FSDP=8, TP=8 | all",
            4096.0,
            Parallel(8, data=1, zero=3, sequence=1),
            12,
            RecomputePolicy.SELECTIVE,
            "bf16",
            True,
        ),
        (
            "CP 4 | float8",
            200.0,
            Parallel(data=2, context=4, zero=3),
            2,
            RecomputePolicy.BLOCK,
            "f8",
            True,
        ),
        ("CP 4 | float8", 199.0, None, 0, None, "", False),
        ("Table 3, local batch size 2", 4096.0, None, 0, None, "", False),
        ("local batch size 2, Schedule=1F1B", 4096.0, None, 0, None, "", False),
        ("nothing said", 4096.0, None, 0, None, "", False),
    ],
)
def test_rows_of_torchtitan_say_in_words_how_they_ran(
    tmp_path: Path, words: str, speed: float, parallel: Parallel | None, batch: int,
    again: RecomputePolicy | None, weights: str, compiled: bool,
) -> None:  # fmt: skip
    found = read(tmp_path, [{**TITAN, "techniques": words, "tokens_per_s_per_gpu": speed}])
    if parallel is None:
        assert found == []
        return
    (one,) = found
    assert (one.parallel, one.weights, one.compiled) == (parallel, weights, compiled)
    assert one.training == Training(
        2048, batch, batch // parallel.data, "adamw", again or RecomputePolicy.NONE
    )
    assert one.step_s == pytest.approx(batch * 2048 / (8 * speed))
    assert one.cluster == "grand-teton-h100"


def test_of_torchtitan_only_h100_is_read(tmp_path: Path) -> None:
    words = {"techniques": "local batch size 2"}
    assert read(tmp_path, [{**TITAN, **words, "system": "A100-80GB"}]) == []


@pytest.mark.parametrize(
    ("change", "parallel", "micro_batch"),
    [
        ({}, Parallel(), 8),
        ({"variant": "dp4"}, Parallel(data=4), 2),
        ({"variant": "tp4"}, Parallel(tensor=4), 8),
        ({"variant": "pp4_4"}, Parallel(pipeline=4), 2),
        ({"variant": "fused"}, None, 0),
        ({"mode": "inference"}, None, 0),
        ({"device": "Tesla T4"}, None, 0),
        ({"model": "switch-base"}, None, 0),
        ({"hf_config_json": None}, None, 0),
    ],
)
def test_rows_of_neusight(
    tmp_path: Path, change: dict[str, Any], parallel: Parallel | None, micro_batch: int
) -> None:
    found = read(tmp_path, neusight=[{**NEUSIGHT, **change}])
    if parallel is None:
        assert found == []
        return
    (one,) = found
    assert (one.parallel, one.step_s, one.weights) == (parallel, 0.25, "f32")
    assert one.training == Training(512, 8, micro_batch, has_update=False, recipe=recipe_of("f32"))
    assert (one.framework, one.cluster) == ("torch-f32", "dgx-a100-40gb")
    assert one.config == NEUSIGHT["hf_config_json"]


@pytest.mark.parametrize(
    ("change", "zero"),
    [
        ({}, 1),
        ({"zero": None}, 0),
        ({"zero": None, "section": "ZeRO 3"}, 3),
        ({"size": None, "file": "104B.md"}, 1),
        ({"tp": None}, 1),
        ({"gbs": 256.0}, 1),
        ({"gbs": 255.0}, None),
        ({"gbs": 257.0}, None),
        ({"size": "1T"}, None),
        ({"section": "Offload"}, None),
        ({"step_s": float("nan")}, None),
        ({"gpus": float("nan")}, None),
        ({"gpus": 65.0}, None),
    ],
)
def test_rows_of_bigscience(tmp_path: Path, change: dict[str, Any], zero: int | None) -> None:
    found = read(tmp_path, big=[{**BIG, **change}])
    if zero is None:
        assert found == []
        return
    (one,) = found
    assert one.parallel == Parallel(4, 8, data=2, zero=zero)
    batch = int(change.get("gbs", 1024))
    assert one.training == Training(1024, batch, 1, "adam", RecomputePolicy.BLOCK)
    assert (one.model, one.step_s, one.weights) == ("104B", 100.0, "f16")
    assert (one.cluster, one.framework) == ("jean-zay-v100", "megatron-v100")


def test_models_have_the_sizes_that_their_names_say() -> None:
    for name, (width, layers, heads) in {**MPT, **MEGATRON}.items():
        stack = model_of(name).stacks[0]
        assert (stack.hidden, len(stack.layers)) == (width, layers)
        billions = 12 * layers * width**2 / 1e9
        said = float(name[:-1]) / (1000 if name.endswith("m") else 1)
        assert width % heads == 0
        # the embedding is a third of the smallest
        assert 0.65 < billions / said < 1.35, name
    for name, (width, layers, *_) in NEMO.items():
        stack = model_of(name).stacks[0]
        assert (stack.hidden, len(stack.layers)) == (width, layers)
    for name, shipped in SHIPPED.items():
        assert model_of(name).name == shipped
    with pytest.raises(ModelError, match="nobody says what 'GPT-9' looks like"):
        model_of("GPT-9")


ROW = RunRow(
    "llm-foundry", "llm-foundry", "125m", "dgx-h100", "bf16", Parallel(data=8, zero=3),
    Training(512, 64, 4), 1.0,
)  # fmt: skip


def test_a_row_is_predicted_in_its_own_precision_and_by_its_law() -> None:
    assert cost_of(ROW).parts_s["computation"] > 0
    assert cost_of(ROW, replace(PHYSICS, micro_s=0.5)).time_s == pytest.approx(
        cost_of(ROW).time_s + 0.5 * 2
    )
    stated = json.dumps({
        "model_type": "gpt2", "n_embd": 64, "n_layer": 2, "n_head": 4, "vocab_size": 128,
        "n_positions": 512,
    })  # fmt: skip
    exact = work_of("tiny", 512, "f32", "dgx-h100", "eager", stated)
    assert (exact.tf32, exact.model.stacks[0].hidden) == (Tf32.NONE, 64)
    assert exact.precision.half.code == "f32"
    half = work_of("125m", 512, "f16", "dgx-h100", "eager")
    assert (half.tf32, half.precision.half.code) == (None, "f16")
    assert work_of("125m", 512, "bf16", "dgx-h100", "eager").precision.half.code == "bf16"


def test_rows_that_cannot_be_predicted_are_named() -> None:
    told: list[str] = []
    bad = replace(ROW, model="GPT-9")
    assert list(usable([bad, ROW], told.append)) == [ROW]
    assert told == ["llm-foundry GPT-9 (dp 8, zero 3): nobody says what 'GPT-9' looks like"]
    assert group_of(ROW) == "llm-foundry sm_90"
    assert group_of(replace(ROW, framework="nemo", cluster="dgx-a100")) == "nemo sm_80"


def planes(law: RunLaw, count: int = 64) -> tuple[list[RunRow], dict[int, Tangent]]:
    """Rows whose times are a plane over laws, measured as ``law`` has them."""
    own, tangents = [], {}
    for i in range(count):
        slopes = tuple([1.0 + (i * (j + 3)) % 11 for j in range(len(LEARNED))])
        base = sum([s * getattr(PRIOR, n) for s, n in zip(slopes, LEARNED, strict=True)])
        time_s = sum([s * getattr(law, n) for s, n in zip(slopes, LEARNED, strict=True)])
        row = replace(ROW, training=Training(512, 64 + i, 1), step_s=time_s)
        own.append(row)
        tangents[id(row)] = Tangent(base, slopes)
    return own, tangents


def test_a_law_is_the_one_that_rows_were_made_by() -> None:
    made = RunLaw(1.35, 1.9, 1.6, 1.5, 1.4, 0.1, 0.02, 0.004, 0.001)
    own, tangents = planes(made)
    found = fit(own, tangents)
    for row in own:
        t = tangents[id(row)]
        said = t.time_s + sum([
            s * (getattr(found, n) - getattr(PRIOR, n))
            for s, n in zip(t.slopes, LEARNED, strict=True)
        ])  # fmt: skip
        assert said == pytest.approx(row.step_s, rel=0.02)
    assert found.products == pytest.approx(1.35, abs=0.1)
    assert fit([], {}) == PRIOR
    slow, tangents = planes(RunLaw(0.1, 0.1, 0.1, 0.1, 0.1, 0.0, 0.0, 0.0, 0.0))
    bounded = fit(slow, tangents)
    assert all(getattr(bounded, n) >= least - 1e-12 for n, least in LEAST.items())


def test_one_disturbed_row_and_repeats_of_a_setting_move_a_law_little() -> None:
    made = RunLaw(1.35, 1.4, 1.3, 1.2, 1.0, 0.1, 0.01, 0.0, 0.0005)
    own, tangents = planes(made)
    usual = fit(own, tangents)
    own[0] = replace(own[0], step_s=own[0].step_s * 5)
    tangents[id(own[0])] = next(iter(tangents.values()))
    moved = fit(own, tangents)
    assert moved.products == pytest.approx(usual.products, abs=0.05)
    repeats = [replace(own[1], step_s=own[1].step_s * 2) for _ in range(4)]
    assert learn._weights([*repeats, own[2]]).tolist() == [0.25] * 4 + [1.0]


def test_a_tangent_is_the_slope_of_the_prediction() -> None:
    found = Tangent.of(ROW)
    assert found.time_s == pytest.approx(cost_of(ROW, PRIOR).time_s)
    slope = dict(zip(LEARNED, found.slopes, strict=True))
    assert slope["micro_s"] == pytest.approx(2.0), "two micro-batches"
    assert slope["experts"] == slope["routing_s"] == slope["straggling"] == 0
    assert slope["products"] > 0


def foundry(model: str, gpus: int, step_s: float, **changes: Any) -> RunRow:
    training = Training(2048, 8 * gpus, 1)
    row = replace(ROW, model=model, parallel=Parallel(data=gpus), training=training, step_s=step_s)
    return replace(row, **changes)


def test_each_model_is_left_out_of_its_law(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[list[str]] = []

    def fitted(own: list[RunRow], _: object) -> RunLaw:
        asked.append(sorted(f"{r.model} {r.parallel.devices}" for r in own))
        return RunLaw(products=float(len(own)))

    monkeypatch.setattr(scores, "fit", fitted)
    monkeypatch.setattr(scores, "answered_s", lambda row, law: row.step_s * law.products)
    own = [foundry("LLAMA3_8B", 8, 1.0), foundry("LLAMA3-8B (fast)", 8, 1.0),
           foundry("125m", 8, 2.0)]  # fmt: skip
    found = list(scores.held_out(own, {}))
    assert asked == [["LLAMA3-8B (fast) 8", "LLAMA3_8B 8"], ["125m 8"], ["125m 8"]]
    assert [(a.row.model, a.error) for a in found] == [
        ("125m", 1.0), ("LLAMA3-8B (fast)", 0.0), ("LLAMA3_8B", 0.0)
    ]  # fmt: skip
    asked.clear()
    alone = [foundry("gpt2", n, 1.0, framework=scores.ALONE) for n in (1, 4)]
    answers = list(scores.held_out(alone, {}))
    assert asked == [["gpt2 1"]]
    assert [a.row.parallel.devices for a in answers] == [4], "what one GPU took taught the law"


def test_evidence_has_a_law_for_each_group_and_for_any(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    every = [
        foundry("125m", 8, 1.0), foundry("1b", 8, 2.0),
        foundry("3b", 8, 1.0, cluster="dgx-a100"),
        foundry("LLAMA3-8B", 8, 4.0, source="nemo", framework="megatron"),
        foundry("x", 8, 4.0, source="torchtitan", framework="torchtitan"),
    ]  # fmt: skip
    monkeypatch.setattr(scores, "rows", lambda _: iter(every))
    monkeypatch.setattr(scores, "usable", lambda rows, _: iter(rows))
    monkeypatch.setattr(scores.Tangent, "of", classmethod(lambda *_: Tangent(1.0, (0.0,) * 8)))
    monkeypatch.setattr(scores, "fit", lambda own, _: RunLaw(products=float(len(own))))
    monkeypatch.setattr(scores, "predicted_s", lambda row, _: row.step_s / 1.5)
    monkeypatch.setattr(scores, "answered_s", lambda row, _: row.step_s / 1.5)
    told: list[str] = []
    found = scores.gathered(tmp_path, told.append)
    assert told == [
        "5 runs", "llm-foundry sm_80: 1 rows, 33.3%", "llm-foundry sm_90: 2 rows, 33.3%",
        "megatron sm_90: 1 rows, 33.3%", "torchtitan sm_90: 1 rows, 33.3%",
    ]  # fmt: skip
    assert {name: law.products for name, law in found.laws.items()} == {
        "llm-foundry sm_80": 1, "llm-foundry sm_90": 2, "megatron sm_90": 1, "torchtitan sm_90": 1,
        # where Megatron has rows of a generation, older ones do not speak for any
        "any sm_80": 1, "any": 2, "any sm_90": 1,
    }  # fmt: skip
    assert (found.laws["any"].rows, found.laws["any"].models) == (2, ("3b", "LLAMA3-8B"))
    assert found.laws["any"].source == "llm-foundry, nemo"
    kinds = {(s.source, s.slice): s.rows for s in scores.scored(found)}
    assert kinds == {
        ("llm-foundry", "dense, model left out"): 3, ("nemo", "dense, model left out"): 1,
        ("torchtitan", "dense, model left out"): 1,
        ("llm_train_throughput", "dense, all sources"): 5,
    }  # fmt: skip


def test_a_band_holds_nine_in_ten_and_is_no_narrower_than_five_percent() -> None:
    few = scores.with_band(RunLaw(), [0.1, 9.0], 2, ("m",), "s")
    assert (few.low, few.high, few.rows, few.models, few.source) == (0.7, 1.5, 2, ("m",), "s")
    twenty = scores.with_band(RunLaw(), [0.5 + 0.1 * i for i in range(20)], 20, (), "")
    assert (twenty.low, twenty.high) == pytest.approx((0.6, 2.4))
    narrow = scores.with_band(RunLaw(), [1.0] * 20, 20, (), "")
    assert (narrow.low, narrow.high) == (0.95, 1.05)


def test_errors_are_told_with_and_without_their_sign() -> None:
    answers = [RunAnswer(replace(ROW, step_s=2.0), s) for s in (1.0, 2.0, 4.0, 2.2)]
    found = scores.score_of("a", "b", answers)
    assert (found.source, found.slice, found.rows) == ("a", "b", 4)
    assert (found.mape, found.median, found.bias) == pytest.approx((0.4, 0.3, 0.15))
    by_links = replace(ROW, source="neusight", parallel=Parallel(tensor=4, sequence=1))
    assert scores.what(by_links) == "tp 4"
    assert scores.what(replace(ROW, is_sparse=True)) == "experts, model left out"


def test_scaling_is_over_eight_devices_of_the_same_model_and_cluster() -> None:
    def answer(gpus: int, step_s: float, predicted_s: float, **changes: Any) -> RunAnswer:
        return RunAnswer(foundry("1b", gpus, step_s, **changes), predicted_s)

    known = [
        answer(64, 2.0, 1.25), answer(8, 1.0, 1.0), answer(16, 1.25, 1.0),
        answer(16, 9.0, 1.0, weights="f8"), answer(16, 9.0, 1.0, source="nemo"),
        answer(16, 9.0, 1.0, training=Training(4096, 128, 1)),
        answer(16, 1.0, 1.0, cluster="dgx-a100"), answer(32, 1.0, 1.0, cluster="dgx-a100"),
    ]  # fmt: skip
    found = list(scores.scalings(DistributedEvidence(tuple(known), {})))
    assert [(s.gpus, s.measured, s.predicted) for s in found] == [(16, 0.8, 1.0), (64, 0.5, 0.8)]
    assert {(s.model, s.cluster) for s in found} == {("1b", "dgx-h100")}


def test_links_are_measured_over_the_law(tmp_path: Path) -> None:
    cluster = Cluster.of(load_machine("dgx-h100"))

    def row(nbytes: int, times: float, **changes: Any) -> dict[str, object]:
        message = networks.LinkExchange.of(Exchange.ALL_REDUCE, float(nbytes), 16, 2, cluster)
        usual = {
            "suspect": False, "devices_per_node": 8, "num_workers": 16, "system": "h100_dgx",
            "collective": "all_reduce", "size_bytes": nbytes,
            "latency_median_us": 1e6 * times * networks.time_s(message),
        }  # fmt: skip
        return {**usual, **changes}

    kept = [row(1 << 10, 4.0), row(1 << 12, 3.0), row(LARGE_BYTES, 2.0), row(1 << 24, 1.5),
            row(1 << 24, 1.5), row(1 << 20, 99.0, suspect=True), row(1 << 20, 99.0, system="b200"),
            row(1 << 20, 99.0, devices_per_node=16)]  # fmt: skip
    pd.DataFrame(kept).to_parquet(tmp_path / "vidur_network.parquet")
    (found,) = link_scores(tmp_path)
    assert (found.system, found.exchange, found.ranks, found.nodes) == (
        "h100_dgx", "all_reduce", 16, 2
    )  # fmt: skip
    assert (found.rows, found.ratio, found.large) == pytest.approx((4, 2.5, 1.75))


SCORES = (Score("left out", "dense", 7, 0.0615, 0.04, source="nemo", bias=-0.021),)
SCALING = (
    Scaling("1b", "dgx-h100", 16, 0.8, 0.75), Scaling("1b", "dgx-h100", 64, 0.5, 0.54),
    Scaling("3b", "dgx-h100", 64, 0.5, 0.541),
)  # fmt: skip
LINKS = (LinkScore("h100_dgx", "all_reduce", 16, 2, 4, 1.25, 0.98),)
NONE = DistributedEvidence((), {"any": RunLaw(products=1.23456, rows=9)})


def test_the_scoreboard_says_errors_points_and_laws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoreboard, "scored", lambda _: iter(SCORES))
    monkeypatch.setattr(scoreboard, "scalings", lambda _: iter(SCALING))
    monkeypatch.setattr(scoreboard, "link_scores", lambda _: iter(LINKS))
    page = " ".join(board(NONE, Path()).written("text").split())
    for words in (
        "nemo dense 7 6.2% 4.0% -2.1%", "1b dgx-h100 16 80.0% 75.0% -5.0",
        "over those of eight: 1 of 3 within 4 points, 4.4 on average.",
        "h100_dgx all_reduce 16 2 4 1.25 0.98", "any 9 1.235 1.4 1.3 1.2 1 0.1 0.01 0 0.0005",
    ):  # fmt: skip
        assert words in page, page
    assert scoreboard.nearness(()).endswith("over those of eight: no rows.")


def test_the_scoreboard_is_written_in_a_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoreboard, "link_scores", lambda _: iter(LINKS))
    empty = board(NONE, Path())
    found = json.loads(empty.written("json", "by: x"))
    assert found["schema"] == "perfc-eval/1"
    assert found["laws"]["any"]["products"] == 1.23456
    assert empty.written("markdown", "by: x").startswith("# Training runs\n\nby: x\n\n## ")
    assert "# Training runs" not in empty.written("text", "by: x")


def test_laws_are_chosen_by_framework_then_generation_and_written_as_they_are_read() -> None:
    known = laws()
    assert frameworks()[0] == "any"
    assert law_of() == known["any"]
    assert law_of("megatron", "sm_90") == known["megatron sm_90"]
    assert law_of("megatron", "sm_75") == known["any"]
    assert law_of("llm-foundry", "sm_100") == known["any sm_100"]
    with pytest.raises(ParseError, match="--trained-by: no runs of 'tf'"):
        law_of("tf")
    import tomllib

    tree = tomllib.loads(
        as_toml({"any": RunLaw(products=1.23456, models=("a", "b"), rows=3)}, COMMENT)
    )
    assert tree["any"]["products"] == 1.235
    assert (tree["any"]["models"], tree["any"]["rows"]) == (["a", "b"], 3)
    assert tree["any"]["origin"] == "fitted"
