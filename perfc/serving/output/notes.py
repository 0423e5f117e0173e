"""Write the notes of a serving report: what its reader must know in addition to the numbers.

`service.py` calls these functions once an engine and its simulated run are known.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from perfc.frontend.config import OF_IMAGES, LanguageModel, Sampling, WeightFormat, precision_of
from perfc.frontend.config.lowering.stack import tokens_of
from perfc.passes.runtimes import runtime
from perfc.view.report.names import runs_elsewhere
from perfc.view.report.units import plural, size_text, time_text

from ..cost.context import EMULATION_OPS
from ..engine import Engine, lacks
from ..host import is_measured_on
from ..simulation.load import Load
from ..simulation.simulate import SimulatedRun
from .report import WIDEST, IntervalFactors

STAND_INS = {WeightFormat.W8: "f8e4m3", WeightFormat.MXFP4: "f4e2m1"}
"""Storage formats and the element type that multiplies them; without it they are widened."""


def notes_of(engine: Engine, run: SimulatedRun, load: Load, users: int) -> tuple[str, ...]:
    """Return the notes of an engine under its part of a load, ``users`` users."""
    return (
        *_in_step(load, users),
        *_queued(engine, users),
        *_unrecorded(engine, run),
        *_unmeasured(engine),
        *_standing(engine),
    )


def _in_step(load: Load, users: int) -> tuple[str, ...]:
    """Return a note if equal lengths keep the users of a closed loop in lockstep."""
    if users < 2 or load.spread or load.lengths or load.is_batch:
        return ()
    return ("equal lengths keep users in step, so that prompts wait for each other: --spread 0.2",)


def wide_notes(engine: Engine, ttft: IntervalFactors, tpot: IntervalFactors) -> Iterator[str]:
    """Yield a note for each latency that is unknown, with the reason."""
    law = engine.law
    of_law = (ttft, law.ttft_low, law.ttft_high), (tpot, law.tpot_low, law.tpot_high)
    for name, (band, low, high) in zip(("to first", "per output"), of_law, strict=True):
        if band.is_unknown:
            # the host model alone may be too wide; otherwise the kernels are the reason
            is_spread = high > WIDEST * low
            why = f"measured runs of {engine.runtime} differ so much"
            if not is_spread:
                why = f"its kernels were not measured on {engine.machine.name}"
            yield f"times {name} token are not known within {WIDEST:g} ×: {why}"


def _unmeasured(engine: Engine) -> tuple[str, ...]:
    """Return a note if the version of the runtime was not measured, naming the stand-in."""
    law, version = engine.law, engine.version
    if law.is_of(version):
        return ()
    # the last assignment that applies is the most specific reason
    nearest = "no version was measured"
    if law.rows:
        nearest = "the measurements behind its host overhead state no version"
    if law.versions:
        nearest = f"host overhead taken from{_span(law.versions)}"
    return (f"{engine.runtime} {version} was not measured: {nearest}",)


def _span(versions: Sequence[str]) -> str:
    """Return the oldest and the newest version after a space, or "" if there are none."""
    return f" {' to '.join(dict.fromkeys((versions[0], versions[-1])))}" if versions else ""


def beyond_positions(model: LanguageModel, tokens: int) -> tuple[str, ...]:
    """Return a note if sequences of ``tokens`` tokens exceed the model's positions."""
    if not 0 < model.context < tokens:
        return ()
    return (f"{model.name} has {model.context:,} positions, and sequences have {tokens:,} tokens",)


def longest_notes(longest: int | None, fitting: int) -> tuple[str, ...]:
    """Return a note on the longest sequence: the one that fits for 0, or that it does not fit."""
    if longest == 0:
        return (f"--max-model-len auto is {fitting:,} tokens",)
    if longest is None or longest <= fitting:
        return ()
    return (f"a sequence of {longest:,} tokens does not fit, one of {fitting:,} does",)


def starting_notes(engine: Engine, longest: int | None, fitting: int) -> tuple[str, ...]:
    """Return notes if the engine starts with other settings than its defaults."""
    kind, model = engine.kind, engine.model
    # tokens of the family's largest image, and the budget that the runtime raises for it
    least, raised = kind.items.get(model.family, (0, 0))
    notes: tuple[str, ...] = ()
    if hosted_bytes := engine.offloaded_bytes:
        one_s, most_s = (engine.target_cost.offloaded_s(n) for n in (1, kind.token_budget))
        until = f" to {time_text(most_s)}" if one_s < most_s else ""
        notes += (f"{size_text(hosted_bytes)} in host memory: {time_text(one_s)}{until} a step",)
    if kind.host:
        notes += (f"keys and values in the memory of {kind.host}, which attends",)
    # a step must hold the largest image whole
    if least < raised == kind.token_budget:
        notes += (f"--token-budget {raised}, as an image or video of {least:,} tokens",)
    if longest is None and kind.checks_longest and 0 < fitting < model.context:
        notes += (f"--max-model-len {fitting} or less, not with its default of {model.context:,}",)
    return tuple([f"{engine.runtime} starts with {note}" for note in notes])


def _lacking(engine: Engine, code: str) -> str:
    """Return the machine or runtime that cannot multiply a type; "" if both can."""
    if not engine.machine.takes(code):
        return engine.machine.name
    return engine.runtime if lacks(engine.machine, engine.kind, code) else ""


def _queued(engine: Engine, users: int) -> tuple[str, ...]:
    """Return a note if the engine runs fewer sequences at once than it has users."""
    seats = engine.kind.max_num_seqs
    if users <= seats:
        return ()
    return (f"{seats:,} of {users:,} users run at once, the rest queue: --max-num-seqs",)


def _unrecorded(engine: Engine, run: SimulatedRun) -> tuple[str, ...]:
    """Return a note if decode steps exceed the largest recorded graph and that costs time."""
    limit, law = engine.cost.recorded, engine.law
    largest = max([s.decodes for s in run.strides if not s.chunks], default=0)
    if not law.launch_s or not limit or not engine.cost.launches((), largest):
        return ()
    return (f"steps of more than {limit:,} tokens launch kernel by kernel: --recorded-tokens",)


def _standing(engine: Engine) -> tuple[str, ...]:
    """Return the notes that hold for an engine under any load."""
    law, vendor = engine.law, engine.machine.vendor
    platform_note = runs_elsewhere(runtime(engine.runtime), engine.machine)
    read_parts = {OF_IMAGES} if engine.images else set()
    left_out = [part for part in engine.model.left_out if part not in read_parts]
    notes = [platform_note] if platform_note else []
    for stack in engine.model.encoders:
        tokens = tokens_of(stack, 1, engine.model.source).length
        # keys of the encoder do not grow with the answer: the memory plan has them as a state
        key_bytes = size_text(engine.memory(1, 1).demand.state_bytes)
        notes.append(f"the encoder reads {tokens:,} tokens of a request once: keys of {key_bytes}")
    assumed = engine.model.assumption
    notes += [f"{part} is not counted" for part in left_out if part != assumed]
    notes += [f"confidence low: {assumed} (--like FAMILY for another)"] if assumed else []
    # the engine computes in another 16-bit type than the model is stored in
    is_changed = precision_of(engine.model.dtype, None).half is not engine.precision.half
    if is_changed and (lacking_name := _lacking(engine, "bf16")):
        notes.append(f"{lacking_name} has no bf16: computed in f16")
    stored = engine.precision.weights, engine.precision.of_experts
    for form, narrow in STAND_INS.items():
        if form in stored and (lacking_name := _lacking(engine, narrow)):
            notes.append(f"{lacking_name} has no {narrow}: {form.value} weights are widened")
    cached = engine.precision.cached
    if cached in EMULATION_OPS and not engine.machine.takes(cached.code):
        notes.append(
            f"{engine.machine.name} has no {cached.code}: cached keys and values are converted"
        )
    if engine.model.adapters is not None:
        notes.append("adapters were not measured: their kernels are predicted as small matmuls")
    if skew := engine.model.expert_skew:
        notes.append(f"tokens choose experts by a power law of exponent {skew:g}")
    if engine.model.sampling is Sampling.TOP_P:
        notes.append(
            "sorting the vocabulary was not measured: at least one pass over it is counted"
        )
    if law.rows:
        notes.append(
            f"host overhead of {engine.runtime}{_span(law.versions)} fitted to "
            f"{plural(law.rows, 'published run')} of {plural(len(law.models), 'model')}"
            f"{'' if is_measured_on(law, vendor) else f', none of them on {vendor}'}"
        )
    else:
        launch = f"{time_text(law.launch_s)} per launch"
        waits = f"{launch} is assumed" if law.launch_s else "only kernels are counted"
        notes.append(f"host overhead of {engine.runtime} was not measured: {waits}")
    return tuple(notes)
