"""LLMServingSim's profiles of vLLM: attention, and the matrix products of linear layers.

They become rows of three classes of attention, and of ``tokenwise`` and ``matmul``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from perfc.analyzers.features.classes.attention import AttentionKernel
from perfc.analyzers.features.rows import Protocol
from perfc.ir.record import frozen

from ..data.rows import Rows
from . import MODEL, TableSource, read_parquet, target_of
from .language_models import COMPUTED, IN_BLOCK, SHARDS, TokenExtents, in_block, number, token_rows

if TYPE_CHECKING:
    import pandas as pd

    from perfc.analyzers.features.classes import Array

HEAD_DIM = 128.0
"""Extent of a head in all its models."""
TARGETS = {"A6000": "rtx-a6000"}
"""Devices whose names are no target's."""
OLD = "v0_torch_profiler"
"""The older of two profilers; the newer one times kernels of vLLM."""


@frozen
class ModelExtents:
    """Extents of a model.

    Args:
        hidden: elements of a token between layers.
        inner: elements inside the feed-forward layer, or inside one expert.
        heads: query heads.
        kv_heads: heads of keys and values.
        vocabulary: tokens.
    """

    hidden: int
    inner: int
    heads: int
    kv_heads: int
    vocabulary: int


MODELS: Mapping[str, ModelExtents] = {
    "meta-llama/Llama-3.1-8B": ModelExtents(4096, 14336, 32, 8, 128256),
    "meta-llama/Llama-3.1-70B": ModelExtents(8192, 28672, 64, 8, 128256),
    "mistralai/Mixtral-8x7B-v0.1": ModelExtents(4096, 14336, 32, 8, 32000),
    "microsoft/Phi-mini-MoE-instruct": ModelExtents(4096, 960, 32, 8, 32064),
    "Qwen/Qwen3-30B-A3B-Instruct-2507": ModelExtents(2048, 768, 32, 4, 151936),
    "Qwen/Qwen3-32B": ModelExtents(5120, 25600, 64, 8, 151936),
}
"""Extents of the models, from their published configurations."""
DENSE_MODELS = frozenset({"meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-70B", "Qwen/Qwen3-32B"})
"""Models without experts."""
NO_ATTENTION = frozenset({"Qwen/Qwen3-32B"})
"""Models of which the layers are taken alone."""
DENSE, STEP = 64, 16
"""Lengths up to the first are all kept, above only those at and behind multiples of the second:
two lengths side by side differ by noise, and the older profiler has every one up to 2048."""


class LlmServingSimAttention(TableSource):
    """``llmservingsim_attention.parquet``: vLLM's attention kernels, MIT.

    The older profiler states tokens of a cache in a way that fits neither one sequence nor all, so
    that its single tokens are left out; of its prompts ``kv_prefill`` counts the new tokens, of the
    newer one's not.
    """

    name: ClassVar[str] = "llmservingsim_attention"
    files: ClassVar[tuple[str, ...]] = ("llmservingsim_attention.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by device, profiler, model and its shards."""
        frame = read_parquet(folder / self.files[0]).fillna({"n_decode": 0})
        frame = frame[frame["model"].isin(sorted(MODELS.keys() - NO_ATTENTION))]
        keys = ["device", "profiler", "model", "tensor_parallel"]
        for (device, profiler, model, shards), block in frame.groupby(keys, observed=True):
            prompts = block[(block["prefill_chunk"] > 0) & (block["n_decode"] == 0)]
            tokens = block[(block["prefill_chunk"] == 0) & (block["n_decode"] > 0)]
            # prompts and single tokens in one kernel
            mixed = block[(block["prefill_chunk"] > 0) & (block["n_decode"] > 0)]
            extents = MODELS[str(model)]
            heads = [n / float(str(shards)) for n in (extents.heads, extents.kv_heads)]
            classes = {
                "attention_prefill": prompts,
                "attention_decode": tokens,
                "mixed_attention": mixed,
            }
            for name, part in classes.items():
                if not len(part) or (part is not prompts and profiler == OLD):
                    continue
                shape = {"heads": heads[0], "kv_heads": heads[1], "head_dim": HEAD_DIM}
                kernel = AttentionKernel.UNKNOWN if profiler == OLD else AttentionKernel.FLASH_2
                constant = {n: np.full(len(part), v) for n, v in shape.items()}
                constant["kernel"] = np.full(len(part), float(kernel))
                constant[MODEL] = np.full(len(part), number(str(model)))
                constant[SHARDS] = np.full(len(part), float(str(shards)))
                yield Rows(
                    name,
                    target(str(device)),
                    "bf16",
                    Protocol.KERNELS,
                    "vllm",
                    constant | lengths(part, old=profiler == OLD),
                    part["latency_us"].to_numpy(np.float64) * 1e-6,
                )


def lengths(part: pd.DataFrame, *, old: bool) -> dict[str, Array]:
    """Return the batch, new tokens and those that they see."""

    def column(name: str) -> Array:
        values: Array = part[name].to_numpy(np.float64)
        return values

    chunk, decodes = column("prefill_chunk"), column("n_decode")
    # a part has one kind of kernel, so that its first row shows which
    if chunk[0] == 0:
        return {"batch": decodes, "cached_len": column("kv_decode")}
    seen = column("kv_prefill") + (0 if old else chunk)
    prompt = {"batch": np.ones(len(part)), "query_len": chunk, "kv_len": seen}
    if decodes[0] == 0:
        return prompt
    return prompt | {"decodes": decodes, "cached_len": column("kv_decode")}


class LlmServingSimLayers(TableSource):
    """``llmservingsim_layers.parquet``: layers of shards of language models, MIT.

    Experts are whole where a model is sharded: so timed, at the rates of whole ones. They are left
    out there. So are the older profiler's layers that are no products, several kernels each.
    """

    name: ClassVar[str] = "llmservingsim_layers"
    files: ClassVar[tuple[str, ...]] = ("llmservingsim_layers.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by device."""
        import pandas as pd

        frame = read_parquet(folder / self.files[0])
        # layers that are no products first: the newer profiler times each as one kernel
        newer = frame[frame["profiler"] != OLD]
        yield from token_rows(newer, "vllm", "layer", "x", token_extents, target)
        frame = frame[(frame["x"] <= DENSE) | (frame["x"] % STEP <= 1)]
        keys = ["model", "tensor_parallel", "layer"]
        for device, block in frame.groupby("device", observed=True, sort=True):
            parts = []
            for (model, shards, layer), part in block.groupby(keys, observed=True, sort=True):
                config = MODELS.get(str(model))
                shape = width_and_depth(config, str(layer), int(shards)) if config else None
                if shape is not None:
                    groups: dict[str, Any] = {MODEL: number(str(model)), SHARDS: float(shards)}
                    groups[IN_BLOCK] = times_in_block(part, str(model), str(layer))
                    parts.append(part.assign(n=shape[0], k=shape[1], **groups))
            if not parts:
                continue
            whole = pd.concat(parts)
            names = ("x", "n", "k", MODEL, SHARDS, IN_BLOCK)
            columns = {"m" if name == "x" else name: whole[name] for name in names}
            yield Rows(
                "matmul",
                target(str(device)),
                COMPUTED,
                Protocol.KERNELS,
                "vllm",
                {name: column.to_numpy(np.float64) for name, column in columns.items()},
                whole["latency_us"].to_numpy(np.float64) * 1e-6,
            )


def times_in_block(part: pd.DataFrame, model: str, layer: str) -> Array:
    """Return how often a block has a layer, for the newer profiler's dense models."""
    is_whole = (part["profiler"] != OLD).to_numpy() & (model in DENSE_MODELS)
    return np.where(is_whole, in_block(layer), 0.0)


def target(device: str) -> str:
    """Return the name of the target of a device."""
    return target_of(TARGETS.get(device, device))


def token_extents(model: str, shards: float, rows: pd.DataFrame) -> TokenExtents | None:
    """Return the extents of a token in a layer of a model on one of its shards."""
    config = MODELS.get(str(model))
    if config is None:
        return None
    heads = (config.heads + config.kv_heads) / shards
    return TokenExtents(config.hidden, config.inner / shards, HEAD_DIM * heads, heads)


def width_and_depth(model: ModelExtents, layer: str, shards: int) -> tuple[int, int] | None:
    """Return columns and reduction of a layer's product on one machine; None for what is none."""
    # q, k, v, gate and up are divided by columns, o and down by the reduction
    head = int(HEAD_DIM)
    heads, kv_heads = model.heads * head // shards, model.kv_heads * head // shards
    inner = model.inner // shards
    match layer:
        case "q_proj":
            return heads, model.hidden
        case "k_proj" | "v_proj":
            return kv_heads, model.hidden
        case "qkv_proj":
            return heads + 2 * kv_heads, model.hidden
        case "o_proj":
            return model.hidden, heads
        case "gate_proj" | "up_proj":
            return inner, model.hidden
        case "gate_up_proj":
            return 2 * inner, model.hidden
        case "down_proj":
            return model.hidden, inner
        case "lm_head":
            return model.vocabulary // shards, model.hidden
        # experts of a sharded model are timed whole: see the class
        case "expert.w1" | "expert.w3" if shards == 1:
            return inner, model.hidden
        case "expert.w2" if shards == 1:
            return model.hidden, inner
        case _:
            return None
