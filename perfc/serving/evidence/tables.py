"""The published tables, read as rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from perfc.analyzers.tables import read_parquet
from perfc.frontend.config import WeightFormat
from perfc.machine import load_machine

from . import Quantity, ServedRow, Stated
from .overviews import cache, groups, is_of_nvidia, told
from .settings import (
    DRAFTING,
    RANGE_RATIO,
    Apart,
    cache_of,
    distinct_prompts,
    generated,
    prompt_tokens,
    together,
)
from .settings import apart as apart_of

AIC, TRTLLM, ML_ENERGY, LLAMA_CPP = "aic_serving", "trtllm_throughput", "mlenergy", "llamacpp_speed"
SYSTEMS = {"b200_sxm": "b200", "h200_sxm": "h200", "h100_sxm": "h100", "gb200": "gb200"}
AIC_WEIGHTS = {"fp8_block": "f8-block", "fp8": "f8", "nvfp4": "nvfp4"}
TRT_WEIGHTS = {"fp16": "f16", "fp8": "f8", "fp4": "nvfp4"}
EXPERTS_NVFP4 = "nvfp4 experts"
"""Experts in nvfp4, the rest in 16 bits."""
STATED, UNSTATED = "workers stated", "workers not stated"
"""Whether rows whose prompts are computed apart say by how many workers; else one is taken."""
FAULTY = frozenset({
    ("0.10.0", "GPTJ 6B", "H100", "fp8", 128, 2048),
})  # fmt: skip
"""A cell that is eight times what the machine's memory allows."""
PER_GPU = "0.6.1"
"""Version whose page states tokens a second of one GPU for every machine. The table says so of the
H100 alone: read as of all GPUs, the A100's rows of four have half of the tokens a second that 0.5.0
states for a batch a twentieth as large."""
OLD_MODELS = {"LLaMA 70B": "LLaMA v2 70B", "GPT-J 6B": "GPTJ 6B"}
"""Names of one model in different versions of the page."""


def _number(value: Any, default: int = 0) -> int:
    """A whole number, or what stands for a missing one."""
    return default if str(value) in ("None", "nan", "<NA>") else int(value)


def aic_serving(folder: Path) -> Iterator[ServedRow]:
    """``aic_serving.parquet``: measured TTFT and TPOT of engines under a closed loop."""
    for r in read_parquet(folder / f"{AIC}.parquet").itertuples():
        is_apart = r.mode == "disagg"
        ranks, expert, apart = _ranks_of(r, "decode_" if is_apart else "")
        prefill: tuple[int, int, int] | tuple[()] = ()
        workers = 1
        if is_apart:
            each, share, _ = _ranks_of(r, "prefill_")
            prefill = each, share, max(1, _number(r.prefill_num_workers, 1))
            workers = max(1, _number(r.decode_num_workers, 1))
        batch = _number(r.batch_size) or _number(r.decode_batch_size) * workers
        users = _number(r.concurrency) or batch
        kept = _kept_apart(r, users) if is_apart else None
        drafted = 0 if kept is None else kept.drafted
        if kept is not None:
            apart = kept.ranks if kept.has_own_sequences else 1
            ranks, expert, workers = kept.ranks, kept.expert, kept.token_workers
            prefill = *prefill[:2], kept.prompt_workers
        elif not is_apart and "DeepSeek" in str(r.model_path) and _drafts(r):
            # where ranks have sequences of their own, one token is drafted
            drafted = 1 if apart > 1 else 3
        is_stated = kept is not None or bool(_number(r.decode_num_workers))
        version = _text(r.backend_version)
        told, held = _told(r, users, apart) if not is_apart else (Stated(), "")
        yield ServedRow(
            AIC, str(r.row_id), str(r.model_path), load_machine(SYSTEMS[str(r.system)]).name,
            str(r.backend), version, _weights(r), held, ranks // apart, expert,
            apart, workers, int(r.isl), int(r.osl), users, False, prefill, False,
            {Quantity.TTFT_S: r.ttft_ms / 1e3, Quantity.TPOT_S: r.tpot_ms / 1e3},
            ("" if not is_apart else STATED if is_stated else UNSTATED), drafted, told,
            distinct_prompts=distinct_prompts(str(r.backend), version),
            measured_on=_text(r.measured),
        )  # fmt: skip


def _told(row: Any, users: int, groups: int) -> tuple[Stated, str]:
    """What the servers of InferenceX were told, by the lengths of its requests."""
    own = generated(str(row.backend), _text(row.backend_version), int(row.isl), users)
    if _has_few_seats(row):
        return replace(own, max_num_seqs=users - 1), ""
    if own.token_budget or not {int(row.isl), int(row.osl)} <= RANGE_RATIO:
        return own, cache_of(str(row.model_path), str(row.backend))
    return together(
        str(row.model_path), str(row.backend), str(row.system), _text(row.precision),
        int(row.isl), users, groups,
    )  # fmt: skip


def _has_few_seats(row: Any) -> bool:
    """Llama under TensorRT-LLM 1.0.0rc3: one of all users waits for another's whole answer.

    From 8 to 64 users the mean wait for a first token grows with the answer's length by the time of
    an answer over the users. That is read from the rows, nobody says it.
    """
    return bool(_text(row.backend_version) == "1.0.0rc3" and "Llama" in row.model_path)


def _kept_apart(row: Any, users: int) -> Apart | None:
    """How a run was set up whose row does not say by how many workers."""
    if _number(row.decode_num_workers):
        return None
    return apart_of(
        str(row.system), str(row.precision), _text(row.backend_version),
        (int(row.isl), int(row.osl)), users, _number(row.decode_tp_size),
    )  # fmt: skip


def _drafts(row: Any) -> bool:
    return str(row.backend) == "trtllm" and _text(row.backend_version) == DRAFTING


def _ranks_of(row: Any, part: str) -> tuple[int, int, int]:
    """Ranks of the engines of one part of a row, as `_ranks` has them."""
    names = ("tp_size", "moe_tp_size", "moe_ep_size", "attention_dp_size")
    tensor, moe_tensor, moe_expert, data = (_number(getattr(row, part + n), 1) for n in names)
    return _ranks(tensor, moe_tensor, moe_expert, data)


def _text(value: Any) -> str:
    """A name, "" for a missing one."""
    return "" if str(value) in ("None", "nan", "<NA>") else str(value)


def _weights(row: Any) -> str:
    """Format of the weights of a row of aiconfigurator; where none is stated they are 16 bits."""
    stated = AIC_WEIGHTS.get(_text(row.gemm_quant_mode), "bf16")
    if stated == "f8" and str(row.backend) == "sglang":
        # its newer products in blocks take what those with one scale do; older ones were measured
        return stated
    return published(str(row.model_path), stated, str(row.backend), str(row.system))


def published(model: str, weights: str, runtime: str = "", target: str = "") -> str:
    """The format that the published weights of a model have where a table says fp8 or fp4.

    gpt-oss has one of its own, which TensorRT-LLM multiplies in 8-bit floats on Blackwell, and vLLM
    where it is told to, as InferenceX and ML.ENERGY tell it (``configs/vllm/gpqa/openai`` of
    github.com/ml-energy/benchmark). DeepSeek, Qwen 3 and MiniMax are published in
    blocks of fp8; of DeepSeek in fp4 the experts alone are.
    """
    name = model.lower()
    if "gpt-oss" in name:
        is_narrow = "b200" in target and runtime in ("trtllm", "vllm")
        return WeightFormat.MXFP4_F8.value if is_narrow else ""
    is_blocked = any(part in name for part in ("deepseek", "qwen3", "minimax"))
    if is_blocked and weights == "f8":
        return "f8-block"
    return EXPERTS_NVFP4 if "deepseek" in name and weights == "nvfp4" else weights


def _ranks(tensor: int, moe_tensor: int, moe_expert: int, data: int) -> tuple[int, int, int]:
    """Ranks of an engine, those that experts are divided among, and groups of attention.

    Ranks among which heads do not divide have sequences of their own each.

    Some rows count one group of ranks twice, as tensor and as expert parallel, and give the
    product: then the experts' degree is the engine's.
    """
    moe_tensor, moe_expert = max(1, moe_tensor), max(1, moe_expert)
    tensor, data = max(1, tensor), max(1, data)
    if tensor > 8 and tensor & (tensor - 1):
        # of racks: each rank has sequences of its own, and a share of the experts
        return tensor, tensor, tensor
    if moe_expert > 1 and moe_tensor * moe_expert == moe_expert**2:
        ranks = moe_expert
        return ranks, ranks, ranks if data > 1 else 1
    ranks = max(moe_tensor * moe_expert, tensor) if data == 1 else tensor * data
    data = data if ranks % data == 0 and tensor == 1 else 1
    return ranks, ranks if moe_expert > 1 else 1, data


def trtllm_throughput(folder: Path) -> Iterator[ServedRow]:
    """``trtllm_throughput.parquet``: the most tokens a second that batches of requests gave."""
    for i, r in enumerate(read_parquet(folder / f"{TRTLLM}.parquet").itertuples()):
        cell = r.version, r.model, r.gpu, r.precision, r.isl, r.osl
        if cell in FAULTY:
            continue
        is_first = r.metric == "first_token_latency_ms"
        model, gpu, precision = str(r.model), str(r.gpu).lower(), str(r.precision)
        ranks = int(r.tp) * max(1, int(r.dep))
        data = groups(str(r.version), model, int(r.tp), int(r.dep))
        rate = float(r.value) * ranks if r.version == PER_GPU else r.total_output_tokens_per_s
        value = (
            {Quantity.TTFT_S: r.value / 1e3} if is_first else {Quantity.TOKENS_PER_S: float(rate)}
        )
        batch = _number(r.batch)
        stated, requests = told(str(r.version), model, int(r.tp), int(r.isl), int(r.osl))
        weights = TRT_WEIGHTS[precision]
        if not is_of_nvidia(model):
            weights = published(model, weights, "trtllm", gpu)
        yield ServedRow(
            TRTLLM, f"{r.version} {r.model} {r.gpu} {r.precision} {r.isl}/{r.osl} {i}",
            OLD_MODELS.get(model, model), load_machine(gpu).name, "trtllm", str(r.version), weights,
            cache(model, precision, gpu), ranks // data, ranks if data > 1 else 1, data, 1,
            int(r.isl), int(r.osl), batch, bool(batch), (), False, value,
            stated=stated, requests=requests,
        )  # fmt: skip


def ml_energy(folder: Path) -> Iterator[ServedRow]:
    """``mlenergy.parquet``: language models whose seats are all taken, with the boards' power."""
    for i, r in enumerate(read_parquet(folder / f"{ML_ENERGY}.parquet").itertuples()):
        if r.max_num_seqs != r.max_num_seqs:
            continue
        gpu, plain = str(r.gpu_model).lower(), "bf16" if r.weight_precision == "bfloat16" else ""
        yield ServedRow(
            ML_ENERGY, f"{r.model_id} {r.task} {r.num_gpus}x{r.gpu_model} {i}", str(r.model_id),
            load_machine(gpu).name, "vllm", "", published(str(r.model_id), plain, "vllm", gpu), "",
            int(r.num_gpus), 1, 1, 1, prompt_tokens(str(r.task)), max(2, round(r.avg_output_len)),
            int(r.max_num_seqs), False, (), _is_launched_singly(r),
            {
                Quantity.TOKENS_PER_S: float(r.output_throughput_tokens_per_sec),
                Quantity.ENERGY_J: float(r.energy_per_token_joules),
            },
            str(r.task), stated=Stated(max_num_seqs=int(r.max_num_seqs)),
        )  # fmt: skip


def _is_launched_singly(row: Any) -> bool:
    """Qwen3 answering GPQA on a B200: a step of 8 users takes as long as one of 64, about 30 ms.

    That is what a host needs that launches each kernel; it is read from the rows, nobody says it.
    """
    return bool(row.gpu_model == "B200" and row.task == "gpqa" and "Qwen3" in row.model_id)


TABLES: Mapping[str, Callable[[Path], Iterator[ServedRow]]] = {
    AIC: aic_serving, TRTLLM: trtllm_throughput, ML_ENERGY: ml_energy,
}  # fmt: skip
"""Tables by name; what of them may be learned from is said by who learns."""
