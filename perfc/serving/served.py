"""Serve a load by the rank groups of an engine's copies, and return its views for a report.

`report_of` calls `served`, which simulates one group of each kind until it is steady.
"""

from __future__ import annotations

import math
from dataclasses import replace

from perfc.ir import record
from perfc.machine.parallel import Parallel

from .engine import Engine
from .simulation.arrivals import Workload
from .simulation.disaggregated import simulate_disaggregated
from .simulation.load import Load
from .simulation.scheduler import Limits
from .simulation.simulate import SimulatedRun, simulate
from .simulation.steady_state import Server, Steady, steady


def served(
    engine: Engine, load: Load, engines: int, prefill: tuple[int, Parallel | None] = (0, None)
) -> Steady:
    """Return the steady state of a load on copies of an engine.

    Each pipeline stage works on the sequences of another group, so a copy has as many groups as
    stages, which share its KV cache and its sequence slots. Requests of one batch start together:
    they form no more groups than their prompts take steps, because a scheduler fills a step first.

    Args:
        engine: each copy.
        load: load on all copies.
        engines: number of copies.
        prefill: GPUs of disaggregated prefill, 0 for none, and the degrees of a prefill engine,
            None for those of a copy, or all GPUs where they are fewer.

    Raises:
        PerfcError: as `steady`, or too few GPUs compute prompts.
    """
    isl, osl = load.longest
    copies, depth = engines * engine.parallel.attention_data, engine.parallel.pipeline
    stages = min(depth, max(1, engine.memory(isl, osl).sequences(isl + osl)))
    if load.is_whole and load.requests <= load.concurrency:
        tokens = math.ceil(load.requests / copies) * isl
        # a batch that fits one step is one group: other stages idle
        stages = min(stages, math.ceil(tokens / engine.kind.token_budget))
    groups = copies * stages
    limits = engine.limits(isl, osl, stages)
    # a closed loop of few users leaves groups without requests
    busy_groups = min(groups, load.concurrency or groups)
    gpus, degrees = prefill

    def serve(workload: Workload) -> SimulatedRun:
        if gpus:
            default_degrees = Parallel(gpus) if gpus < engine.ranks else engine.parallel
            worker = replace(engine, parallel=(degrees or default_degrees).checked())
            workers = gpus // worker.ranks if worker.memory(isl, 1).fits(isl + 1) else 0
            at_once = workers * worker.parallel.sequence_groups / busy_groups
            return simulate_disaggregated(workload, limits, engine.cost, worker, at_once)
        return simulate(workload, limits, engine.cost)

    # users whose prompts are being computed take no slots of these engines with disaggregated
    # prefill: only the number of users limits those in the system
    slots = Limits(load.concurrency) if gpus and load.concurrency else limits
    result = steady(load, groups, Server(serve, slots, engine.law.before_s))
    # pipeline stages without a group of sequences are idle
    return replace(result, idle=result.idle + copies * (depth - stages))


@record
class BatchTimes:
    """A batch without a server: given requests from the first step to the last token.

    Args:
        requests: requests of all copies; those in progress if no number is given.
        time_s: predicted time.
        low_s: lower end of the 90 % prediction interval.
        high_s: its upper end.
    """

    requests: int
    time_s: float
    low_s: float
    high_s: float

    @classmethod
    def of(cls, result: Steady, load: Load, low: float, high: float) -> BatchTimes:
        """Return the view of a batch; ``low`` and ``high`` are its interval as factors."""
        requests, time_s = load.concurrency, load.concurrency / result.requests_per_s
        if load.is_whole:
            requests = sum([s.groups * len(s.served) for s in result.shares])
            # the batch ends with the slowest group
            time_s = max(len(s.served) / s.requests_per_s for s in result.shares)
        return cls(requests, time_s, time_s * low, time_s * high)


@record
class SimulatedLoad:
    """Length of the simulation and confidence in its means.

    Args:
        requests: simulated requests of one rank group.
        warm_up_requests: requests at the start that are left out.
        half_width: relative half-width of the 95 % confidence interval of mean TTFT and request
            time, by batch means; None if the run is one batch or not steady.
        capacity_requests_per_s: highest rate that all copies sustain; None in a closed loop.
        is_late: True if the load exceeds that rate, so that TTFT grows without bound.
    """

    requests: int
    warm_up_requests: int
    half_width: float | None
    capacity_requests_per_s: float | None
    is_late: bool = False

    @classmethod
    def of(cls, result: Steady) -> SimulatedLoad:
        """Return the view of the largest share, which stands for all groups."""
        share = result.shares[0]
        width = round(share.half_width, 4) if math.isfinite(share.half_width) else None
        capacity = result.capacity_per_s or None
        return cls(len(share.run.served), share.first, width, capacity, result.is_late)


def late_notes(result: Steady, rate: float) -> tuple[str, ...]:
    """Return a note if the engines cannot sustain the request rate."""
    if not result.is_late:
        return ()
    count = len(result.shares[0].run.served)
    return (
        f"cannot keep up above {result.capacity_per_s:.3g} requests/s: at {rate:g} the queue grows "
        "without bound; times to first token are those of the first "
        f"{count:,} requests per replica",
    )
