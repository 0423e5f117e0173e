"""PF506: communication of a trace during which nothing is computed."""

from __future__ import annotations

from collections.abc import Iterator

from perfc.measuring.trace.classes import TracedClass
from perfc.review.lint.finding import Finding
from perfc.review.lint.traced import TracedSubject, TraceRule, seconds
from perfc.view.report.units import plural, share


class ExposedCommunication(TraceRule):
    """Communication of a trace during which the device computes nothing.

    What it does:
        Takes the time in which only kernels of communication ran, of the device with most of it. It
        saves at most that time.

    Why is this bad:
        The device waits for the network, or for a slower rank, instead of computing.

    Example:
        loss.backward(); dist.all_reduce(gradients)         # after all gradients

    Use instead:
        model = DistributedDataParallel(model)              # bucket by bucket, during backward

    Source:
        Li et al., PyTorch Distributed (VLDB 2020), section 3.2.
    """

    code = "PF506"

    def check_trace(self, subject: TracedSubject) -> Iterator[Finding]:
        """Yield a finding if communication was exposed."""
        exposed_ns = max((d.exposed_ns for d in subject.summary.devices), default=0)
        sent = [k for k in subject.summary.kernels if k.class_name is TracedClass.COMMUNICATION]
        if not exposed_ns or not sent:
            return
        time_ns, count = sum(k.time_ns for k in sent), sum(k.launches for k in sent)
        # kernels are sorted by time: the longest names the finding
        yield self.at(
            sent[0].operator.removeprefix("aten::") or sent[0].kernel,
            f"communication alone for {seconds(exposed_ns)} of {seconds(time_ns)} "
            f"({share(exposed_ns / time_ns)}) in {plural(count, 'launch', 'launches')}",
            "overlap it with computation, send fewer bytes, or balance the ranks",
            subject.saves(exposed_ns),
        )
