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

from perfc.common.fitted import constants_next_to
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
