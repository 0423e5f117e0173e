"""One kernel side by side on several machines, as data."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from perfc.ir.record import record

from .data_form import ComparisonView
from .rows import Comparison

if TYPE_CHECKING:
    from perfc.deployment import Deployment
    from perfc.ir.dim import Dim
    from perfc.ir.graph import Module
    from perfc.passes.fuse import Kernel as FusedKernel

SCHEMA = "perfc-op/1"


@record
class Kernels:
    """What the kernels of one run do, in the precision it is run in.

    Args:
        flop: operations.
        mac: multiply-accumulates.
        read_bytes: compulsory.
        write_bytes: compulsory.
        count: of kernels; more than one where the runtime has no single one for it.
    """

    flop: int
    mac: int
    read_bytes: int
    write_bytes: int
    count: int

    @classmethod
    def of(cls, module: Module, how: Deployment) -> Kernels:
        """Counted in the model of one node, which no target changes."""
        from perfc.api import analyze
        from perfc.ir.evaluate import evaluate

        report = analyze(module, "a100", deployment=how)
        kernels, env = report.kernels.kernels, report.env

        def total(of: Callable[[FusedKernel], Dim]) -> int:
            return sum(int(evaluate(of(k) * k.repeat, env)) for k in kernels)

        return cls(
            total(lambda k: k.work.flop), total(lambda k: k.work.mac),
            total(lambda k: k.traffic.read_bytes), total(lambda k: k.traffic.write_bytes),
            len(kernels),
        )  # fmt: skip

    @property
    def bytes(self) -> int:
        """Read and written."""
        return self.read_bytes + self.write_bytes


@record
class KernelView(ComparisonView):
    """A kernel, with a row for every machine and way of running.

    Args:
        order: what rows are sorted by.
        slo_s: null.
        holds: null.
        is_predicted: whether times are predictions; else they are at measured rates.
        rows: one for each way of running and machine.
        work: what the kernels of one run do.
    """

    work: Kernels

    @classmethod
    def beside(cls, found: Comparison, work: Kernels) -> KernelView:
        """What is said of a kernel and its rows."""
        rows = ComparisonView.of(found)
        return cls(rows.order, rows.slo_s, rows.holds, rows.is_predicted, rows.rows, work)
