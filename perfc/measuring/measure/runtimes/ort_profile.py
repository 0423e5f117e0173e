"""onnxruntime's profile: one event for each execution of a node of the optimized graph."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from statistics import median

from perfc.errors import ParseError

from ..profile import Profile, ProfilerKind, RuntimeKernel, Sampled
from .events import Event, events, inner, number, text

SUFFIX = "_kernel_time"
"""Ending of the names of kernels' events in onnxruntime's profiles."""
CUT_S = 0.5e-6
"""Time that ONNX Runtime's durations lack on average: they are whole microseconds, rounded down."""
MOST_NAMES = 200_000
"""Maximum different names of kernels in a profile, each of which has a table of times."""


@dataclass(slots=True)
class ProfileReader:
    """Times of the events of a profile so far.

    Args:
        samples: times of nodes on the host, by name of the node.
        run_s: time of each whole run.
        run: number of the run that is being read.
        open: intervals of nodes in this run that no later node contained, as (begin, duration) in
            µs.
        providers: number of executions by execution provider, which names the device.
        on_device: times of kernels on a GPU, by name of the node that launched them.
        last: name of the last node, to which kernels without a parent belong.
    """

    samples: dict[str, Sampled] = field(default_factory=dict)
    run_s: list[float] = field(default_factory=list)
    run: int = 0
    open: list[tuple[float, float]] = field(default_factory=list)
    providers: dict[str, int] = field(default_factory=dict)
    on_device: dict[str, Sampled] = field(default_factory=dict)
    last: str = ""

    def event(self, e: Event) -> None:
        """Add one event; events come in the order of their ends."""
        name, dur = text(e, "name"), number(e, "dur")
        if dur is None or dur < 0:
            return
        category = text(e, "cat")
        if category == "Session" and name == "model_run":
            self.run_s.append(dur * 1e-6 + CUT_S)
            self.run += 1
            self.open.clear()
        elif category == "Node" and name.endswith(SUFFIX):
            self.node(e, name.removesuffix(SUFFIX), dur)
        elif category == "Kernel":
            parent = text(inner(e, "args"), "parent_name").removesuffix(SUFFIX) or self.last
            self.sample(self.on_device, parent, text(inner(e, "args"), "op_name"), dur * 1e-6)

    def node(self, e: Event, name: str, dur: float) -> None:
        """Add one execution of a node, without the time of its sub-graphs."""
        # a node with sub-graphs ends after the nodes in them, so that its event follows theirs:
        # nodes before it that began later lie inside
        begin = number(e, "ts") or 0.0
        below = 0.0
        while self.open and self.open[-1][0] >= begin:
            below += self.open.pop()[1]
        self.open.append((begin, dur))
        args = inner(e, "args")
        provider = text(args, "provider")
        self.providers[provider] = self.providers.get(provider, 0) + 1
        self.last = name
        op = text(args, "op_name")
        # other runtimes write this form with fractions of a microsecond
        lost_s = CUT_S if isinstance(e["dur"], int) else 0.0
        sampled = self.sample(self.samples, name, op, max(dur - below, 0.0) * 1e-6 + lost_s)
        members = args.get("members")
        if isinstance(members, list):
            sampled.members = tuple(map(str, members))

    def sample(self, where: dict[str, Sampled], name: str, op: str, time_s: float) -> Sampled:
        """Add a time under a name, and return all times under it."""
        sampled = where.get(name)
        if sampled is None:
            if len(where) >= MOST_NAMES:
                raise ParseError("more than 200,000 names of kernels in a profile")
            sampled = where[name] = Sampled(name, op)
        sampled.add(self.run, time_s)
        return sampled


def reading(path: str | os.PathLike[str]) -> ProfileReader:
    """Return the times of all events of a profile."""
    result = ProfileReader()
    for e in events(path):
        result.event(e)
    return result


def read(path: str | os.PathLike[str]) -> Profile:
    """Return the profile; its first run warms up and does not count where there are others.

    Raises:
        ParseError: no node ran.
    """
    trace = reading(path)
    last = max((r for s in trace.samples.values() for r in s.times_s), default=-1)
    runs = list(range(1, last + 1)) if last > 0 else [0]
    return profile(trace, runs)


def profile(trace: ProfileReader, runs: Sequence[int]) -> Profile:
    """Return the profile of the runs that count; times are those on the device if there are any."""
    kernels: list[RuntimeKernel] = []
    for name, sampled in trace.samples.items():
        timed = trace.on_device.get(name, sampled) if trace.on_device else sampled
        kernel = timed.kernel(list(runs))
        # times may be of the device, but operator and nodes are those of the node on the host
        kernels.append(replace(kernel, name=name, op=sampled.op, members=sampled.members))
    run_s = [trace.run_s[r] for r in runs if r < len(trace.run_s)]
    device = max(trace.providers, key=trace.providers.__getitem__, default="")
    return Profile(
        ProfilerKind.ORT, tuple(kernels), len(runs), median(run_s) if run_s else None, device
    )


def segments(
    path: str | os.PathLike[str], profiled: Sequence[tuple[int, int]]
) -> tuple[Profile, ...]:
    """Return the profiles of several bindings that ran one after the other in one session.

    Args:
        path: path of the profile.
        profiled: runs to skip and runs to count, for each binding.
    """
    trace = reading(path)
    profiles: list[Profile] = []
    start = 0
    for skip, count in profiled:
        profiles.append(profile(trace, range(start + skip, start + skip + count)))
        start += skip + count
    return tuple(profiles)
