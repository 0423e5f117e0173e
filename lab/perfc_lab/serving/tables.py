"""Read the published tables of TensorRT-LLM and ML.ENERGY as rows of served models."""

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
"""Version of vLLM of all rows of ML.ENERGY. Source: ML.ENERGY, LLM Inference Energy: A Longitudinal
Analysis, on leaderboard 3.0, which the rows are from."""
# weight formats by their names on TensorRT-LLM's pages
TRT_WEIGHTS = {"fp16": "f16", "fp8": "f8", "fp4": "nvfp4"}
FAULTY = frozenset(
    {
        ("0.10.0", "GPTJ 6B", "H100", "fp8", 128, 2048),
    }
)
"""Cells that are left out, by version, model, GPU, precision, and tokens of prompt and answer. This
one is eight times the throughput that the memory of the machine allows."""
PER_GPU = "0.6.1"
"""Version whose rates are taken as those of each GPU on every machine, although its page says so
for the H100 alone. Read as rates of all GPUs, rows of four A100 would have half of the throughput
that 0.5.0 has with a batch a twentieth as large."""
OLD_MODELS = {"LLaMA 70B": "LLaMA v2 70B", "GPT-J 6B": "GPTJ 6B"}
"""Later name of a model by its name on older pages."""


def trtllm_throughput(folder: Path) -> Iterator[ServedRow]:
    """Yield the rows of ``trtllm_throughput.parquet``: maximum rates of batches of requests."""
    for i, r in enumerate(read_parquet(folder / f"{TRTLLM}.parquet").itertuples()):
        cell = r.version, r.model, r.gpu, r.precision, r.isl, r.osl
        if cell in FAULTY:
            continue
        is_first = r.metric == "first_token_latency_ms"
        model, gpu, precision = str(r.model), str(r.gpu).lower(), str(r.precision)
        ranks, stages = int(r.tp) * max(1, int(r.dep)), int(r.pp)
        # groups of GPUs with separate sequences; the ranks of a group share each product
        data = groups(str(r.version), model, int(r.tp), int(r.dep))
        gpus = ranks * stages
        # see `PER_GPU`
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
            1,  # number of engines
            int(r.isl),
            int(r.osl),
            batch,  # users; 0 for as many as the memory holds
            bool(batch),  # a static batch
            (),  # no disaggregated prefill
            False,  # kernels are not launched one by one
            value,
            settings=settings,
            requests=requests,
            pipeline=stages,
        )


def ml_energy(folder: Path) -> Iterator[ServedRow]:
    """Yield the rows of ``mlenergy.parquet``: language models under full load, with energies."""
    for i, r in enumerate(read_parquet(folder / f"{ML_ENERGY}.parquet").itertuples()):
        if r.max_num_seqs != r.max_num_seqs:  # NaN: a row of an image or video model
            continue
        # only 16 bits are given here; other formats follow from the model's name
        gpu, plain = str(r.gpu_model).lower(), "bf16" if r.weight_precision == "bfloat16" else ""
        yield ServedRow(
            ML_ENERGY,
            f"{r.model_id} {r.task} {r.num_gpus}x{r.gpu_model} {i}",
            str(r.model_id),
            load_machine(gpu).name,
            "vllm",
            "",  # `ML_ENERGY_VLLM` is the version of all rows
            published(str(r.model_id), plain, "vllm", gpu),
            "",  # the cache has the type of activations
            int(r.num_gpus),
            1,  # no expert parallelism
            1,  # no groups with separate sequences
            1,  # number of engines
            prompt_tokens(str(r.task)),
            max(2, round(r.avg_output_len)),  # a time per output token needs two
            int(r.max_num_seqs),
            False,  # no static batch
            (),  # no disaggregated prefill
            _is_launched_singly(r),
            {
                ServingQuantity.TOKENS_PER_S: float(r.output_throughput_tokens_per_sec),
                ServingQuantity.ENERGY_J: float(r.energy_per_token_joules),
            },
            str(r.task),
            settings=ServerSettings(max_num_seqs=int(r.max_num_seqs)),
        )


def _is_launched_singly(row: Any) -> bool:
    """Return True if the server of a row seems to launch every kernel: Qwen3 on GPQA on a B200.

    Its steps of 8 and of 64 users both take about 30 ms, the time of a host that launches each
    kernel. This is inferred from the rows; the publisher does not say it.
    """
    return bool(row.gpu_model == "B200" and row.task == "gpqa" and "Qwen3" in row.model_id)


TABLES: Mapping[str, Callable[[Path], Iterator[ServedRow]]] = {
    AIC: aic_serving,
    TRTLLM: trtllm_throughput,
    ML_ENERGY: ml_energy,
}
"""Readers of tables by name."""
