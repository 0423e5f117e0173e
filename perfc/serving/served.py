"""A load on the groups of ranks of its engines, and how its run is described in a report."""

from __future__ import annotations

import math

from perfc.ir.record import record
from perfc.passes.runtimes import Batching

from .engine import Engine
from .simulation.apart import Prefill, served_apart
from .simulation.arrivals import Workload
from .simulation.load import Load
from .simulation.simulate import Run, simulate
from .simulation.steady_state import Server, Steady, at_once, steady


def served(engine: Engine, load: Load, engines: int, prefill_gpus: int = 0) -> Steady:
    """Returns a load as copies of an engine serve it.

    Each stage of a pipeline works on the sequences of another group, so that a copy has as many
    groups as stages, which share its pool and its seats. Requests of one batch start together: they
    make no more groups than their prompts take steps, as a scheduler fills a step first.

    Args:
        engine: each copy.
        load: on all of them.
        engines: copies side by side.
        prefill_gpus: that compute prompts apart from the decodes.

    Raises:
        PerfcError: as `steady`, or too few GPUs compute prompts.
    """
    isl, osl = load.longest
    copies, depth = engines * engine.parallel.attention_data, engine.parallel.pipeline
    stages = min(depth, max(1, engine.memory(isl, osl).sequences(isl + osl)))
    if load.is_batch and load.requests <= load.concurrency:
        tokens = math.ceil((load.requests or load.concurrency) / copies) * isl
        stages = min(stages, math.ceil(tokens / engine.kind.token_budget))
    groups = copies * stages
    limits = engine.limits(isl, osl, stages)
    busy = min(groups, load.concurrency or groups)

    def serve(workload: Workload) -> Run:
        if prefill_gpus:
            prefill = Prefill(engine, prefill_gpus // engine.ranks, busy)
            return served_apart(workload, limits, engine.cost, prefill)
        return simulate(workload, limits, engine.cost)

    # users whose answers are alike would stay in step where all prompts are computed first
    is_staggered = engine.kind.batching is Batching.PROMPTS_FIRST
    server = Server(serve, limits, engine.law.before_s, is_staggered)
    found = (at_once if load.is_batch else steady)(load, groups, server)
    return found.with_idle(copies * (depth - stages))


@record
class BatchView:
    """Requests that come at once, from the first step to the last token.

    Args:
        requests: of all copies.
        time_s: expected.
        low_s: end of the interval that holds nine in ten.
        high_s: its other end.
    """

    requests: int
    time_s: float
    low_s: float
    high_s: float

    @classmethod
    def of(cls, found: Steady, low: float, high: float) -> BatchView:
        """Returns the view of a batch, with the ends of its interval as factors."""
        requests = sum([s.groups * len(s.served) for s in found.shares])
        time_s = max(len(s.served) / s.requests_per_s for s in found.shares)
        return cls(requests, time_s, time_s * low, time_s * high)


@record
class SimulationView:
    """How long the simulation was, and how certain its means are.

    Args:
        requests: of one group of ranks.
        warm_up_requests: in front of them that are left out.
        half_width: of the 95 % interval of the mean times to the first token and of an answer,
            relative, by batch means; None where the run is one batch or nothing is steady.
        capacity_requests_per_s: from which on all copies cannot keep up; None in a closed loop.
        is_late: whether more than that come, so that times to the first token grow without end.
    """

    requests: int
    warm_up_requests: int
    half_width: float | None
    capacity_requests_per_s: float | None
    is_late: bool = False

    @classmethod
    def of(cls, found: Steady) -> SimulationView:
        """Returns the view of the largest share."""
        share = found.shares[0]
        width = round(share.half_width, 4) if math.isfinite(share.half_width) else None
        capacity = found.capacity_per_s or None
        return cls(len(share.run.served), share.first, width, capacity, found.is_late)


def late_notes(found: Steady, rate: float) -> tuple[str, ...]:
    """Returns what a reader must know of a rate that the engines cannot serve."""
    if not found.is_late:
        return ()
    count = len(found.shares[0].run.served)
    return (
        f"cannot keep up from {found.capacity_per_s:.3g} requests/s: of {rate:g} the queue grows "
        f"without end, times to the first token are those of the first {count:,} of a copy",
    )
