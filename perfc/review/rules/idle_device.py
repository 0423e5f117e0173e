"""PF504: a trace whose device waits for the host."""

from __future__ import annotations

import re
from collections.abc import Iterator

from perfc.measuring.trace.analyses.host import HostSegments, span_of
from perfc.measuring.trace.analyses.idle import Cause, cause_of, gaps_of
from perfc.review.lint.finding import Finding
from perfc.review.lint.traced import TracedSubject, TraceRule, seconds
from perfc.view.report.units import plural, share

WAITED = Cause.SYNCHRONIZATION
"""Cause of the time in which the host waits for the device."""
_TO_HOST = re.compile(r"DtoH|-> Host")
"""Copies to the host in names of kernels."""
SHORT_NS = 5_000
"""Time below which a kernel is shorter than its launch by an eager framework."""


class IdleDevice(TraceRule):
    """A device of a trace that waits for launches, or for a host that waited for it.

    What it does:
        Sums the idle time between kernels whose launch is recorded, which saves at most that time,
        and the part that begins while the host synchronizes, by the operator that does.

    Why is this bad:
        A launch takes microseconds of the host, however small the kernel. A host that waits for the
        device has no launches queued when it goes on.

    Example:
        if loss.item() > limit: ...               # waits for all kernels, in every step

    Use instead:
        step = torch.compile(step, mode="reduce-overhead")     # CUDA graphs; or a larger batch
        losses.append(loss.detach())                           # read them once, later

    Source:
        PyTorch, Performance tuning guide: avoid unnecessary CPU-GPU synchronization.
    """

    code = "PF504"

    def check_trace(self, subject: TracedSubject) -> Iterator[Finding]:
        """Yield a finding about launches, and one for each operator that synchronizes."""
        idle_ns = max((d.late_ns + d.pending_ns for d in subject.summary.devices), default=0)
        rows = subject.summary.trace.launches
        short = sum(ns < SHORT_NS for ns in rows.duration_ns)
        if idle_ns:
            gain = subject.saves(idle_ns)
            number = plural(len(rows), "launch", "launches")
            yield self.at(
                "",
                f"the device waits {seconds(idle_ns)} ({share(gain.share)}) for {number}, of which "
                f"{short:,} are shorter than {seconds(SHORT_NS)}",
                "record a CUDA graph (torch.compile(mode='reduce-overhead')), fuse, or use a "
                "larger batch",
                gain,
            )
        for name, (count, waited_ns) in waits(subject).items():
            yield self.at(
                name.removeprefix("aten::"),
                f"the host waits for the device: {plural(count, 'time')}, the device then for "
                f"{seconds(waited_ns)}",
                "leave results on the device (no item, cpu, nonzero or synchronize in the step), "
                "or read them later and non_blocking",
                subject.saves(waited_ns),
            )


def waits(subject: TracedSubject) -> dict[str, tuple[int, int]]:
    """Return number and idle time of the gaps for which the host had waited for the device.

    They follow a copy to the host, or the host synchronized in them. They are summed by the
    operator that did, or by the call outside of operators.
    """
    trace = subject.summary.trace
    if trace.host is None or not subject.streams:
        return {}
    segments, rows = HostSegments.of(trace), trace.launches
    names, calls = trace.kernels, trace.calls
    gaps: dict[str, tuple[int, int]] = {}
    for before, begin, row in gaps_of(trace):
        span = span_of(trace, row)
        # a launch from before the gap did not wait for the host
        if span is None or rows.host_ns[row] < begin:
            continue
        thread, *_ = span
        # what the thread did in the gap up to the launch
        tiles = segments.tile(thread, begin, rows.host_ns[row])
        ran = ((at, *cause_of(segments.labels[n])) for at, _, n in tiles if n >= 0)
        waited = next(((at, call) for at, cause, call in ran if cause is WAITED), None)
        name, call = names[rows.kernel[before]], rows.call[before]
        if not _TO_HOST.search(name):
            if waited is None:
                continue
            moment_ns, name = waited
            at = trace.host.operator_at(thread, moment_ns, moment_ns)
            call = trace.host.operators.columns[3][at] if at >= 0 else -1
        name = calls[call].operator if call >= 0 else name
        count, waited_ns = gaps.get(name, (0, 0))
        gaps[name] = count + 1, waited_ns + rows.start_ns[row] - begin
    return gaps
