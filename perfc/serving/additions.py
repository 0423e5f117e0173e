"""Read the optional features of a served model: LoRA adapters, images, sampling, expert skew, host.

`Additions` has the keyword arguments that ``perfc.llm`` and the search of settings pass on;
`with_additions` returns the model with those that change it, `of_host` those of the engine.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypedDict

from perfc.common.choice import member
from perfc.common.durations import seconds_of
from perfc.errors import ParseError
from perfc.frontend.config import LanguageModel, Sampling, adapted, with_images
from perfc.machine import Reserve
from perfc.passes.runtimes import Batching, tables

from .cost.images import checked
from .engine import kind_of

HOST = "generic-x86-64"
"""Target of the processor that attends or runs experts, unless ``host_processor`` names another."""
MOST_RANK, MOST_ADAPTERS = 1024, 4096
"""Maximum rank and number of LoRA adapters; vLLM takes ranks up to 512."""
MOST_CACHED_BYTES = 1 << 30
"""Largest ``kv_bytes_per_token`` that is accepted; a larger one is the size of a whole cache."""
MOST_SKEW = 2.0
"""Largest exponent accepted; the kernel measurements were drawn with exponents up to 1.2."""


class Additions(TypedDict, total=False):
    """Keyword arguments of ``llm``; each feature is off when left out.

    Args:
        lora_rank: rank of the LoRA adapters, which requests use in rotation.
        loras: number of adapters in memory; one batch may mix them.
        images: images per prompt; their tokens are added to the ``isl`` tokens of text.
        image_size: edge length of these images in pixels; 0 for the input size of the vision tower.
        sampling: kernels that choose the next token, "greedy", "random" or "top-p".
        expert_skew: exponent of the power law by which tokens choose experts, 0 for a uniform
            choice; None for a uniform choice in decode steps and 1.01 in prefill steps.
        offline: True to model the engine's own offline benchmark, with no server in front of it.
        recorded_tokens: tokens of the largest step that is captured as a CUDA graph; None for the
            runtime's default.
        host_launch: host time to launch one kernel, as ``30us`` or in seconds, for an engine that
            launches each kernel from the host; by default the target's value or a prior.
        batching: whose tokens a step has, "mixed", "whole-prompts" or "prompts-first"; by default
            as the runtime does.
        looks_every: decode steps between two looks of a busy engine for new requests; None for 1.
        flash_attention: False for llama.cpp's ``-fa off``; None for the default of its version.
        cpu_offload_gb: GiB of each GPU's weights that stay in host memory, from where every step
            reads them; None for none.
        kv_offload: False for llama.cpp's ``--no-kv-offload``: the host attends, in its memory.
        n_cpu_moe: first layers whose experts the host has, as llama.cpp's option of that name.
        host_processor: target of that host, "" for `HOST`.
        reserve: memory of each device to hold back, as ``2GiB`` or ``5%``.
        like: family that the configuration is read like; "" for its own.
        kv_bytes_per_token: bytes that a token leaves in the KV cache of the whole model; 0 for
            those of the layers that were read.
        max_model_len: tokens of the longest sequence that has to fit in memory, or "auto" for a
            note with the longest that does; None for those of the load alone.
    """

    lora_rank: int
    loras: int
    images: int
    image_size: int
    sampling: str | Sampling
    expert_skew: float | None
    offline: bool
    recorded_tokens: int | None
    host_launch: str | float | None
    batching: str | Batching | None
    looks_every: int | None
    flash_attention: bool | None
    cpu_offload_gb: float | None
    kv_offload: bool | None
    n_cpu_moe: int | None
    host_processor: str
    reserve: str | int | Reserve
    like: str
    kv_bytes_per_token: int
    max_model_len: int | str | None


def with_additions(
    model: LanguageModel, runtime: str, added: Additions, *, has_trace: bool = False
) -> LanguageModel:
    """Return the model with all requested features.

    Raises:
        PerfcError: a value is out of range, or the model or the runtime lacks the feature.
    """
    model = with_adapters(model, added.get("lora_rank", 0), added.get("loras", 0), runtime)
    sampling = added.get("sampling", "")
    if isinstance(sampling, Sampling):
        model = replace(model, sampling=sampling)
    elif sampling:
        model = replace(model, sampling=member(Sampling, sampling, "--sampling"))
    model = with_skew(model, added.get("expert_skew"))
    cached = added.get("kv_bytes_per_token", 0)
    if not 0 <= cached <= MOST_CACHED_BYTES:
        hint = f"0 to {MOST_CACHED_BYTES}"
        raise ParseError(f"{cached} bytes per token", where="--kv-bytes-per-token", hint=hint)
    model = replace(model, cached_bytes=cached)
    edge = added.get("image_size", 0)
    image_count = checked(added.get("images", 0), edge, has_trace)
    return with_images(model, edge) if image_count else model


def with_skew(model: LanguageModel, skew: float | None) -> LanguageModel:
    """Return the model with tokens that choose experts by a power law.

    Raises:
        PerfcError: the exponent is out of range, or the model has no experts.
    """
    if skew is None:
        return model
    if not 0 <= skew <= MOST_SKEW:
        raise ParseError(
            f"an exponent of {skew:g}", where="--expert-skew", hint=f"0 to {MOST_SKEW:g}"
        )
    if not model.has_experts:
        raise ParseError(f"{model.name} has no experts", where="--expert-skew", hint="leave it out")
    return replace(model, expert_skew=skew)


def longest_of(added: Additions, model: LanguageModel, tokens: int) -> int | None:
    """Return the tokens of the longest sequence that has to fit, 0 for "auto"; None if not given.

    Raises:
        ParseError: no number, more than the model's positions, or fewer than ``tokens``.
    """
    given, where = added.get("max_model_len"), "--max-model-len"
    if given is None or given == "auto":
        return None if given is None else 0
    # 0 for a text that is no whole number, which the next line refuses
    limit = int(given) if str(given).isdecimal() else 0
    if not limit or 0 < model.context < limit:
        positions = f"1 to {model.context:,}" if model.context else "a number of tokens"
        raise ParseError(f"{given!r} tokens", where=where, hint=f"{positions}, or auto")
    if tokens > limit:
        message = f"{limit:,} tokens, and a request has {tokens:,}"
        raise ParseError(message, where=where, hint="lower --isl or --osl")
    return limit


def of_host(added: Additions) -> dict[str, Any]:
    """Return host launch time in seconds and the overrides of an engine's rules that were given.

    Raises:
        ParseError: the launch time is not a duration, or the batching is unknown.
    """
    given, batching = added.get("host_launch"), added.get("batching")
    if not isinstance(batching, Batching):
        batching = member(Batching, batching, "--batching") if batching else None
    processor = added.get("host_processor") or HOST
    # keys and values in host memory are read by the host, which then also attends
    host = processor if added.get("kv_offload") is False else None
    fuses = added.get("flash_attention")
    return {
        "host": host,
        "hosted_by": processor,
        "hosted_layers": added.get("n_cpu_moe"),
        "host_launch_s": None if given is None else seconds_of(given, "--host-launch"),
        "recorded_tokens": added.get("recorded_tokens"),
        "batching": batching,
        "looks_every": added.get("looks_every"),
        # llama.cpp's automatic choice is off if the host attends: ``fa_device_mismatch``
        "fuses_attention": False if host and fuses is None else fuses,
        "offloaded_bytes": (added.get("cpu_offload_gb") or 0.0) * (1 << 30) or None,
    }


def with_adapters(model: LanguageModel, rank: int, count: int, runtime: str) -> LanguageModel:
    """Return the model with ``count`` resident adapters of a rank.

    Raises:
        PerfcError: a number is out of range, or the runtime does not mix adapters in a batch.
    """
    # one without the other would have no effect on memory or kernels
    if bool(rank) is not bool(count):
        raise ParseError(
            "adapters need both a rank and a count",
            where="--loras",
            hint="as in --lora-rank 16 --loras 8",
        )
    if not 0 <= rank <= MOST_RANK or not 0 <= count <= MOST_ADAPTERS:
        hint = f"rank up to {MOST_RANK}, at most {MOST_ADAPTERS} adapters"
        raise ParseError(f"{count} adapters of rank {rank}", where="--loras", hint=hint)
    if count and not kind_of(runtime).adapters:
        offer = ", ".join(t.name for t in tables() if t.engine and t.engine.adapters)
        message = f"{runtime} does not mix adapters in a batch"
        raise ParseError(message, where="--loras", hint=f"{offer} do")
    return adapted(model, rank, count)
