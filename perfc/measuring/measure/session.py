"""Measure a model, or read an existing profile of it, and compare both with the analysis.

`measure_cases` writes a runnable copy, runs it in a worker process and attributes times to nodes.
`read_profile` does the last step alone.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from perfc.api import Report, analyze
from perfc.deployment.extents import AXES
from perfc.deployment.fields import thread_count
from perfc.errors import ParseError
from perfc.frontend import load
from perfc.frontend.reading.module_name import NamedModule, is_named
from perfc.ir import Module, walk
from perfc.kernels.backends import host
from perfc.passes.runtimes import Framework, standing_for
from perfc.view.report.units import Unit, quantity

from .matching.attribute import Attribution, attribute, by_names
from .matching.compare import Measurement, RuntimeSetting, compared
from .memory import AllocatorBehavior, check_room, need_of
from .process import (
    PROGRAM,
    MeasurementProtocol,
    TimedBinding,
    WorkerResults,
    check_installed,
    execute,
    workspace,
)
from .profile import Profile, ProfilerKind
from .profilers import read
from .runtimes.ort_profile import segments
from .tables.feeds import inputs_of
from .tables.weights import Runnable, runnable
from .trace import How, OptimizedNode, SourceNodes, optimized_nodes, trace

EXECUTED_BY = {
    ProfilerKind.ORT: Framework.ORT,
    ProfilerKind.KINETO: Framework.TORCH,
    ProfilerKind.TENSORRT: Framework.TENSORRT,
}
"""Framework by profile source."""
Optimized: TypeAlias = "tuple[tuple[OptimizedNode, ...], frozenset[str]]"
"""Nodes of a runtime's graph, and its stored tensors."""
LOAD_S = 0.2
"""Seconds during which the load of other programs is observed before and after a measurement."""
LEAST_SHARE = 0.5
"""Minimum fraction of a profile's time in kernels of the model; below, it is of another model."""


def measure(
    model: str | os.PathLike[str],
    target: str = "",
    *,
    dims: Mapping[str, int] | None = None,
    protocol: MeasurementProtocol | None = None,
) -> Measurement:
    """Run a model and compare the times of its kernels with the analysis.

    Args:
        model: path of the file; missing weights get random values.
        target: name or file of the machine it runs on; without, nothing is compared.
        dims: values of symbolic extents.
        protocol: runtime, device, threads, repetitions, limits.

    Raises:
        PerfcError: the model cannot be read or run.
    """
    return measure_cases(model, target, [dims or {}], protocol or MeasurementProtocol())[0]


def measure_cases(
    model: str | os.PathLike[str],
    target: str,
    bindings: Sequence[Mapping[str, int]],
    protocol: MeasurementProtocol,
    *,
    reports: Sequence[Report] = (),
) -> list[Measurement]:
    """Measure several bindings of a model's symbols in one process, smallest first.

    Args:
        model: path of the file.
        target: name or file of the machine; without, nothing is compared.
        bindings: values of symbols, each a case.
        protocol: runtime, device, threads, repetitions, limits.
        reports: analyses of the bindings, if the caller has them.

    Returns:
        One measurement for each case that was reached within the limit.
    """
    machine = target or default_target(protocol.device)
    where = os.fspath(model)
    is_module = is_named(where)
    if (is_module or where.endswith(PROGRAM)) and protocol.framework is not Framework.TORCH:
        raise ParseError(
            "PyTorch alone runs a module", where=where, hint="--runtime eager, or export it to ONNX"
        )
    analyzed = list(reports) or [
        analyze(model, machine, dims=b, runtime=table_of(protocol), dtype=protocol.dtype)
        for b in bindings
    ]
    # reasons that make a run impossible are checked before weights are written
    for report in analyzed:
        check_stored(report)
    nodes = sum(1 for _ in walk(analyzed[0].source.graph))
    check_installed(protocol.framework)
    allocator = allocator_of(protocol)
    needs = (need_of(r.source, r.env, allocator) for r in analyzed)
    warnings = {check_room(need, where) for need in needs} - {""}
    with workspace() as place:
        given = program_of(model, analyzed[0], place) if is_module else model
        ready = runnable(given, place, protocol.seed)
        cases = [inputs_of(r.source, r.env) for r in analyzed]
        before = load_of_others(protocol.device)
        outcome = execute(ready, place, cases, protocol, nodes)
        warnings |= load_note(max(before, load_of_others(protocol.device)))
        profiles = profiles_of(outcome)
        optimized = None
        if outcome.optimized is not None:
            optimized = optimized_nodes(str(outcome.optimized))
        notes = (*notes_of(ready, outcome), *sorted(warnings))
        return [
            together(report, case, profile, optimized, outcome, protocol, notes, bool(target))
            # there are fewer cases than bindings if time ran out
            for report, case, profile in zip(analyzed, outcome.cases, profiles, strict=False)
        ]


def program_of(model: str | os.PathLike[str], report: Report, folder: Path) -> Path:
    """Return the program of a module by name, written to a folder."""
    from perfc.frontend.pytorch.named import read_export

    named = model if isinstance(model, NamedModule) else NamedModule(os.fspath(model))
    sizes = dict(report.deployment.dims)
    if report.source.symbols:  # a program with a symbolic batch serves all sizes
        sizes.pop("batch", None)
    path = folder / f"model{PROGRAM}"
    # an export is a line of JSON and the archive of the program
    path.write_bytes(read_export(named, sizes, lambda entry: entry.partition(b"\n")[2]))
    return path


def load_of_others(device: str) -> float:
    """Return the fraction of all CPUs that other programs use; 0 for accelerators."""
    if not device.startswith("cpu"):
        return 0.0
    others = host.Others()  # counts from here
    time.sleep(LOAD_S)
    return others.share() or 0.0


def load_note(share: float) -> set[str]:
    """Return a note if other programs used the CPUs during a measurement."""
    if share <= host.busy_share():
        return set()
    return {f"other programs used {host.cores_used(share)}: kernels took longer than they do alone"}


def check_stored(report: Report) -> None:
    """Reject sizes for constant extents in the file, which runtimes cannot change.

    Raises:
        ParseError: such a size.
    """
    requested = [name for name in AXES if name in report.deployment.dims]
    if isinstance(report.model, Module) or not requested:
        return
    stored = {s.name for s in load(report.model).symbols}
    for name in requested:
        if name in report.given and name not in stored:
            hint = f"export it with a symbol as its {AXES[name][0]}"
            raise ParseError("the file has a number there", where=f"--{name}", hint=hint)


def default_target(device: str) -> str:
    """Return a substitute target for an unnamed CPU, which distinguishes its kernels."""
    if device.startswith("cpu"):
        return "generic-x86-64"
    raise ParseError(f"which machine is {device}?", where="--target", hint="as in --target h100")


def table_of(protocol: MeasurementProtocol) -> str:
    """Return the fusion table of the runtime."""
    device, _, _ = protocol.device.partition(":")
    return protocol.table or standing_for(protocol.framework, device).name


def allocator_of(protocol: MeasurementProtocol) -> AllocatorBehavior:
    """Return the allocator of the run."""
    if protocol.device != "cpu":
        return AllocatorBehavior.DEVICE
    return (
        AllocatorBehavior.RETURNED
        if protocol.framework is Framework.TORCH
        else AllocatorBehavior.ARENA
    )


def profiles_of(outcome: WorkerResults) -> tuple[Profile | None, ...]:
    """Return the kernel times of each case; None if it was not profiled."""
    if outcome.profile is None or len(outcome.profiled) < len(outcome.cases):
        return (None,) * len(outcome.cases)
    return segments(outcome.profile, outcome.profiled)


def origins_of(
    optimized: Optimized | None, profile: Profile, report: Report
) -> dict[str, SourceNodes]:
    """Return the ONNX nodes of the runtime's kernels; by name if it wrote no graph."""
    if optimized is None:
        return by_names(profile, report)
    nodes, stored = optimized
    traced = trace(nodes, stored, report.source.graph)
    return neighbours(profile, inlined(profile, nodes, traced))


def inlined(
    profile: Profile, nodes: Sequence[OptimizedNode], origins: Mapping[str, SourceNodes]
) -> dict[str, SourceNodes]:
    """Attribute kernels of functions that the runtime expands after writing its graph.

    Nodes of a function get new names, as many for each call; the calls themselves are never timed.
    """
    timed = {k.name for k in profile.kernels}
    known = {n.name for n in nodes}
    silent = [n for n in nodes if n.name not in timed and n.name in origins]
    added = [k for k in profile.kernels if k.name not in known]
    result = dict(origins)
    if silent and added and len(added) % len(silent) == 0:
        per_call = len(added) // len(silent)
        for i, k in enumerate(added):
            result[k.name] = replace(origins[silent[i // per_call].name], how=How.NAMED)
    return result


def notes_of(model: Runnable, outcome: WorkerResults) -> tuple[str, ...]:
    """Return notes on the conditions of the run."""
    notes = []
    if model.is_random:
        notes.append("weights that the file does not hold are random")
    if any(not c.is_finite for c in outcome.cases):
        notes.append("with these weights results are not finite")
    if outcome.error:
        notes.append(f"not all was measured: {outcome.error}")
    return tuple(notes)


def together(
    report: Report,
    case: TimedBinding,
    profile: Profile | None,
    optimized: Optimized | None,
    outcome: WorkerResults,
    protocol: MeasurementProtocol,
    notes: tuple[str, ...],
    has_target: bool,
) -> Measurement:
    """Build the measurement of one case."""
    setting = RuntimeSetting(
        protocol.framework.value, outcome.version, protocol.device, protocol.threads
    )
    if profile is None:
        attribution = Attribution((), (), 0.0)
    else:
        attribution = attribute(profile, origins_of(optimized, profile, report), report)
    return Measurement(
        report,
        setting,
        compared(attribution, report),
        attribution,
        total_s=case.time_s,
        total_iqr_s=case.iqr_s,
        best_s=min(case.times_s),
        runs=len(case.times_s),
        peak_rss_bytes=case.peak_rss_bytes,
        base_rss_bytes=outcome.base_rss_bytes,
        prediction_s=report.prediction.total.time_s,
        has_target=has_target,
        notes=notes,
    )


def read_profile(
    model: str | os.PathLike[str],
    path: str | os.PathLike[str],
    target: str = "",
    *,
    dims: Mapping[str, int] | None = None,
    layers: str | os.PathLike[str] | None = None,
) -> Measurement:
    """Compare an existing profile with the analysis.

    Args:
        model: the file that was profiled.
        path: path of the profile: onnxruntime, PyTorch or TensorRT; its content tells which.
        target: name or file of the machine it was made on; without, nothing is compared.
        dims: values of symbolic extents when it was made.
        layers: TensorRT's layer information, which names the nodes of each layer.

    Raises:
        PerfcError: no profile, or one of another model.
    """
    profile = read(path, layers)
    device = "cuda" if "cuda" in profile.device.lower() else "cpu"
    framework = EXECUTED_BY[profile.source]
    table = standing_for(framework, device).name
    machine = target or default_target(device)
    report = analyze(model, machine, dims=dims, runtime=table)
    if profile.source is ProfilerKind.KINETO:
        from .matching.align import aligned

        origins = aligned(profile, report, path)
    else:
        origins = by_names(profile, report)
    origins = neighbours(profile, origins)
    attribution = attribute(profile, origins, report)
    if certain_share(profile, origins) < LEAST_SHARE:
        part = quantity(certain_share(profile, origins), Unit.SHARE)
        raise ParseError(
            f"a profile of another model: {part} of its time is found in {Path(model).name}",
            where=os.fspath(path),
        )
    total = profile.run_s if profile.run_s is not None else profile.kernel_s
    # a profile has neither version nor threads: the profiler's name and 0 stand for them
    setting = RuntimeSetting(framework.value, profile.source.value, profile.device or device, 0)
    return Measurement(
        report,
        setting,
        compared(attribution, report),
        attribution,
        total_s=total,
        total_iqr_s=0.0,
        best_s=total,
        runs=profile.runs,
        peak_rss_bytes=0,
        base_rss_bytes=0,
        prediction_s=report.prediction.total.time_s,
        is_whole=profile.run_s is not None,
        has_target=bool(target),
        notes=(f"times are from {os.fspath(path)}",),
    )


def certain_share(profile: Profile, origins: Mapping[str, SourceNodes]) -> float:
    """Return the fraction of a profile's time whose nodes are named in the model."""
    # kernels that were only placed next to another one prove nothing
    certain = sum(
        k.time_s
        for k in profile.kernels
        if k.name in origins and origins[k.name].how is not How.INSERTED
    )
    return certain / profile.kernel_s


def neighbours(profile: Profile, origins: Mapping[str, SourceNodes]) -> dict[str, SourceNodes]:
    """Attribute kernels without a node, as inserted copies, to the kernel before or after."""
    result = dict(origins)
    for order in (profile.kernels, profile.kernels[::-1]):
        last: SourceNodes | None = None
        for k in order:
            if k.name in result:
                last = result[k.name]
            elif last is not None:
                result[k.name] = replace(last, how=How.INSERTED)
    return result


def check_device(device: str) -> None:
    """Reject an invalid device.

    Raises:
        ParseError: neither ``cpu`` nor ``cuda:N``.
    """
    if not re.fullmatch(r"cpu|cuda(:\d{1,3})?", device):
        raise ParseError(f"no device {device!r}", where="--device", hint="cpu, cuda:0, cuda:1, …")


def threads_of(text: str) -> int:
    """Parse a number of threads, or ``all``.

    Raises:
        ParseError: neither.
    """
    return thread_count(text) or len(host.processors())
