"""What a reader of a serving report must know beside its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from perfc.frontend.config import OF_IMAGES, LanguageModel, Sampling, WeightFormat, precision_of
from perfc.passes.runtimes import runtime
from perfc.report.names import runs_elsewhere
from perfc.report.units import Unit, plural, quantity

from .cost.context import EMULATION_OPS
from .engine import Engine, lacks
from .simulation.simulate import Run

STAND_INS = {WeightFormat.W8: "f8e4m3", WeightFormat.MXFP4: "f4e2m1"}
"""Formats that run in the place of others, and what a machine without it widens."""


def notes_of(engine: Engine, run: Run, users: int) -> tuple[str, ...]:
    """Of a load of so many users, as it ran."""
    return (
        *_queued(engine, users), *_unrecorded(engine, run), *_unmeasured(engine),
        *_standing(engine),
    )  # fmt: skip


def _unmeasured(engine: Engine) -> tuple[str, ...]:
    """That nobody measured the version of the runtime, and which law stands in for it."""
    law, version = engine.law, engine.version
    if law.is_of(version):
        return ()
    nearest = "no version was"
    if law.rows:
        nearest = "the runs that its host is fitted to state no version"
    if law.versions:
        nearest = f"the host is that of{_span(law.versions)}"
    return (f"nobody measured {engine.runtime} {version}: {nearest}",)


def _span(versions: Sequence[str]) -> str:
    """Versions from the oldest to the newest, a space before them."""
    return f" {' to '.join(dict.fromkeys((versions[0], versions[-1])))}" if versions else ""


def beyond_positions(model: LanguageModel, tokens: int) -> tuple[str, ...]:
    """That sequences of so many tokens are longer than a model has positions for."""
    if not 0 < model.context < tokens:
        return ()
    return (f"{model.name} has {model.context:,} positions, and sequences have {tokens:,} tokens",)


def _lacking(engine: Engine, code: str) -> str:
    """The machine or else the runtime that multiplies no such type; "" where both do."""
    if not engine.machine.takes(code):
        return engine.machine.name
    return engine.runtime if lacks(engine.machine, engine.kind, code) else ""


def _queued(engine: Engine, users: int) -> tuple[str, ...]:
    """That an engine takes fewer sequences at once than it has users."""
    seats = engine.kind.max_num_seqs
    if users <= seats:
        return ()
    return (f"{seats:,} of {users:,} users are served at once, others wait: --max-num-seqs",)


def _unrecorded(engine: Engine, run: Run) -> tuple[str, ...]:
    """That steps of decoding are too large to be recorded, where that costs anything."""
    most, law = engine.cost.recorded, engine.law
    largest = max([s.decodes for s in run.strides if not s.chunks], default=0)
    if not law.launch_s or not most or not engine.cost.launches((), largest):
        return ()
    return (f"steps of more than {most:,} tokens are launched kernel by kernel: --recorded-tokens",)


def _standing(engine: Engine) -> tuple[str, ...]:
    """Of the engine, whatever its load."""
    law = engine.law
    stranger = runs_elsewhere(runtime(engine.runtime), engine.machine)
    read = {OF_IMAGES} if engine.images else set()
    left_out = [part for part in engine.model.left_out if part not in read]
    found = [stranger] if stranger else []
    found += [f"{part} is not counted" for part in left_out]
    is_changed = precision_of(engine.model.dtype, None).half is not engine.precision.half
    if is_changed and (whose := _lacking(engine, "bf16")):
        found.append(f"{whose} has no bf16: computed in f16")
    stored = engine.precision.weights, engine.precision.of_experts
    for form, narrow in STAND_INS.items():
        if form in stored and (whose := _lacking(engine, narrow)):
            found.append(f"{whose} has no {narrow}: {form.value} weights are widened")
    cached = engine.precision.cached
    if cached in EMULATION_OPS and not engine.machine.takes(cached.code):
        found.append(
            f"{engine.machine.name} has no {cached.code}: cached keys and values are converted"
        )
    if engine.model.adapters is not None:
        found.append("nobody measured adapters: their kernels are told as products of few rows")
    if skew := engine.model.expert_skew:
        found.append(f"tokens choose experts by a power law of exponent {skew:g}")
    if engine.model.sampling is Sampling.TOP_P:
        found.append("nobody measured sorts of a vocabulary: one takes a pass over it at least")
    if law.rows:
        found.append(
            f"host of {engine.runtime}{_span(law.versions)} fitted to "
            f"{plural(law.rows, 'published run')} of {plural(len(law.models), 'model')}"
        )
    else:
        launch = f"{quantity(law.launch_s, Unit.SECOND)} a launch"
        waits = launch if law.launch_s else "kernels alone"
        found.append(f"nobody measured the host of {engine.runtime}: {waits}")
    return tuple(found)
