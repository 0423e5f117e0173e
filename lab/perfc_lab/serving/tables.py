"""Read the published tables of served models as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from perfc.machine import load_machine
from perfc_lab.tables import number, read_parquet

from . import ServedRow, ServerSettings, ServingQuantity
from .aic import AIC, aic_serving
from .overviews import cache, groups, is_of_nvidia, settings_of
from .settings import prompt_tokens
from .weights import published

TRTLLM, ML_ENERGY = "trtllm_throughput", "mlenergy"
ML_ENERGY_VLLM = "0.11.1"
"""Source: ML.ENERGY, LLM Inference Energy: A Longitudinal Analysis, on leaderboard 3.0, whose rows
these are."""
# formats of TensorRT-LLM's pages
TRT_WEIGHTS = {"fp16": "f16", "fp8": "f8", "fp4": "nvfp4"}
FAULTY = frozenset(
    {
        ("0.10.0", "GPTJ 6B", "H100", "fp8", 128, 2048),
    }
)
"""Cells left out: this one is eight times the throughput that the machine's memory allows."""
PER_GPU = "0.6.1"
"""Version whose page states tokens a second of one GPU for every machine. The table says so of the
H100 alone. Read as throughput of all GPUs, the A100's rows of four GPUs have half of the throughput
that 0.5.0 has for a batch a twentieth as large."""
OLD_MODELS = {"LLaMA 70B": "LLaMA v2 70B", "GPT-J 6B": "GPTJ 6B"}
"""Names of one model in different versions of the page."""


def trtllm_throughput(folder: Path) -> Iterator[ServedRow]:
    """Read ``trtllm_throughput.parquet``: the most tokens per second of batches of requests."""
    for i, r in enumerate(read_parquet(folder / f"{TRTLLM}.parquet").itertuples()):
        cell = r.version, r.model, r.gpu, r.precision, r.isl, r.osl
        if cell in FAULTY:
            continue
        is_first = r.metric == "first_token_latency_ms"
        model, gpu, precision = str(r.model), str(r.gpu).lower(), str(r.precision)
        ranks, stages = int(r.tp) * max(1, int(r.dep)), int(r.pp)
        data = groups(str(r.version), model, int(r.tp), int(r.dep))
        gpus = ranks * stages
        # the page of this version gives rates per GPU
        rate = float(r.value) * gpus if r.version == PER_GPU else r.total_output_tokens_per_s
        value = (
            {ServingQuantity.TTFT_S: r.value / 1e3}
            if is_first
            else {ServingQuantity.TOKENS_PER_S: float(rate)}
        )
        batch = number(r.batch)
        settings, requests = settings_of(str(r.version), model, int(r.tp), int(r.isl), int(r.osl))
        weights = TRT_WEIGHTS[precision]
        if not is_of_nvidia(model):
            weights = published(model, weights, "trtllm", gpu)
        yield ServedRow(
            TRTLLM,
            f"{r.version} {r.model} {r.gpu} {r.precision} {r.isl}/{r.osl} {i}",
            OLD_MODELS.get(model, model),
            load_machine(gpu).name,
            "trtllm",
            str(r.version),
            weights,
            cache(model, precision, gpu),
            ranks // data,
            ranks if data > 1 else 1,
            data,
            1,
            int(r.isl),
            int(r.osl),
            batch,
            bool(batch),
            (),
            False,
            value,
            settings=settings,
            requests=requests,
            pipeline=stages,
        )


def ml_energy(folder: Path) -> Iterator[ServedRow]:
    """Read ``mlenergy.parquet``: language models under full load, with the power of the boards."""
    for i, r in enumerate(read_parquet(folder / f"{ML_ENERGY}.parquet").itertuples()):
        if r.max_num_seqs != r.max_num_seqs:  # NaN: a row of an image or video model
            continue
        gpu, plain = str(r.gpu_model).lower(), "bf16" if r.weight_precision == "bfloat16" else ""
        yield ServedRow(
            ML_ENERGY,
            f"{r.model_id} {r.task} {r.num_gpus}x{r.gpu_model} {i}",
            str(r.model_id),
            load_machine(gpu).name,
            "vllm",
            "",
            published(str(r.model_id), plain, "vllm", gpu),
            "",
            int(r.num_gpus),
            1,
            1,
            1,
            prompt_tokens(str(r.task)),
            max(2, round(r.avg_output_len)),
            int(r.max_num_seqs),
            False,
            (),
            _is_launched_singly(r),
            {
                ServingQuantity.TOKENS_PER_S: float(r.output_throughput_tokens_per_sec),
                ServingQuantity.ENERGY_J: float(r.energy_per_token_joules),
            },
            str(r.task),
            settings=ServerSettings(max_num_seqs=int(r.max_num_seqs)),
        )


def _is_launched_singly(row: Any) -> bool:
    """Return True for Qwen3 on GPQA on a B200: steps of 8 and of 64 users take about 30 ms.

    That is what a host needs that launches each kernel. The publisher does not say how they were
    launched: it is inferred from the rows.
    """
    return bool(row.gpu_model == "B200" and row.task == "gpqa" and "Qwen3" in row.model_id)


TABLES: Mapping[str, Callable[[Path], Iterator[ServedRow]]] = {
    AIC: aic_serving,
    TRTLLM: trtllm_throughput,
    ML_ENERGY: ml_energy,
}
"""Readers of tables by name; each experiment decides which of their rows it may fit."""
