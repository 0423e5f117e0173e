"""Describe one kernel on several machines: the JSON document of ``perfc op``."""

from __future__ import annotations

from collections.abc import Callable

from perfc.deployment import Deployment
from perfc.ir import Dim, Module, record
from perfc.ir.record import project
from perfc.passes.fusion.kernel import Kernel as FusedKernel

from .data_form import ComparisonView
from .rows import Comparison

SCHEMA = "perfc-op/1"


@record
class Kernels:
    """Work of the kernels of one run, in its precision.

    Args:
        flop: operations.
        mac: multiply-accumulates.
        read_bytes: compulsory bytes read.
        write_bytes: compulsory bytes written.
        count: number of kernels; several if the runtime has no single kernel for it.
    """

    flop: int
    mac: int
    read_bytes: int
    write_bytes: int
    count: int

    @classmethod
    def of(cls, module: Module, how: Deployment) -> Kernels:
        """Count the work in the model of one node, independent of the target.

        Helper launches depend on the target and are left out.
        """
        from perfc.api import analyze
        from perfc.ir import evaluate

        # any target: work and compulsory traffic do not depend on it
        report = analyze(module, "a100", deployment=how)
        kernels = [k for k in report.kernels.kernels if k.helper is None]
        env = report.env

        def total(of: Callable[[FusedKernel], Dim]) -> int:
            return sum(int(evaluate(of(k) * k.repeat, env)) for k in kernels)

        return cls(
            total(lambda k: k.work.flop),
            total(lambda k: k.work.mac),
            total(lambda k: k.traffic.read_bytes),
            total(lambda k: k.traffic.write_bytes),
            count=len(kernels),
        )

    @property
    def bytes(self) -> int:
        """Return the bytes read and written."""
        return self.read_bytes + self.write_bytes


@record
class KernelView(ComparisonView):
    """A kernel, with one row per setting and machine.

    Args:
        order: sort order of the rows.
        slo_s: null.
        holds: null.
        is_predicted: True if times are predictions; otherwise they are at measured rates.
        rows: one row per setting and machine.
        left_out: empty.
        work: work of the kernels of one run.
    """

    work: Kernels

    @classmethod
    def with_work(cls, comparison: Comparison, work: Kernels) -> KernelView:
        """Create the view of a kernel from its rows and its work."""
        return project(cls, ComparisonView.of(comparison), work=work)
