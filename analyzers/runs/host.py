"""Launch overhead of the host: a device that is faster waits for it.

Kernels are queued, so that launches of short kernels hide behind long ones (`timeline`).

The time per launch depends on the host, so no data sheet of a GPU has it. It is the value of the
deployment, else the value that `perfc calibrate` measured for the target, else that of hosts of
such boards in measured whole models.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from perfc.common.fitted import constants_next_to
from perfc.passes.runtimes import LaunchMode, Steps, recorded

from ..estimate.interval import Interval
from ..features.sheet import Sheet
from .timeline import Host

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfc.machine import Machine
    from perfc.passes.roofline.ceilings import KernelBound
    from perfc.passes.runtimes import Runtime

    from ..estimators import Execution
    from ..steps.setting import Setting

AMPERE = 8.0
"""Compute capability from which on hosts are those of newer boards."""
_FITTED = constants_next_to(__file__)
NEWER_HOST = Interval(*_FITTED["newer_host"].numbers)
"""Time per operator of eager PyTorch or TorchScript on hosts of GPUs from Ampere on, in seconds."""
OLDER_HOST = Interval(*_FITTED["older_host"].numbers)
"""The same on hosts of older GPUs."""
OTHER_HOST = Interval(*_FITTED["other_host"].numbers)
"""The same on hosts of GPUs of other makers."""
COMPILED_HOST = Interval(*_FITTED["compiled_host"].numbers)
"""The same under torch.compile without CUDA graphs."""
KNOWN_HOST = Interval(*_FITTED["known_host"].numbers)
"""Ratio of a model's time per launch to the measured launch overhead of its host."""
TRAINING_LAUNCHES = 3.0
"""Launches of a training step for each of its forward pass; two of them backward."""


def eager_host(machine: Machine) -> Interval:
    """Return the default host time per launch of an eager framework, by the board's generation."""
    generation = Sheet(machine).generation
    if generation == 0:
        return OTHER_HOST
    return NEWER_HOST if generation >= AMPERE else OLDER_HOST


def stated_host(machine: Machine, host_launch_s: float | None) -> Interval | None:
    """Return the host time per launch that the deployment gives, else the target's measured one.

    None if neither gives one.
    """
    if host_launch_s is not None:
        return KNOWN_HOST * host_launch_s
    measured = machine.device("host_launch_s")
    return None if measured is None else KNOWN_HOST * measured.value


def host_gap(machine: Machine, setting: Setting) -> Interval:
    """Return the host time per launch of a forward pass; 0 on processors.

    Training multiplies it by the launches of a step per launch of its forward pass.
    """
    if machine.kind == "cpu":
        return Interval.exactly(0.0)
    gap = COMPILED_HOST if setting.compiled else eager_host(machine)
    given = stated_host(machine, setting.host_launch_s)
    gap = given if given is not None else gap
    return gap * TRAINING_LAUNCHES if setting.training else gap


def launch_cost(
    machine: Machine, runtime: Runtime, host_launch_s: float | None = None
) -> Interval | None:
    """Return the host time per launch; None if the device never waits for the host.

    Graphs are launched as a whole. A runtime that is no eager framework waits only if the
    deployment gives a launch overhead, or if it is a compiled framework.
    """
    if machine.kind == "cpu" or runtime.launch is LaunchMode.GRAPH:
        return None
    if runtime.is_dispatched or launched_by(runtime) is not None:
        given = stated_host(machine, host_launch_s)
        return given if given is not None else eager_host(machine)
    if host_launch_s is not None:
        return KNOWN_HOST * host_launch_s
    return COMPILED_HOST if runtime.steps is Steps.COMPILED else None


def launched_by(runtime: Runtime) -> Mapping[str, int] | None:
    """Return the launches per operator of an engine's eager host; None for other runtimes."""
    return None if runtime.engine is None else runtime.engine.launched


def host_sides(execution: Execution, device_s: float) -> Interval:
    """Return the relative interval of a run's time that follows from its unknown host.

    Args:
        execution: execution of the run.
        device_s: time of the run without waiting for its host.
    """
    host = host_of(execution)
    if host is None:
        return Interval.exactly(1.0)
    time = Interval.exactly(device_s).slower_of(host.time)
    return time * (1 / time.mid) if time.mid > 0 else Interval.exactly(1.0)


def launch_counts(execution: Execution) -> tuple[float, ...]:
    """Return the host's launches for each kernel."""
    runtime, bounds = execution.kernels.runtime, execution.bounds.kernels
    each = launched_by(runtime) or {}

    def count(bound: KernelBound) -> float:
        kernel = bound.kernel
        if kernel.helper is not None and not kernel.helper.is_dispatched:
            return 0.0
        return float(bound.launches * each.get(kernel.anchor.op.mnemonic, 1))

    return execution.kernels.once(
        ("run", len(bounds)), execution.bounds.env, lambda: tuple(map(count, bounds))
    )


def launches_of(execution: Execution) -> float:
    """Return the number of launches of a run that a framework dispatches."""
    return math.fsum(launch_counts(execution))


def host_of(execution: Execution) -> Host | None:
    """Return the host of a run; None if the device never waits for it."""
    runtime = execution.kernels.runtime
    launch = launch_cost(execution.machine, runtime, execution.host_launch_s)
    return None if launch is None else Host(launch, launch_counts(execution))


def host_note(host: Host, runtime: Runtime, *, is_given: bool = False) -> str:
    """Return the note that a run takes longer than its kernels because of its host."""
    better = "" if is_given else "; --host-launch says better"
    ends = f"{1e6 * host.launch.low:.0f} to {1e6 * host.launch.high:.0f}"
    each = f"{1e6 * host.launch.mid:.0f} µs each ({ends}{better})"
    graph = recorded(runtime)
    instead = f"; --runtime {graph.name} records them" if graph is not None else ""
    launches = math.fsum(host.launches)
    return f"the device waits for its host: {launches:.0f} launches, {each}{instead}"
