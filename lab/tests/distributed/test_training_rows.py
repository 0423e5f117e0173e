"""Rows of training on many GPUs: how tables are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from perfc.distributed.recipe import recipe_of
from perfc.distributed.training import Training
from perfc.machine.parallel import Parallel
from perfc.passes.training.implementation import RecomputePolicy
from perfc_lab.distributed import RunRow
from perfc_lab.distributed.rows import rows

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")

FOUNDRY = {
    "source": "llm-foundry",
    "model": "125m",
    "system": "H100-80GB",
    "gpus": 8,
    "gbs": 64,
    "mbs": 4,
    "seq": 2048,
    "precision": "amp_bf16",
    "sharding": "FULL_SHARD",
    "checkpointing": "False",
    "tokens_per_s_per_gpu": 16384.0,
    "techniques": None,
    "task": None,
    "tp": None,
    "pp": None,
    "cp": None,
    "vp": None,
    "ep": None,
    "fsdp": None,
}


NEMO_ROW = {
    **FOUNDRY,
    "source": "nemo",
    "model": "LLAMA3-70B",
    "system": "DGX-H100",
    "gpus": 64,
    "gbs": 128,
    "mbs": 1,
    "seq": 8192,
    "precision": "FP8",
    "tokens_per_s_per_gpu": 1024.0,
    "task": "Pretrain",
    "tp": 4,
    "pp": 2,
    "cp": 2,
    "vp": 5,
    "ep": 1,
    "fsdp": 0,
}


TITAN = {
    **FOUNDRY,
    "source": "torchtitan",
    "model": "Llama 3.1 8B",
    "system": "H100-96GB-HBM2e-500W",
    "gbs": None,
    "mbs": None,
    "precision": None,
    "sharding": None,
    "checkpointing": None,
    "tokens_per_s_per_gpu": 4096.0,
}


NEUSIGHT = {
    "mode": "train",
    "device": "NVIDIA A100-SXM4-40GB",
    "variant": "eager",
    "batch": 8,
    "hf_config_json": json.dumps({"model_type": "gpt2"}),
    "model": "gpt2",
    "seq_len": 512,
    "e2e_latency_ms": 250.0,
}


BIG = {
    "size": "104B",
    "file": "a.md",
    "step_s": 100.0,
    "section": "tries",
    "gpus": 64.0,
    "gbs": 1024.0,
    "mbs": 1.0,
    "dp": 2,
    "tp": 4,
    "pp": 8,
    "zero": "Y",
    "system": "V100-32GB",
}


def read(
    folder: Path,
    throughput: list[dict[str, Any]] = (),
    neusight: list[dict[str, Any]] = (),  # type: ignore[assignment]
    big: list[dict[str, Any]] = (),  # type: ignore[assignment]
) -> list[RunRow]:
    for name, kept, columns in (
        ("llm_train_throughput", throughput, FOUNDRY),
        ("neusight_e2e", neusight, NEUSIGHT),
        ("bigscience_train", big, BIG),
    ):
        frame = pd.DataFrame(list(kept), columns=list(columns))
        frame.to_parquet(folder / f"{name}.parquet")
    return list(rows(folder))


def test_rows_of_llm_foundry(tmp_path: Path) -> None:
    first, second = read(
        tmp_path,
        [
            FOUNDRY,
            {
                **FOUNDRY,
                "sharding": "SHARD_GRAD_OP",
                "checkpointing": "True",
                "precision": "amp_fp8",
                "system": "A100-40GB",
            },
        ],
    )
    assert first == RunRow(
        "llm-foundry",
        "llm-foundry",
        "125m",
        "bm-gpu-h100-8",
        "bf16",
        Parallel(data=8, zero=3),
        Training(2048, 64, 4, "adamw", RecomputePolicy.NONE),
        1.0,
    )
    assert (second.parallel.zero, second.training.checkpointing) == (2, RecomputePolicy.BLOCK)
    assert (second.weights, second.cluster) == ("f8", "bm-gpu4-8")


def test_rows_of_nemo_and_megatron_bridge(tmp_path: Path) -> None:
    found = read(
        tmp_path,
        [
            NEMO_ROW,
            {
                **NEMO_ROW,
                "source": "megatron-bridge",
                "precision": None,
                "pp": None,
                "vp": 4,
                "cp": 0,
                "tp": 1,
                "fsdp": 64,
                "task": "LoRA",
                "ep": 8,
                "model": "DeepSeekV3",
            },
        ],
    )
    # 128 samples of 8192 tokens, 1024 a second on each of 64
    assert found[0] == RunRow(
        "nemo",
        "megatron",
        "LLAMA3-70B",
        "dgx-h100",
        "f8",
        Parallel(
            4, 2, 1, data=4, context=2, sequence=1, zero=1, virtual_stages=5, schedule="interleaved"
        ),
        Training(8192, 128, 1),
        16.0,
        False,
    )
    assert found[1].parallel == Parallel(1, 1, 8, data=64, zero=3)
    assert (found[1].is_sparse, found[1].training.is_frozen, found[1].weights) == (True, True, "f8")


@pytest.mark.parametrize(
    ("words", "speed", "parallel", "batch", "again", "weights"),
    [
        (
            "Local batch size 2 | FSDP",
            4096.0,
            Parallel(data=8, zero=3),
            16,
            RecomputePolicy.SELECTIVE,
            "bf16",
        ),
        (
            "local batch size 2 | FSDP + torch.compile + Float8",
            4096.0,
            Parallel(data=8, zero=3),
            16,
            RecomputePolicy.SELECTIVE,
            "f8",
        ),
        (
            "local batch size 2 float8 | FSDP",
            4096.0,
            Parallel(data=8, zero=3),
            16,
            RecomputePolicy.SELECTIVE,
            "bf16",
        ),
        (
            "FSDP=8, TP=8 | all",
            4096.0,
            Parallel(8, data=1, zero=3, sequence=1),
            12,
            RecomputePolicy.SELECTIVE,
            "bf16",
        ),
        (
            "CP 4 | float8",
            200.0,
            Parallel(data=2, context=4, zero=3),
            2,
            RecomputePolicy.BLOCK,
            "f8",
        ),
        (
            "FSDP=8, TP=8 | Vanilla TP tokens/sec",
            4096.0,
            Parallel(8, data=1, zero=3),
            12,
            RecomputePolicy.SELECTIVE,
            "bf16",
        ),
        ("CP 4 | float8", 199.0, None, 0, None, ""),
        ("Table 3, local batch size 2", 4096.0, None, 0, None, ""),
        ("local batch size 2, Schedule=1F1B", 4096.0, None, 0, None, ""),
        ("nothing said", 4096.0, None, 0, None, ""),
    ],
)
def test_rows_of_torchtitan_say_in_words_how_they_ran(
    tmp_path: Path,
    words: str,
    speed: float,
    parallel: Parallel | None,
    batch: int,
    again: RecomputePolicy | None,
    weights: str,
) -> None:
    found = read(tmp_path, [{**TITAN, "techniques": words, "tokens_per_s_per_gpu": speed}])
    if parallel is None:
        assert found == []
        return
    (one,) = found
    assert (one.parallel, one.weights) == (parallel, weights)
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
