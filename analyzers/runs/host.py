"""What the host of a framework takes to launch a run: a device that is faster waits for it.

Kernels are queued, so that a host that is ahead hides short ones behind long ones: the run is the
longer of what the device and what the host takes.

What a launch costs is the host's, and no data sheet of a GPU has it. It is what the deployment
says, else what `perfc calibrate` measured beside the target, else what hosts of such boards took
where whole models were timed.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.passes.runtimes import LaunchMode, Steps, recorded

from ..estimate.interval import Interval
from ..features.sheet import Sheet
from ..steps.kernels import listed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfc.machine import Machine
    from perfc.passes.runtimes import Runtime

    from ..estimate.estimate import RunEstimate
    from ..estimators import Execution
    from ..steps.setting import Setting

AMPERE = 8.0
"""Compute capability from which on hosts are those of newer boards."""
NEWER_HOST = Interval(20e-6, 30e-6, 48e-6)
"""From one operator of PyTorch to the next, in Python or TorchScript and in its dispatcher.

Of boards from Ampere on, in seconds. Latencies of models at batches 1 to 4 that six laboratories'
hosts of A10 and A100 launched: 21 to 40 µs a launch, casts counted (`whole_models`, grade A; the
means of hosts are 22 to 37). One eager kernel with its launch, 24 to 34 µs (NeuSight). Timm's
eager steps on desktop hosts: at most 30 µs.
"""
OLDER_HOST = Interval(28e-6, 52e-6, 76e-6)
"""The same of boards before: hosts of T4 and V100 take 42 to 76 µs, those of four boards that ran
NAS-Bench-201 30 to 38 µs (HELP)."""
OTHER_HOST = Interval(10e-6, 30e-6, 76e-6)
"""Of boards of other makers: nobody published models at small batches; an eager kernel with its
launch takes 12 to 14 µs on MI100, where it takes twice that on boards of NVIDIA (NeuSight)."""
COMPILED_HOST = Interval(8e-6, 15e-6, 24e-6)
"""The same under torch.compile, where no graph is recorded; assumed between what was published.

A generated kernel takes 7 to 9 µs and each call 33 to 44 µs beside (tritonbench #1017, of 2026);
convolutions and products go through the dispatcher too. With PyTorch 2.0.1 a launch of ResNet-50
took 36 to 41 µs on hosts of A100, V100 and T4 (transformers, `perf_torch_compile.md`); Triton's
launches took less than half of that from 3.0 on (triton #3638), which came with PyTorch 2.4.
"""
KNOWN_HOST = Interval(0.8, 1.0, 1.25)
"""Of a host whose launch is stated or measured: operators of one model are not those of another.

Of three hosts of one laboratory nine in ten runs took 0.75 to 1.22 times the median a launch, 55
runs of seven networks on A100, T4 and V100 (`whole_models`, grade A, eager, batches 1 to 4).
"""
TRAINING_LAUNCHES = 3.0
"""Launches of a training step for each of its forward pass; two of them backward."""


def eager_host(machine: Machine) -> Interval:
    """What the host takes for each launch of a framework where nobody says, by the board's age."""
    generation = Sheet(machine).generation
    if generation == 0:
        return OTHER_HOST
    return NEWER_HOST if generation >= AMPERE else OLDER_HOST


def stated_host(machine: Machine, host_launch_s: float | None) -> Interval | None:
    """What a deployment says that a launch takes, else what was measured with the target."""
    if host_launch_s is not None:
        return KNOWN_HOST * host_launch_s
    found = machine.device("host_launch_s")
    return None if found is None else KNOWN_HOST * found.value


def host_gap(machine: Machine, setting: Setting) -> Interval:
    """What the host takes for each launch of a forward pass; nothing on processors."""
    if machine.kind == "cpu":
        return Interval.exactly(0.0)
    own = COMPILED_HOST if setting.compiled else eager_host(machine)
    stated = stated_host(machine, setting.host_launch_s)
    own = stated if stated is not None else own
    return own * TRAINING_LAUNCHES if setting.training else own


def launch_cost(
    machine: Machine, runtime: Runtime, host_launch_s: float | None = None
) -> Interval | None:
    """What the host takes for each launch; None where it keeps no device waiting.

    Graphs are launched as a whole. A runtime that is no eager framework waits where a deployment
    says for what.
    """
    if machine.kind == "cpu" or runtime.launch is LaunchMode.GRAPH:
        return None
    if runtime.is_dispatched or launched_by(runtime) is not None:
        stated = stated_host(machine, host_launch_s)
        return stated if stated is not None else eager_host(machine)
    if host_launch_s is not None:
        return KNOWN_HOST * host_launch_s
    return COMPILED_HOST if runtime.steps is Steps.COMPILED else None


def launched_by(runtime: Runtime) -> Mapping[str, int] | None:
    """What the host of an eager engine launches for operators, as `EngineKind` has it."""
    return None if runtime.engine is None else runtime.engine.launched


def host_sides(execution: Execution, device_s: float) -> Interval:
    """What a run may take over what is expected, as nobody knows its host.

    Args:
        execution: of the run.
        device_s: what the run takes where its host keeps nobody waiting.
    """
    host = launch_cost(execution.machine, execution.kernels.runtime, execution.host_launch_s)
    if host is None:
        return Interval.exactly(1.0)
    time = Interval.exactly(device_s).slower_of(host * launches_of(execution))
    return time * (1 / time.mid) if time.mid > 0 else Interval.exactly(1.0)


def launches_of(execution: Execution) -> float:
    """How often the host launches: kernels, and under autocast the casts before them."""
    runtime = execution.kernels.runtime
    each = launched_by(runtime) or {}
    launches = math.fsum(
        b.launches * each.get(b.kernel.anchor.op.mnemonic, 1) for b in execution.bounds.kernels
    )
    if execution.autocast is None or execution.module is None or not runtime.is_dispatched:
        return launches
    listing = listed(
        execution.bounds, execution.kernels, execution.module, False, execution.autocast
    )
    casts = sum(1 for kernel in listing.table.kernels for _ in listing.casts(kernel))
    return launches + casts + listing.weights


def kept_waiting(device: RunEstimate, launches: float, host: Interval | None) -> RunEstimate:
    """A run whose host may be slower than the device.

    Args:
        device: the run of a device that never waits for its host.
        launches: of the run.
        host: what each takes, None where the host keeps nobody waiting.
    """
    if host is None:
        return device
    time = device.time.slower_of(host * launches)
    return replace(device, time=time, wait_s=device.wait_s + time.mid - device.time_s)


def host_note(launches: float, runtime: Runtime, host: Interval, *, is_stated: bool = False) -> str:
    """Why a run takes longer than its kernels."""
    better = "" if is_stated else "; --host-launch says better"
    ends = f"{1e6 * host.low:.0f} to {1e6 * host.high:.0f}"
    each = f"{1e6 * host.mid:.0f} µs each ({ends}{better})"
    graph = recorded(runtime)
    instead = f"; --runtime {graph.name} records them" if graph is not None else ""
    return f"the device waits for its host: {launches:.0f} launches, {each}{instead}"
