"""Host of a run: time per launch and per run, by runtime (``host.toml``).

Kernels are queued, so that launches of short kernels hide behind long ones (`timeline`).

The time per launch depends on the host, so that no data sheet of a GPU has it. It is the value that
the deployment gives, else the one that `perfc calibrate` measured for the target, else that of
measured hosts of such boards.
"""

from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from perfc.common.fitted import constants_next_to, read_records
from perfc.ir import Origin, record
from perfc.machine import Machine, Rate
from perfc.passes.roofline.roofline import GRAPH_GAP
from perfc.passes.runtimes import LaunchMode, Runtime, Steps, of_steps, recorded

from ..estimate.interval import Interval
from ..features.sheet import Sheet
from .timeline import RunHost

if TYPE_CHECKING:
    from collections.abc import Mapping

    from perfc.passes.roofline.ceilings import KernelBound

    from ..estimators import Execution
    from ..steps.setting import Setting

FILE = Path(__file__).with_name("host.toml")
"""Times of hosts by runtime; lab/perfc_lab/fits/hosts.py writes it."""
OTHER = "other"
"""Name of the entry for runtimes without measured runs that launch kernels one by one."""
KNOWN_HOST = Interval(*constants_next_to(__file__)["known_host"].numbers)
"""Ratio of a model's time per launch to the measured launch overhead of its host."""
TRAINING_LAUNCHES = 3.0
"""Launches of a training step per launch of its forward pass: the backward pass has a kernel for
the gradient of the input and one for that of the weights."""


@record
class HostTimes:
    """Times of the hosts of some runtimes on some boards: low, middle and high, in seconds.

    Args:
        runtimes: names of the runtimes.
        launch_s: time per operator that launches a kernel.
        helper_s: time per further launch of an operator: a conversion, a bias.
        fixed_s: time of a run besides its launches and kernels.
        generation: least compute capability of the boards; 0 for those of any vendor.
        boards: start of the names of the boards; "" for any.
        runs: number of measured runs that waited for their host.
        source: publications of the runs.
    """

    runtimes: tuple[str, ...]
    launch_s: tuple[float, float, float]
    helper_s: tuple[float, float, float]
    fixed_s: tuple[float, float, float]
    generation: float = 0.0
    boards: str = ""
    runs: int = 0
    source: str = ""


@cache
def known_hosts() -> tuple[HostTimes, ...]:
    """Return the times of all hosts, the most specific first: by board, then by generation."""
    hosts = read_records(FILE, HostTimes).values()
    # in reverse order names of boards precede "", and newer generations older ones
    return tuple(sorted(hosts, key=lambda h: (h.boards, h.generation), reverse=True))


def host_times(machine: Machine, runtime: Runtime) -> HostTimes | None:
    """Return the times of the default host; None if no kernel waits for a host.

    None waits on processors, and in recorded graphs without measured runs.
    """
    if machine.kind == "cpu":
        return None
    # ``eager:4`` is the runtime ``eager`` on four streams
    name = runtime.measured_name or runtime.name.partition(":")[0]
    # an engine that launches kernels one by one has the times of PyTorch's host
    if runtime.engine is not None and runtime.launch is LaunchMode.EAGER:
        name = of_steps(Steps.EAGER).name
    # a recorded graph has no launches by the host, so that `OTHER` does not apply
    rest = () if runtime.launch is LaunchMode.GRAPH else (OTHER,)
    generation = Sheet(machine).generation
    for wanted in (name, *rest):
        for host in known_hosts():
            is_board = machine.name.startswith(host.boards) and generation >= host.generation
            if is_board and wanted in host.runtimes:
                return host
    return None


def given_host(machine: Machine, host_launch_s: float | None) -> Interval | None:
    """Return PyTorch's time per launch by the deployment or the target; None without either."""
    if host_launch_s is None:
        measured = machine.device("host_launch_s")
        host_launch_s = None if measured is None else measured.value
    return None if host_launch_s is None else KNOWN_HOST * host_launch_s


def launch_cost(
    machine: Machine, runtime: Runtime, host_launch_s: float | None = None
) -> Interval | None:
    """Return the host time per launch of an operator; None if no launch waits for the host.

    The time per launch that a target or a deployment gives is that of eager PyTorch. Other runtimes
    keep their proportion to it: a host that launches PyTorch's kernels more slowly than measured
    hosts launches those of another runtime more slowly by the same factor.
    """
    times = host_times(machine, runtime)
    # the upper end is 0 where no launch waits
    if times is None or not times.launch_s[-1]:
        return None
    given = given_host(machine, host_launch_s)
    eager = of_steps(Steps.EAGER).name
    # a deployment gives the time of its runtime, a target that of eager PyTorch
    if given is not None and (host_launch_s is not None or eager in times.runtimes):
        return given
    launch = Interval(*times.launch_s)
    if given is None:
        return launch
    eager_times = host_times(machine, of_steps(Steps.EAGER))
    return launch if eager_times is None else launch * (given.mid / eager_times.launch_s[1])


def host_gap(machine: Machine, setting: Setting) -> Interval:
    """Return the host time per launch of a forward pass; 0 on processors.

    Training multiplies it by the launches of a step per launch of its forward pass.
    """
    runtime = of_steps(Steps.COMPILED if setting.compiled else Steps.EAGER)
    gap = launch_cost(machine, runtime, setting.host_launch_s) or Interval.exactly(0.0)
    return gap * TRAINING_LAUNCHES if setting.training else gap


def launched_by(runtime: Runtime) -> Mapping[str, int]:
    """Return the number of launches of operators under an engine, by mnemonic; others have one."""
    return {} if runtime.engine is None else runtime.engine.launched


def launch_counts(execution: Execution, helper: float = 0.0) -> tuple[float, ...]:
    """Return the number of the host's launches for each kernel, in units of a whole operator.

    Args:
        execution: execution of the run.
        helper: time of a launch within an operator over that of a whole operator.
    """
    runtime, bounds = execution.kernels.runtime, execution.bounds.kernels
    engine_launches = launched_by(runtime)

    def count(bound: KernelBound) -> float:
        """Return the number of launches of one kernel."""
        kernel = bound.kernel
        # launched inside of an operator, so that no operator is dispatched for it
        if kernel.helper is not None and not kernel.helper.is_dispatched:
            return bound.launches * helper
        return float(bound.launches * engine_launches.get(kernel.anchor.op.mnemonic, 1))

    return execution.kernels.once(
        ("run", len(bounds), helper), execution.bounds.env, lambda: tuple(map(count, bounds))
    )


def host_of(execution: Execution) -> RunHost | None:
    """Return the host of a run; None if no kernel waits for it, or there is no kernel.

    A launch overhead of 0 that the deployment gives means kernels without a host.
    """
    machine, runtime = execution.machine, execution.kernels.runtime
    times = host_times(machine, runtime)
    if times is None or not execution.bounds.kernels or execution.host_launch_s == 0:
        return None
    launch = launch_cost(machine, runtime, execution.host_launch_s) or Interval.exactly(0.0)
    helper = times.helper_s[1] / times.launch_s[1] if times.launch_s[1] else 1.0
    return RunHost(launch, launch_counts(execution, helper), Interval(*times.fixed_s))


def host_note(host: RunHost, runtime: Runtime, *, is_given: bool = False) -> str:
    """Return the note for users that the device waits for its host."""
    better = "" if is_given else "; --host-launch says better"  # the option gives the real time
    ends = f"{1e6 * host.launch.low:.0f} to {1e6 * host.launch.high:.0f}"
    each = f"{1e6 * host.launch.mid:.0f} µs each ({ends}{better})"
    graph = recorded(runtime)
    instead = f"; --runtime {graph.name} records them" if graph is not None else ""
    launches = math.fsum(host.launches)
    return f"the device waits for its host: {launches:.0f} launches, {each}{instead}"


_FITTED = constants_next_to(__file__)
ASSUMED_LAUNCH = Interval(*_FITTED["assumed_launch"].numbers)
"""Interval of an unmeasured launch overhead, relative to its value."""
MEASURED_LAUNCH = Interval(*_FITTED["measured_launch"].numbers)
"""Interval of a measured launch overhead, relative to its value."""
QUEUE_GAP = Interval(*_FITTED["queue_gap_s"].numbers)
"""Time between two kernels that the host launched one by one, ahead of the device, beyond the gap
in a CUDA graph; in seconds."""


def launch_gap(machine: Machine, launch: LaunchMode) -> Interval:
    """Return the shortest time from one launch to the next, in seconds.

    In a CUDA graph it is the target's ``launch_graph_s``, the time of its shortest kernel. Without
    that value it is an assumed share, `GRAPH_GAP`, of the host's launch overhead.
    """
    host = machine.launch_overhead_s
    if launch is not LaunchMode.GRAPH:
        return _between(host, 1.0)
    measured = machine.device("launch_graph_s")
    return _between(measured, 1.0) if measured is not None else _between(host, GRAPH_GAP)


def _between(rate: Rate | None, share: float) -> Interval:
    """Return a share of a launch overhead with the interval of its origin; 0 without one."""
    if rate is None:
        return Interval.exactly(0.0)
    is_sure = rate.origin is Origin.MEASURED and share == 1
    sides = MEASURED_LAUNCH if is_sure else ASSUMED_LAUNCH
    return sides * (rate.value * share)
