"""PF504: a trace whose device waits for the host."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from perfc.measuring.trace.facts import UNKNOWN_NS
from perfc.review.lint.finding import Finding
from perfc.review.lint.traced import TracedSubject, TraceRule, seconds
from perfc.view.report.units import plural, share

SHORT_NS = 5_000
"""Time of a kernel that is shorter than its launch by an eager framework."""


class IdleDevice(TraceRule):
    """A device of a trace that waits for launches or for copies to the host.

    What it does:
        Sums the idle time between kernels whose launch is recorded, which saves at most that time,
        and the part that follows a copy to the host, after which the host launched the next kernel.

    Why is this bad:
        A launch takes microseconds of the host, however small the kernel. The host waits for copies
        to it, so that no launches are queued when they end.

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
        """Yield a finding about launches, and one for each operator that copies to the host."""
        idle_ns = max((d.late_ns + d.pending_ns for d in subject.summary.devices), default=0)
        rows = subject.summary.trace.launches
        short = sum(ns < SHORT_NS for ns in rows.duration_ns)
        if idle_ns:
            gain = subject.saves(idle_ns)
            what = plural(len(rows), "launch", "launches")
            yield self.at(
                "",
                f"the device waits {seconds(idle_ns)} ({share(gain.share)}) for {what}, of which "
                f"{short:,} are shorter than {seconds(SHORT_NS)}",
                "record a CUDA graph (torch.compile(mode='reduce-overhead')), fuse, or use a "
                "larger batch",
                gain,
            )
        for name, (count, waited_ns) in waits(subject).items():
            yield self.at(
                name,
                f"the host waits for copies to it: {plural(count, 'time')}, the device then for "
                f"{seconds(waited_ns)}",
                "leave results on the device (no item, cpu or nonzero in the step), or read them "
                "later and non_blocking",
                subject.saves(waited_ns),
            )


def waits(subject: TracedSubject) -> dict[str, tuple[int, int]]:
    """Return number of copies to the host, and idle time after them, of each operator."""
    trace = subject.summary.trace
    rows, names, calls = trace.launches, trace.kernels, trace.calls
    found: dict[str, tuple[int, int]] = {}
    for order in trace.by_device():
        for at, after in pairwise(order):
            if "DtoH" not in names[rows.kernel[at]] and "-> Host" not in names[rows.kernel[at]]:
                continue
            end_ns = rows.start_ns[at] + rows.duration_ns[at]
            host_ns = rows.host_ns[after]
            if UNKNOWN_NS in (rows.start_ns[at], host_ns) or host_ns < end_ns:
                continue
            call = rows.call[at]
            name = calls[call].operator.removeprefix("aten::") if call >= 0 else "copy"
            count, waited_ns = found.get(name, (0, 0))
            found[name] = count + 1, waited_ns + max(rows.start_ns[after] - end_ns, 0)
    return found
