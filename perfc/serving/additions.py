"""What a served model may have besides: adapters, images, sampling as kernels, chosen experts."""

from __future__ import annotations

from dataclasses import replace
from typing import TypedDict

from perfc.choice import member
from perfc.durations import seconds_of
from perfc.errors import ParseError
from perfc.frontend.config import LanguageModel, Sampling, adapted, with_images
from perfc.frontend.config.mixers import Experts
from perfc.frontend.config.model import mixers
from perfc.machine import Reserve
from perfc.passes.runtimes import tables

from .cost.images import checked
from .engine import kind_of

MOST_RANK, MOST_ADAPTERS = 1024, 4096
MOST_SKEW = 2.0
"""Rows of kernels were drawn by exponents to 1.2."""


class Additions(TypedDict, total=False):
    """Keywords of ``llm``; each is off where it is left out.

    Args:
        lora_rank: of the adapters that requests ask for in turn.
        loras: adapters in memory, which one batch may mix.
        images: of each prompt, whose tokens come beside the ``isl`` of text.
        image_size: pixels along an edge of these; 0 for the size of the model's tower.
        sampling: kernels that choose the next token, "greedy", "random" or "top-p".
        expert_skew: exponent of the power law by which tokens choose experts, 0 for even odds; None
            for even odds in steps of few tokens and 1.01 in those of prompts.
        offline: whether no server is before the engine, as in its own benchmark.
        recorded_tokens: of the largest step that is recorded as a graph; None for the runtime's
            default.
        host_launch: what the host takes to launch one kernel, as ``30us`` or in seconds, of an
            engine that waits for each; by default the target's or a prior.
        reserve: memory of each device to hold back, as ``2GiB`` or ``5%``.
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
    reserve: str | int | Reserve


def with_additions(
    model: LanguageModel, runtime: str, added: Additions, *, has_trace: bool = False
) -> LanguageModel:
    """The model with all that is added.

    Raises:
        PerfcError: a number that is none, or something that the model or the runtime has not.
    """
    for name in added.keys() - Additions.__annotations__.keys():
        hint = f"there are {', '.join(Additions.__annotations__)}"
        raise ParseError(f"no {name!r}", where="llm", hint=hint)
    model = with_adapters(model, added.get("lora_rank", 0), added.get("loras", 0), runtime)
    sampling = added.get("sampling", "")
    if isinstance(sampling, Sampling):
        model = replace(model, sampling=sampling)
    elif sampling:
        model = replace(model, sampling=member(Sampling, sampling, "--sampling"))
    model = with_skew(model, added.get("expert_skew"))
    edge = added.get("image_size", 0)
    has_images = checked(added.get("images", 0), edge, has_trace)
    return with_images(model, edge) if has_images else model


def with_skew(model: LanguageModel, skew: float | None) -> LanguageModel:
    """The model whose tokens choose experts by a power law.

    Raises:
        PerfcError: the exponent is none, or the model has no experts.
    """
    if skew is None:
        return model
    if not 0 <= skew <= MOST_SKEW:
        raise ParseError(
            f"an exponent of {skew:g}", where="--expert-skew", hint=f"0 to {MOST_SKEW:g}"
        )
    every = [m for stack in model.stacks for layer in stack.layers for m in mixers(layer)]
    if not any(isinstance(m, Experts) for m in every):
        raise ParseError(f"{model.name} has no experts", where="--expert-skew", hint="leave it out")
    return replace(model, expert_skew=skew)


def of_host(added: Additions) -> tuple[float | None, int | None]:
    """Seconds of a host for a launch, and tokens of the largest recorded step; None if not said.

    Raises:
        ParseError: the first is no duration.
    """
    stated = added.get("host_launch")
    launch_s = None if stated is None else seconds_of(stated, "--host-launch")
    return launch_s, added.get("recorded_tokens")


def with_adapters(model: LanguageModel, rank: int, count: int, runtime: str) -> LanguageModel:
    """The model with so many adapters resident.

    Raises:
        PerfcError: a number that is none, or a runtime that mixes no adapters in a batch.
    """
    if bool(rank) is not bool(count):
        raise ParseError(
            "adapters need a rank and how many there are", where="--loras",
            hint="as in --lora-rank 16 --loras 8",
        )  # fmt: skip
    if not 0 <= rank <= MOST_RANK or not 0 <= count <= MOST_ADAPTERS:
        hint = f"ranks to {MOST_RANK}, {MOST_ADAPTERS} adapters at most"
        raise ParseError(f"{count} adapters of rank {rank}", where="--loras", hint=hint)
    if count and not kind_of(runtime).adapters:
        offer = ", ".join(t.name for t in tables() if t.engine and t.engine.adapters)
        message = f"{runtime} mixes no adapters in a batch"
        raise ParseError(message, where="--loras", hint=f"{offer} do")
    return adapted(model, rank, count)
