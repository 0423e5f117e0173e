"""Read published tables of training runs as rows: a reader for each source."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from perfc.distributed.recipe import recipe_of
from perfc.distributed.training import Training
from perfc.machine.parallel import Parallel
from perfc.passes.training.implementation import RecomputePolicy
from perfc_lab.tables import number, read_parquet, text

from . import RunRow
from .models import MEGATRON

THROUGHPUT, BIGSCIENCE = "llm_train_throughput", "bigscience_train"
"""Names of tables; the first holds four sources, which its column ``source`` names."""
CLUSTERS = {
    "A100-40GB": "bm-gpu4-8",
    "A100-80GB": "dgx-a100",
    "H100-80GB": "bm-gpu-h100-8",
    "DGX-H100": "dgx-h100",
    "DGX-B200": "dgx-b200",
    "DGX-GB200": "gb200-nvl72",
    "DGX-GB300": "gb300-nvl72",
    "DGX-B300": "dgx-b300",
    "H100-96GB-HBM2e-500W": "grand-teton-h100",
    "V100-32GB": "jean-zay-v100",
}
"""Target of a cluster by the source's name of the system. llm-foundry gives links of 1600 Gb/s per
node for A100 and 3200 Gb/s for H100."""
NEUSIGHT = {
    "NVIDIA A100 80GB PCIe": "a100-pcie-80gb",
    "NVIDIA A100-SXM4-40GB": "dgx-a100-40gb",
    "Tesla V100-PCIE-32GB": "v100-pcie-32gb",
}
"""Target by the device of NeuSight's training rows; its four A100 are assumed to be in one DGX."""
WEIGHTS = {
    "bf16": "bf16",
    "amp_bf16": "bf16",
    "amp_fp8": "f8",
    "BF16": "bf16",
    "FP8": "f8",
    "MXFP8": "f8",
    "FP8-CS": "f8",
    "FP8-MX": "f8",
    "FP8-CS (FP8-MX)": "f8",
    "NVFP4": "nvfp4",
    "": "f8",
}
"""Number format of the linear layers by the source's name of the precision. Megatron-Bridge's first
page gives no name, but rates above those of 16 bits."""
SPARSE = ("Qwen3_30B", "Qwen3_235B", "GPT OSS", "DeepSeek", "MIXTRAL")
"""Starts of the names of models with experts."""
SEQ = 1024
"""Tokens of one of BigScience's samples, inferred from its published rates."""
LEAST_BATCH = 256
"""Minimum samples of a step in BigScience's rows: smaller ones are tests of what fits in memory,
whose GPUs mostly wait."""


def rows(folder: Path) -> Iterator[RunRow]:
    """Yield every published run with enough details to predict it."""
    readers = {
        "llm-foundry": _foundry,
        "nemo": _megatron,
        "megatron-bridge": _megatron,
        "torchtitan": _torchtitan,
    }
    # readers return None for runs with too few details
    yield from filter(None, (readers[str(r.source)](r) for r in published(folder, THROUGHPUT)))
    yield from filter(None, map(_neusight, published(folder, "neusight_e2e")))
    yield from filter(None, map(_bigscience, published(folder, BIGSCIENCE)))


def published(folder: Path, name: str) -> Iterator[Any]:
    """Yield the rows of a table, or of its parts ``NAME_*.parquet``.

    Raises:
        DataError: there is no table of throughput; others may be absent.
    """
    whole = folder / f"{name}.parquet"
    paths = [whole] if whole.is_file() else sorted(folder.glob(f"{name}_*.parquet"))
    # the absent table of throughput is read too, for its error
    for path in paths or [whole] * (name == THROUGHPUT):
        yield from read_parquet(path).itertuples()


def _neusight(r: Any) -> RunRow | None:
    """Return a row of NeuSight: an FP32 step without an optimizer, on one GPU or on four."""
    if str(r.mode) != "train" or str(r.device) not in NEUSIGHT:
        return None
    variant, batch = str(r.variant), int(r.batch)
    parallel = {
        "eager": Parallel(),
        "dp4": Parallel(data=4),
        "tp4": Parallel(tensor=4),
        "pp4_1": Parallel(pipeline=4),
        "pp4_2": Parallel(pipeline=4),
        "pp4_4": Parallel(pipeline=4),
    }.get(variant)
    # Switch Transformers have no description in `perfc.frontend.config`
    config = text(r.hf_config_json)
    if parallel is None or not config or str(r.model).startswith("switch"):
        return None
    # pp4_N: four stages, the batch in N micro-batches
    parts = int(variant.rpartition("_")[2]) if variant.startswith("pp4_") else 1
    training = Training(
        int(r.seq_len),
        batch,
        batch // parallel.data // parts,
        has_update=False,
        recipe=recipe_of("f32"),
    )
    return RunRow(
        "neusight",
        "torch-f32",
        str(r.model),
        NEUSIGHT[str(r.device)],
        "f32",
        parallel,
        training,
        r.e2e_latency_ms / 1e3,
        config=config,
    )


def _foundry(r: Any) -> RunRow:
    """Return a row of llm-foundry, which shards the model by FSDP and has no other parallelism."""
    # PyTorch's FULL_SHARD shards parameters too (ZeRO-3), SHARD_GRAD_OP only the rest (ZeRO-2)
    zero = 3 if str(r.sharding) == "FULL_SHARD" else 2
    recompute = RecomputePolicy.BLOCK if str(r.checkpointing) == "True" else RecomputePolicy.NONE
    gbs, seq, gpus = int(r.gbs), int(r.seq), int(r.gpus)
    training = Training(seq, gbs, int(r.mbs), "adamw", recompute)
    return RunRow(
        "llm-foundry",
        "llm-foundry",
        str(r.model),
        CLUSTERS[str(r.system)],
        WEIGHTS[str(r.precision)],
        Parallel(data=gpus, zero=zero),
        training,
        gbs * seq / (r.tokens_per_s_per_gpu * gpus),
    )


def _megatron(r: Any) -> RunRow | None:
    """Return a row of NeMo or Megatron-Bridge.

    They shard the optimizer (ZeRO-1, or ZeRO-3 with FSDP), and sequences with tensor parallelism.
    """
    gpus, tp, pp, cp = int(r.gpus), number(r.tp, 1), number(r.pp, 1), max(number(r.cp, 1), 1)
    # virtual stages need a pipeline
    stages = max(number(r.vp, 1), 1) if pp > 1 else 1
    # experts are divided among data-parallel ranks, so that their degree takes no further GPUs
    data = gpus // (tp * pp * cp)
    parallel = Parallel(
        tp,
        pp,
        max(number(r.ep, 1), 1),
        data=data,
        context=cp,
        sequence=int(tp > 1),
        zero=3 if number(r.fsdp) else 1,
        virtual_stages=stages,
        schedule="interleaved" if stages > 1 else "1f1b",
    )
    gbs, seq, model = int(r.gbs), int(r.seq), str(r.model)
    is_frozen = str(r.task) == "LoRA"
    return RunRow(
        str(r.source),
        "megatron",
        model,
        CLUSTERS[str(r.system)],
        WEIGHTS[text(r.precision)],
        parallel,
        Training(seq, gbs, int(r.mbs), is_frozen=is_frozen),
        gbs * seq / (r.tokens_per_s_per_gpu * gpus),
        model.startswith(SPARSE),
    )


def _torchtitan(r: Any) -> RunRow | None:
    """Return a row of TorchTitan whose captions give parallelism and batch; None for another row.

    ``techniques`` holds the captions of all tables above the row, then "|" and the row's
    techniques.
    """
    words = text(r.techniques)
    # from Table 3 on, and with a pipeline schedule, rows are of other models or divisions than the
    # first captions name
    if not str(r.system).startswith("H100") or "Table 3" in words or "Schedule=" in words:
        return None
    gpus, seq = int(r.gpus), int(r.seq)
    weights = "f8" if "loat8" in words.rpartition("|")[2] or "=float8" in words else "bf16"
    recompute = RecomputePolicy.SELECTIVE
    # samples per rank, context and tensor parallelism of Table 1; other captions name what differs
    local, cp, tp = 2, 1, 1
    if match := re.search(r"FSDP=8, TP=8", words):
        local, tp = 12, 8
    elif match := re.search(r"CP (\d)", words):
        if r.tokens_per_s_per_gpu < 200:
            return None  # too slow for 8B: a row of the next table, a larger model
        local, cp, recompute, weights = 1, int(match[1]), RecomputePolicy.BLOCK, "f8"
    elif "local batch size 2" not in words.lower():
        return None
    data = gpus // (tp * cp)
    # asynchronous tensor parallelism hides exchanges behind products, as sequence parallelism does
    # in `Parallel`; "Vanilla" rows run without it
    is_hidden = tp > 1 and "Vanilla" not in words.rpartition("|")[2]
    parallel = Parallel(tp, data=data, context=cp, zero=3, sequence=int(is_hidden))
    gbs = local * data
    return RunRow(
        "torchtitan",
        "torchtitan",
        str(r.model),
        CLUSTERS[str(r.system)],
        weights,
        parallel,
        Training(seq, gbs, local, "adamw", recompute),
        gbs * seq / (r.tokens_per_s_per_gpu * gpus),
    )


def _bigscience(r: Any) -> RunRow | None:
    """Return a row of BigScience on V100, Megatron with DeepSpeed; None if it says too little."""
    size = text(r.size) or ("104B" if "104B" in str(r.file) else "")
    # an optimizer that is offloaded to the host is not modeled
    if size not in MEGATRON or math.isnan(r.step_s) or "Offload" in str(r.section):
        return None
    if math.isnan(r.gpus) or math.isnan(r.gbs) or r.gbs < LEAST_BATCH:
        return None
    gpus, dp = int(r.gpus), number(r.dp, 1)
    pp = number(r.pp, 0) or 1
    # a missing degree follows from the others
    tp = number(r.tp, 0) or gpus // (dp * pp)
    # the product of degrees must be the number of GPUs; else one of them is wrong or missing
    if gpus != dp * tp * pp:
        return None
    # the column says whether ZeRO-1 is on; tables of ZeRO-3 have a section of their kind
    zero = 1 if text(r.zero) == "Y" else 3 if "ZeRO" in str(r.section) else 0
    training = Training(SEQ, int(r.gbs), int(r.mbs), "adam", RecomputePolicy.BLOCK)
    # a batch of whole micro-batches on every rank; else a number of the row is wrong
    if training.batch % (dp * training.micro_batch):
        return None
    return RunRow(
        "bigscience",
        "megatron-v100",
        size,
        CLUSTERS[str(r.system)],
        "f16",
        Parallel(tp, pp, data=dp, zero=zero),
        training,
        float(r.step_s),
    )
