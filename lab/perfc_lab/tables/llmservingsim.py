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
"""Target by device, where the device's name is not the name of a target."""
OLD = "v0_torch_profiler"
"""The older of two profilers, whose kernel of attention is unknown; the newer one times vLLM's."""


@frozen
class ModelExtents:
    """Extents of a model.

    Args:
        hidden: elements of a token between layers.
        inner: elements inside the feed-forward layer, or inside one expert.
        heads: query heads.
        kv_heads: heads of keys and values.
        vocabulary: number of different tokens.
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
"""Extents of the models from their published configurations, in the order of the fields."""
DENSE_MODELS = frozenset({"meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-70B", "Qwen/Qwen3-32B"})
"""Models without experts."""
NO_ATTENTION = frozenset({"Qwen/Qwen3-32B"})
"""Models whose rows of attention are left out; their rows of layers are read."""
DENSE, STEP = 64, 16
"""Numbers of tokens that are read: all up to 64, above those that are a multiple of 16 or one more.
The older profiler has every number up to 2048, and neighbours differ by noise alone."""


class LlmServingSimAttention(TableSource):
    """``llmservingsim_attention.parquet``: vLLM's attention kernels, MIT.

    Of the older profiler only prompts are read: its number of cached tokens of a decoding step fits
    neither one sequence nor all of them. Its ``kv_prefill`` includes the new tokens of a prompt,
    that of the newer profiler does not.
    """

    name: ClassVar[str] = "llmservingsim_attention"
    files: ClassVar[tuple[str, ...]] = ("llmservingsim_attention.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by device, profiler, model and number of its shards."""
        frame = read_parquet(folder / self.files[0]).fillna({"n_decode": 0})
        frame = frame[frame["model"].isin(sorted(MODELS.keys() - NO_ATTENTION))]
        keys = ["device", "profiler", "model", "tensor_parallel"]
        for (device, profiler, model, shards), block in frame.groupby(keys, observed=True):
            prompts = block[(block["prefill_chunk"] > 0) & (block["n_decode"] == 0)]
            tokens = block[(block["prefill_chunk"] == 0) & (block["n_decode"] > 0)]
            # one kernel for prompts and single tokens
            mixed = block[(block["prefill_chunk"] > 0) & (block["n_decode"] > 0)]
            extents = MODELS[str(model)]
            # query heads and key heads on one machine
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
    """Return the lengths of a class of attention: batch, new tokens, and tokens attended to.

    The class follows from the first row, as all rows of ``part`` are prompts, single tokens or
    mixed. ``old`` says that the rows are those of the older profiler.
    """

    def column(name: str) -> Array:
        values: Array = part[name].to_numpy(np.float64)
        return values

    chunk, decodes = column("prefill_chunk"), column("n_decode")
    if chunk[0] == 0:
        return {"batch": decodes, "cached_len": column("kv_decode")}
    seen = column("kv_prefill") + (0 if old else chunk)
    prompt = {"batch": np.ones(len(part)), "query_len": chunk, "kv_len": seen}
    if decodes[0] == 0:
        return prompt
    return prompt | {"decodes": decodes, "cached_len": column("kv_decode")}


class LlmServingSimLayers(TableSource):
    """``llmservingsim_layers.parquet``: layers of shards of language models, MIT.

    Experts of sharded models are left out, as the profiler timed whole experts there. So are layers
    of the older profiler that are no products, as each is several kernels.
    """

    name: ClassVar[str] = "llmservingsim_layers"
    files: ClassVar[tuple[str, ...]] = ("llmservingsim_layers.parquet",)

    def rows(self, folder: Path) -> Iterator[Rows]:
        """Yield the blocks by device: layers of the class ``tokenwise``, then products."""
        import pandas as pd

        frame = read_parquet(folder / self.files[0])
        # the newer profiler times layers that are no products as one kernel each
        newer = frame[frame["profiler"] != OLD]
        yield from token_rows(newer, "vllm", "layer", "x", token_extents, target)
        # the column ``x`` is the number of tokens
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
    """Return how often a block has a layer; 0 unless the profile has all layers of a block.

    It has them for the dense models of the newer profiler.
    """
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
    """Return the columns and the reduced extent of a layer's product; None for another layer.

    They are those on one of the ``shards`` machines that share the model.
    """
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
