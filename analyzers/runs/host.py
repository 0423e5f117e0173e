"""What the host of a framework takes to launch a run: a device that is faster waits for it.

Kernels are queued, so that a host that is ahead hides short ones behind long ones: the run is the
longer of what the device and what the host takes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from perfc.ir.facts import Origin
from perfc.passes.runtimes import recorded

from ..estimate.interval import Interval

if TYPE_CHECKING:
    from perfc.machine import Machine
    from perfc.passes.runtimes import Runtime

    from ..estimate.estimate import RunEstimate
    from ..steps.setting import Setting

EAGER_HOST = Interval(8e-6, 20e-6, 40e-6)
"""From one operator of PyTorch to the next, in Python and in its dispatcher; seconds.

No data sheet has it. Networks of NAS-Bench-201 take 30 to 38 µs a launch at batch 1 on the hosts of
four GPUs (HELP's latencies); of timm's eager steps on desktop hosts the shortest take 30 µs a
launch, device included, so that these hosts are no slower. Middle and lower end are assumed.
"""
COMPILED_HOST = Interval(2e-6, 6e-6, 20e-6)
"""The same of a kernel that torch.compile generated, without recorded graphs; assumed."""
TRAINING_LAUNCHES = 3.0
"""Launches of a training step for each of its forward pass; two of them backward."""


def host_gap(machine: Machine, setting: Setting) -> Interval:
    """What the host takes for each launch of a forward pass; nothing on processors."""
    if machine.kind == "cpu":
        return Interval.exactly(0.0)
    own = COMPILED_HOST if setting.compiled else EAGER_HOST
    return own * TRAINING_LAUNCHES if setting.training else own


def kept_waiting(
    device: RunEstimate, launches: float, machine: Machine, runtime: Runtime
) -> RunEstimate:
    """A run whose host may be slower than the device; as it is where a target's was measured."""
    stated = machine.launch_overhead_s
    if not runtime.is_dispatched or machine.kind == "cpu":
        return device
    if stated is not None and stated.origin is Origin.MEASURED:
        return device
    time = device.time.slower_of(EAGER_HOST * launches)
    return replace(device, time=time, wait_s=device.wait_s + time.mid - device.time_s)


def host_note(launches: float, runtime: Runtime) -> str:
    """Why a run takes longer than its kernels."""
    each = f"{1e6 * EAGER_HOST.mid:.0f} µs each in a framework, assumed"
    graph = recorded(runtime)
    instead = f" (--runtime {graph.name})" if graph is not None else ""
    return f"the device waits for its host: {launches:.0f} launches, {each}{instead}"
