"""Python interface to generation with a diffusion model on one device.

`diffusion` reads a pipeline of diffusers, estimates each of its parts and returns a report of time,
energy and memory of one batch.
"""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from typing import ClassVar

import perfc.api as api
from perfc.errors import ParseError
from perfc.frontend.config import ForwardStep, lower
from perfc.frontend.config.reader import described
from perfc.frontend.diffusion import (
    DiffusionPipeline,
    PartRole,
    Picture,
    PipelinePart,
    module_of,
    read_pipeline,
)
from perfc.frontend.diffusion.decoders import latent_of
from perfc.frontend.diffusion.denoisers import denoiser_of
from perfc.frontend.diffusion.pipeline import MOST_STEPS, Latent
from perfc.ir import Module, evaluate, record
from perfc.machine import Machine, capacity_of, load_machine
from perfc.passes.runtimes import TRAINING_DEFAULT
from perfc.view.result import Result

from .law import Law, PictureEnergy, law

RUNTIME = TRAINING_DEFAULT
"""diffusers runs PyTorch operator by operator."""
TARGET = "h100"
MOST_PICTURES = 1 << 12
"""Maximum pictures of a batch."""


@record
class PartView:
    """One part of a generation.

    Args:
        name: name of the part in the pipeline.
        class_name: class name of diffusers or transformers.
        calls: number of calls for the batch of pictures.
        batch: batch size of a call.
        launches: kernels of a call.
        call_s: time of a call.
        attention_s: time of the fused attention kernels of a call, without the host.
        time_s: time of all calls.
        floor_s: lower bound of the time of all calls; nothing is faster.
        energy_j: energy of all calls; None without a fitted power of such a board.
        weight_bytes: weights, which stay in memory.
        activation_bytes: most bytes of activations that are live at once.
    """

    name: str
    class_name: str
    calls: int
    batch: int
    launches: float
    call_s: float
    attention_s: float
    time_s: float
    floor_s: float
    energy_j: float | None
    weight_bytes: int
    activation_bytes: int


@record
class GenerationReport(Result):
    """A batch of pictures made on one device.

    Args:
        model: name of the pipeline.
        target: name of the machine.
        batch: pictures at once.
        picture: height, width and frames of a picture.
        steps: number of denoising steps.
        is_guided: whether each step denoises with the prompt and without.
        parts: parts of the pipeline, in their order.
        time_s: time of the batch.
        low_s: lower end of the 90 % prediction interval of the time.
        high_s: its upper end.
        floor_s: lower bound of the time, from rooflines.
        pictures_per_s: pictures per second of the batch.
        energy: energy of a picture; None without a fitted power of such a board.
        memory_bytes: weights of all parts with the largest activations.
        capacity_bytes: capacity in bytes of the device, as its driver reports.
        fits: whether ``memory_bytes`` is within ``capacity_bytes``, less a context and a margin.
        notes: what a reader must know.
    """

    layout: ClassVar[str] = "perfc.serving.generation.views:LAYOUT"
    model: str
    target: str
    batch: int
    picture: Picture
    steps: int
    is_guided: bool
    parts: tuple[PartView, ...]
    time_s: float
    low_s: float
    high_s: float
    floor_s: float
    pictures_per_s: float
    energy: PictureEnergy | None
    memory_bytes: int
    capacity_bytes: int
    fits: bool
    notes: tuple[str, ...] = ()


def diffusion(
    model: str | os.PathLike[str] | DiffusionPipeline,
    target: str | os.PathLike[str] = TARGET,
    *,
    batch: int = 1,
    steps: int = 0,
    height: int = 0,
    width: int = 0,
    frames: int = 0,
    is_guided: bool | None = None,
    by: Law | None = None,
) -> GenerationReport:
    """Generate a batch of pictures with a diffusion model on one device.

    Args:
        model: a folder as diffusers saves it, a shipped name, or a pipeline that was read.
        target: name of a target, or path of its file.
        batch: pictures at once.
        steps: number of denoising steps; this and what follows by default the pipeline's.
        height: in pixels.
        width: in pixels.
        frames: number of frames of a video.
        is_guided: whether each step denoises with the prompt and without.
        by: fit to use; by default the shipped one.

    Raises:
        ModelError: no such pipeline, or of a kind perfc does not know.
        ParseError: no such size or number.
        MissingExtraError: diffusers or PyTorch is not installed.
    """
    pipeline = model if isinstance(model, DiffusionPipeline) else read_pipeline(model)
    picture = pipeline.picture.with_sizes(height, width, frames)
    steps = steps or pipeline.steps
    guided = pipeline.is_guided if is_guided is None else is_guided
    within("--batch", batch, MOST_PICTURES)
    within("--steps", steps, MOST_STEPS)
    machine, fit = load_machine(target), by or law()
    parts = tuple(views(pipeline, machine, fit, picture, batch, steps, guided))
    time_s, floor_s = (math.fsum([getattr(p, n) for p in parts]) for n in ("time_s", "floor_s"))
    memory = sum(p.weight_bytes for p in parts) + max(p.activation_bytes for p in parts)
    reach, capacity = fit.reach(machine), capacity_of(machine)
    return GenerationReport(
        pipeline.name,
        machine.label,
        batch,
        picture,
        steps,
        guided,
        parts,
        time_s,
        low_s=max(time_s / reach, floor_s),  # no interval reaches below the bound
        high_s=time_s * reach,
        floor_s=floor_s,
        pictures_per_s=batch / time_s,
        energy=fit.energy_of([p.energy_j for p in parts], batch, machine),
        memory_bytes=memory,
        capacity_bytes=capacity.usable_bytes if capacity else 0,
        fits=memory <= (capacity.tensor_bytes if capacity else 0),
        notes=tuple(notes(fit, machine)),
    )


def within(option: str, number: int, most: int) -> None:
    """Raise an error if a number is out of range.

    Raises:
        ParseError: the number is not from 1 to ``most``.
    """
    if not 1 <= number <= most:
        raise ParseError(f"{number} is too few or too many", where=option, hint=f"1 to {most}")


def views(
    pipeline: DiffusionPipeline,
    machine: Machine,
    fit: Law,
    picture: Picture,
    batch: int,
    steps: int,
    guided: bool,
) -> Iterator[PartView]:
    """Yield the prediction of each part; ``guided`` doubles calls or their batch."""
    latent = latent_of(pipeline, picture)
    for part in pipeline.parts:
        match part.role:
            # the prompt is encoded once, and if guided an empty prompt too
            case PartRole.PROMPT:
                calls, each = 1 + guided, batch
            case PartRole.DECODER:
                calls, each = batch, 1  # pictures are decoded one by one
            # some pipelines denoise with and without the prompt in one call of twice the batch
            case PartRole.DENOISER if denoiser_of(part).is_doubled:
                calls, each = steps, batch * (1 + guided)
            case PartRole.DENOISER:
                calls, each = steps * (1 + guided), batch
        yield viewed(part, graph_of(part, latent, pipeline.tokens), calls, each, machine, fit)


def graph_of(part: PipelinePart, latent: Latent, tokens: int) -> Module:
    """Return the graph of a part: of a prompt encoder from its configuration, else by diffusers."""
    if part.role is not PartRole.PROMPT:
        return module_of(part, latent, tokens)
    from perfc.ir.graphs.rewrite import with_defaults

    module = lower(described(dict(part.config), part.name, part.name), ForwardStep.PREFILL)
    return with_defaults(module, {"seq": tokens})


def viewed(
    part: PipelinePart, module: Module, calls: int, batch: int, machine: Machine, fit: Law
) -> PartView:
    """Return the prediction of a part on a machine."""
    dims = {} if part.role is PartRole.DECODER else {"batch": batch}
    report = api.analyze(
        module,
        str(machine.path),
        runtime=RUNTIME,
        predictor="kernels",
        dims=dims,
        dtype="" if machine.takes("bf16") else "f16",
    )
    table = report.prediction
    launches = math.fsum(bound.launches for bound in report.roofline.kernels)
    floor_s = report.roofline.floor_s
    kernels = [bound.kernel for bound in report.roofline.kernels]
    of_attention = [
        (kernel, estimate.time.mid)
        for kernel, estimate in zip(kernels, table.kernels, strict=True)
        if kernel.pattern == "attention"
    ]
    attention_s = math.fsum([time_s for _, time_s in of_attention])
    call_s = max(fit.call_s(table.kernels_s, attention_s, launches, machine), floor_s)
    # the mean power of the kernels holds over the corrected time too
    energy = None if table.energy is None else table.energy.power_w * call_s * calls
    # scores inside fused attention are never in memory, only its results are
    fused_values = {v for kernel, _ in of_attention for node in kernel.nodes for v in node.results}
    fused_values -= {v for kernel, _ in of_attention for v in kernel.writes}
    activations, _ = report.liveness.peak(report.env, fused_values)
    stored = int(evaluate(report.weight_bytes, report.env))
    return PartView(
        part.name,
        part.class_name,
        calls,
        batch,
        launches,
        call_s,
        attention_s,
        time_s=call_s * calls,
        floor_s=floor_s * calls,
        energy_j=energy,
        weight_bytes=stored,
        activation_bytes=activations,
    )


def notes(fit: Law, machine: Machine) -> Iterator[str]:
    """Yield the limitations of a prediction that a reader must know."""
    if not machine.takes("bf16"):
        yield f"{machine.name} has no bf16: computed in f16"
    yield (
        f"kernels of PyTorch, fused attention times {fit.factor(machine):.2f}: learned from "
        f"{fit.rows} published generations of {fit.models} models"
    )
    if not fit.is_known(machine):
        yield f"no generation was measured on {machine.name}, but on {' and '.join(fit.targets)}"
