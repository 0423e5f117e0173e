"""Tables behind the laboratory's pages are rebuilt from mirrors in the public layout."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pandas as pd
import pytest

from perfc_lab.data.fetch import fetch
from perfc_lab.data.source import FetchError, sources
from perfc_lab.data.sources import aic_serving, argonne, gpumemnet, mlenergy, trtllm
from perfc_lab.data.sources.aiconfigurator import SYSTEMS

MLP = (
    "Filename,Depth,Activations-Params,Activation Function,Total Activations,Total Parameters,"
    "Batch Size,Max GPU Memory (MiB),Avg GPUTL,Avg GRACT,Avg SMACT,Avg SMOCC,Avg FP32A\n"
    "input:8_output:2_depth:1_arch:pyramid_batch:16.out,1,\"[('linear', 2, 18)]\",ReLU,2,18,16,"
    "1479,25.5,0.5,0.25,0.125,0.5\n"
)
SERVED = {
    "model_id": "maker/net",
    "nickname": "Net",
    "task": "chat",
    "total_params_billions": 8.0,
    "activated_params_billions": 8.0,
    "weight_precision": "bfloat16",
    "configurations": [
        {
            "gpu_model": "H100",
            "num_gpus": 1,
            "max_num_seqs": 8,
            "avg_power_watts": 500.5,
            "energy_per_token_joules": 0.5,
            "output_throughput_tokens_per_sec": 1000.0,
            "median_itl_ms": 7.5,
            "timelines": {"power_instant": {"values": [1]}},
        },
        {"gpu_model": "B200", "num_gpus": 2, "max_num_seqs": None},
    ],
}
SILICON = (
    "id,mode,model_path,system,backend,backend_version,isl,osl,gemm_quant_mode,moe_quant_mode,"
    "batch_size,tp_size,decode_num_workers,silicon_ttft_ms,silicon_tpot_ms\n"
    "a,agg,maker/net,h100_sxm,vllm,0.14.0,1024,128,fp8,,4,2,,79.5,9.5\n"
    "b,disagg,maker/net,h100_sxm,vllm,0.14.0,1024,128,fp8,,,,3,898.5,11.5\n"
    "c,agg,maker/net,h100_sxm,vllm,0.14.0,1024,128,fp8,,8,2,,,\n"
)
BATCHES = (
    "Hardware,Num of Hardware,Framework,Model,Input Output Length,Batch Size,Latency,Throughput\n"
    "Nvidia A100 GPU,1,vLLM,meta-llama/Llama-2-7b-hf,128,16,2.75,1489.5\n"
    "AMD MI300X GPU,2,vLLM,Qwen/Qwen2-7B,1024,1,8.5,240.5\n"
    "Nvidia X1 GPU,2,vLLM,Qwen/Qwen2-7B,1024,1,8.5,240.5\n"
)
PAGE = """# Overview
#### Net 8B

| Sequence Length (ISL/OSL) | B200<br/>TP1 (FP4) | H100<br/>TP4 (FP8) |
|---|---|---|
| 128/2048 | 25,342 | |
| 1000/1000 | 1,591 | 99.5 |

RTX 6000 Pro Blackwell Server Edition
| Sequence Length (ISL/OSL) | **4 GPUs**<br/>TP2,PP2 (FP4) |
|---|---|
| 128/128 | 18,644 |

## Other
| Name | Description |
| :- | - |
| `$isl` | 128/128 |
"""
FILES = {
    f"{gpumemnet.FOLDERS[0]}/{gpumemnet.FILE}": MLP,
    f"{mlenergy.FOLDER}/maker__net__chat.json": json.dumps(SERVED),
    f"{SYSTEMS[1]}/{aic_serving.FILE}": SILICON,
    f"{argonne.FOLDER}/All_results.csv": BATCHES,
    trtllm.PAGE: PAGE,
}


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, str]:
    """Address and commit of a repository with the files of all of them."""
    folder = tmp_path_factory.mktemp("public")
    for name, text in FILES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, encoding="utf-8")
    who = ["-c", "user.name=a", "-c", "user.email=a@b"]
    for command in (["init", "-q"], ["add", "."], [*who, "commit", "-q", "-m", "rows"]):
        subprocess.run(["git", "-C", str(folder), *command], check=True)
    head = subprocess.run(
        ["git", "-C", str(folder), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
    )
    return f"file://{folder}", head.stdout.strip()


def rebuilt(repository: tuple[str, str], name: str, output: Path) -> list[dict[str, object]]:
    (path,) = fetch(sources()[name], output, *repository)
    return [
        {str(k): v for k, v in row.items() if not pd.isna(v)}
        for row in pd.read_parquet(path).to_dict("records")
    ]


def test_networks_of_gpumemnet_are_named_by_their_files(
    repository: tuple[str, str], tmp_path: Path
) -> None:
    from perfc_lab.datasets.gpumemnet import GpuMemNet

    (row,) = rebuilt(repository, "gpumemnet", tmp_path)
    assert (row["inputs"], row["outputs"], row["arch"], row["batch"]) == (8, 2, "pyramid", 16)
    (run,) = GpuMemNet().rows(tmp_path)
    assert run.memory_bytes == 1479 << 20
    assert run.sm_active == 0.25


def test_configurations_of_ml_energy_are_rows(repository: tuple[str, str], tmp_path: Path) -> None:
    first, second = rebuilt(repository, "mlenergy", tmp_path)
    assert first["file"] == "maker__net__chat"
    assert first["energy_per_token_joules"] == 0.5
    assert "timelines" not in first
    assert (second["gpu_model"], second["num_gpus"], second["model_id"]) == ("B200", 2, "maker/net")
    assert "max_num_seqs" not in second


def test_served_rows_without_a_latency_are_left_out(
    repository: tuple[str, str], tmp_path: Path
) -> None:
    together, apart = rebuilt(repository, "aic_serving", tmp_path)
    assert (together["batch_size"], together["tp_size"], together["ttft_ms"]) == (4, 2, 79.5)
    assert (apart["mode"], apart["decode_num_workers"], apart["tpot_ms"]) == ("disagg", 3, 11.5)
    assert "batch_size" not in apart


def test_batches_of_a_machine_are_rows(repository: tuple[str, str], tmp_path: Path) -> None:
    from perfc_lab.serving.batches import fixed_batches

    first, second, _ = rebuilt(repository, "argonne", tmp_path)
    assert (first["machine"], second["machine"]) == ("A100", "MI300X")
    assert (first["num_gpus"], first["batch"], first["batch_latency_s"]) == (1, 16, 2.75)
    row, _ = sorted(fixed_batches(tmp_path), key=lambda b: b.target)
    assert (row.target, row.runtime, row.tokens) == ("a100-sxm4-40gb", "vllm", 128)


def test_cells_of_the_performance_page_are_rows(
    repository: tuple[str, str], tmp_path: Path
) -> None:
    cells = rebuilt(repository, "trtllm", tmp_path)
    assert [(r["gpu"], r["tp"], r["pp"], r["isl"], r["osl"], r["value"]) for r in cells] == [
        ("B200", 1, 1, 128, 2048, 25342),
        ("B200", 1, 1, 1000, 1000, 1591),
        ("H100", 4, 1, 1000, 1000, 99.5),
        ("RTX PRO 6000 Blackwell Server Edition", 2, 2, 128, 128, 18644),
    ]
    assert {(r["model"], r["precision"]) for r in cells} == {("Net 8B", "fp4"), ("Net 8B", "fp8")}


STATIC = """All data was generated using version 0.9.0

## Peak Throughput
### H200 GPUs (FP8)
| Model | Batch Size | TP (1) | Input Length | Output Length | Throughput (out tok/s/GPU) |
| :---- | :--- | :--- | :--- | :--- | ---: |
| GPT-J 6B | 1024 | 2 | 128 | 2048 | 1,000 |
| | | | | | |
## Low Latency
### A100 GPUs (FP16)
| Model | Batch Size | TP (1) | Input Length | 1st Token Latency (ms) |
| :---- | :--- | :--- | :--- | ---: |
| GPT-J 6B | 1 | 1 | 128 | 5.5 |
"""
BY_CARD = """**All data in the table below was generated using version 0.11.0.**
| | | | | |
| --- | --- | --- | --- | --- |
| | | **GPU** | H200 141GB HBM3 | A100-SXM4-80GB |
| | | **Precision** | FP8 | FP16 |
| **Model** | **Input/Output Lengths** | **TP** | | |
| Net | 128/2048 | 1 | 1000.5 | |
| | | 4 | 2000.5 | 500.5 |
"""


@pytest.mark.parametrize(
    ("file", "text", "rows"),
    [
        (
            trtllm.STATIC_PAGE,
            STATIC,
            [
                ("0.9.0", "GPT-J 6B", "H200", "fp8", 1024, 2, 128, 2048, 1000, 2000),
                ("0.9.0", "GPT-J 6B", "A100", "fp16", 1, 1, 128, 1, 5.5, -1),
            ],
        ),
        (
            trtllm.PAGE,
            BY_CARD,
            [
                ("0.11.0", "Net", "H200", "fp8", -1, 1, 128, 2048, 1000.5, 1000.5),
                ("0.11.0", "Net", "H200", "fp8", -1, 4, 128, 2048, 2000.5, 2000.5),
                ("0.11.0", "Net", "A100", "fp16", -1, 4, 128, 2048, 500.5, 500.5),
            ],
        ),
    ],
)
def test_pages_of_older_releases_are_read(
    tmp_path: Path, file: str, text: str, rows: list[tuple[object, ...]]
) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text, encoding="utf-8")
    frame = trtllm.TrtLlm().convert(tmp_path)["trtllm_throughput"].fillna(-1)
    columns = [
        "version",
        "model",
        "gpu",
        "precision",
        "batch",
        "tp",
        "isl",
        "osl",
        "value",
        "total_output_tokens_per_s",
    ]
    assert list(frame[columns].itertuples(index=False, name=None)) == rows


@pytest.mark.parametrize(
    ("name", "file", "text", "said"),
    [
        (
            "gpumemnet",
            f"{gpumemnet.FOLDERS[0]}/{gpumemnet.FILE}",
            MLP.replace("arch:", "a:"),
            "says no network",
        ),
        (
            "gpumemnet",
            f"{gpumemnet.FOLDERS[0]}/{gpumemnet.FILE}",
            MLP.replace("1479", "-1"),
            "max_gpu_memory_mib of row 0 is -1",
        ),
        ("mlenergy", f"{mlenergy.FOLDER}/a.json", "[" * 200_000, "no JSON"),
        ("mlenergy", f"{mlenergy.FOLDER}/a.json", '{"configurations": 3}', "no list"),
        (
            "mlenergy",
            f"{mlenergy.FOLDER}/a.json",
            json.dumps({**SERVED, "configurations": [{"gpu_model": "H100", "num_gpus": -2}]}),
            "num_gpus of row 0 is -2",
        ),
        ("aic_serving", f"{SYSTEMS[0]}/{aic_serving.FILE}", "id,mode\na,agg\n", "no column"),
        (
            "argonne",
            f"{argonne.FOLDER}/All_results.csv",
            BATCHES.replace("2.75", "-2.75"),
            "batch_latency_s of row 0 is -2.75",
        ),
        (
            "argonne",
            f"{argonne.FOLDER}/All_results.csv",
            BATCHES.replace("128,16", "128,1.5"),
            "counts that are no whole numbers",
        ),
        (
            "aic_serving",
            f"{SYSTEMS[1]}/{aic_serving.FILE}",
            SILICON.replace(",4,2,", ",4.5,2,"),
            "counts that are no whole numbers",
        ),
        ("trtllm", trtllm.PAGE, PAGE.replace("TP1 (FP4)", "all"), "no GPU and ranks"),
        ("trtllm", trtllm.PAGE, PAGE.replace("25,342", "many"), "'many' is no number"),
        ("trtllm", trtllm.PAGE, "# Overview\n", "no table of throughput"),
        ("trtllm", trtllm.PAGE, BY_CARD.replace("500.5", "fast"), "'fast' is no number"),
        ("trtllm", trtllm.STATIC_PAGE, STATIC.replace("5.5", "inf"), "'inf' is no number"),
    ],
)
def test_files_that_are_none_of_these_are_one_line(
    tmp_path: Path, name: str, file: str, text: str, said: str
) -> None:
    (tmp_path / file).parent.mkdir(parents=True)
    (tmp_path / file).write_text(text, encoding="utf-8")
    with pytest.raises(FetchError, match=said) as caught:
        sources()[name].convert(tmp_path)
    assert "\n" not in str(caught.value)
