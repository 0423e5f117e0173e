"""Views of a report, collected once for all renderers."""

from __future__ import annotations

from collections.abc import Collection
from functools import cached_property
from typing import TYPE_CHECKING

from perfc.ir import frozen
from perfc.passes.roofline.roofline import launch_s

from .amounts import open_symbols
from .formats.document import Document, Section
from .memory_sections import pressure
from .memory_sections.pressure import Pressure, Repeated
from .sections import (
    assumptions,
    bottlenecks,
    coverage,
    kernels,
    operations,
    prediction,
    source,
)
from .sections.assumptions import Assumptions
from .sections.bottlenecks import Bottlenecks
from .sections.coverage import Coverage
from .sections.kernels import KernelRow
from .sections.modules import ModuleRow
from .sections.operations import ModuleTime, OperationTime
from .sections.prediction import Prediction
from .sections.verdict import Verdict
from .units import plural

if TYPE_CHECKING:
    from perfc.api import Report

    from .counts import Counts
    from .memory_sections.memory import Memory
    from .memory_sections.remedies import Remedy
    from .sections.critical import Critical
    from .sections.summary import ModelWork, Summary

NAMES = (
    "assumptions",
    "summary",
    "prediction",
    "coverage",
    "kernels",
    "modules",
    "source",
    "pressure",
    "ceilings",
    "critical",
    "bottlenecks",
    "memory",
    "counts",
)
DEFAULT = (
    "assumptions",
    "summary",
    "prediction",
    "kernels",
    "pressure",
    "critical",
    "bottlenecks",
    "memory",
)
TOP = 20
"""Kernels shown by default."""


@frozen
class Views:
    """Views of one analysis.

    Args:
        verdict: headline: time, interval, confidence, limits, throughput, memory, energy.
        assumptions: assumptions behind the numbers.
        summary: totals of the run.
        prediction: prediction of the run; None without predictions.
        coverage: share of the model with known cost.
        kernels: one row per kernel, in execution order.
        operations: time by kind of operation, longest first.
        modules: time by module of the model, longest first.
        module_tree: every module with its output, parameters, work and time, outer ones first.
        pressure: utilization of each unit and memory level.
        critical: kernels that take most of the time, with reasons.
        bottlenecks: time saved by lifting each ceiling, and possible changes.
        memory: live bytes during the run.
        counts: operations in the convention of another FLOP counter; None without ``--count-as``.
    """

    verdict: Verdict
    assumptions: Assumptions
    summary: Summary
    prediction: Prediction | None
    coverage: Coverage
    kernels: tuple[KernelRow, ...]
    operations: tuple[OperationTime, ...]
    modules: tuple[ModuleTime, ...]
    module_tree: tuple[ModuleRow, ...]
    pressure: tuple[Pressure, ...]
    critical: Critical
    bottlenecks: Bottlenecks
    memory: Memory
    counts: Counts | None = None

    @cached_property
    def remedies(self) -> tuple[Remedy, ...]:
        """Return the possible changes of `bottlenecks`."""
        return self.bottlenecks.remedies

    @cached_property
    def work(self) -> ModelWork:
        """Return the work of `summary`."""
        from .sections.summary import ModelWork

        return ModelWork(self.summary.executed_flop, self.summary.mac, self.summary.parameters)


class LazyViews(Views):
    """Views of one analysis, each computed when it is first read: few outputs show all."""

    def __init__(self, report: Report, *, predict: bool, count_as: str) -> None:
        self.report, self.predict = report, predict
        # fields of a frozen class cannot be set
        vars(self)["counts"] = None
        if count_as:
            from . import counts

            vars(self)["counts"] = counts.collect(report, count_as)

    @cached_property
    def verdict(self) -> Verdict:
        """Return the headline."""
        return Verdict.of(self.report, predict=self.predict)

    @cached_property
    def unset(self) -> dict[str, int]:
        """Return data-dependent symbols, which have no value, with their lower limits."""
        return open_symbols(self.report)

    @cached_property
    def assumptions(self) -> Assumptions:
        """Return the assumptions behind the numbers."""
        return assumptions.collect(self.report, self.unset)

    @cached_property
    def summary(self) -> Summary:
        """Return the totals of the run."""
        from .sections import summary

        return summary.collect(self.report, self.memory)

    @cached_property
    def work(self) -> ModelWork:
        """Return the work of the run, without the rest of the summary."""
        from .sections import summary

        return summary.work(self.report)

    @cached_property
    def prediction(self) -> Prediction | None:
        """Return the prediction of the run."""
        return prediction.collect(self.report) if self.predict else None

    @cached_property
    def coverage(self) -> Coverage:
        """Return the share of the model with known cost."""
        return coverage.collect(self.report, tuple(self.unset))

    @cached_property
    def kernels(self) -> tuple[KernelRow, ...]:
        """Return the kernels in execution order."""
        return kernels.collect(self.report, predict=self.predict)

    @cached_property
    def operations(self) -> tuple[OperationTime, ...]:
        """Return the time by kind of operation."""
        return operations.operations(self.kernels)

    @cached_property
    def modules(self) -> tuple[ModuleTime, ...]:
        """Return the time by module of the model."""
        return operations.modules(self.kernels)

    @cached_property
    def module_tree(self) -> tuple[ModuleRow, ...]:
        """Return every module of the model, outer ones first."""
        from .sections import modules

        return modules.collect(self.report, self.kernels)

    @cached_property
    def distinct(self) -> list[Repeated]:
        """Return the kernels that differ, for views that repeat none."""
        return pressure.repeated(self.report, self.kernels)

    @cached_property
    def pressure(self) -> tuple[Pressure, ...]:
        """Return the utilization of each unit and memory level."""
        return pressure.collect(self.report, self.distinct, self.verdict)

    @cached_property
    def critical(self) -> Critical:
        """Return the kernels that take most of the time."""
        from .sections import critical

        runtime = self.report.kernels.runtime
        return critical.collect(self.kernels, launch_s(self.report.machine, runtime.launch))

    @cached_property
    def remedies(self) -> tuple[Remedy, ...]:
        """Return the possible changes, without the ceilings next to them."""
        return bottlenecks.changes(self.report, self.distinct)

    @cached_property
    def bottlenecks(self) -> Bottlenecks:
        """Return the time saved by lifting each ceiling."""
        limits = self.verdict.limits
        return bottlenecks.collect(self.report, self.distinct, limits, self.remedies)

    @cached_property
    def memory(self) -> Memory:
        """Return the live bytes during the run."""
        from .memory_sections import memory

        return memory.collect(self.report, has_device=True)


def collect(report: Report, *, predict: bool = True, count_as: str = "") -> Views:
    """Return the views of ``report``.

    Args:
        report: the analyzed run.
        predict: include predictions.
        count_as: name of a convention, see `perfc.passes.conventions`; none by default.

    Raises:
        PassError: if there is no such convention.
    """
    return LazyViews(report, predict=predict, count_as=count_as)


def document(views: Views, shown: Collection[str] = DEFAULT, top: int | None = TOP) -> Document:
    """Return the sections ``shown`` in the order of ``NAMES``, with the ``top`` slowest kernels."""
    left_out = {n for n in ("prediction", "counts") if getattr(views, n) is None}
    sections = (section(views, n, top) for n in NAMES if n in shown and n not in left_out)
    return Document(headline(views), tuple(sections))


def headline(views: Views) -> str:
    """Return model, target and symbols in one line."""
    a = views.assumptions
    symbols = "".join(f", {s.label} = {s.value}" for s in a.symbols if s.origin != "data")
    precision = f", {a.dtype}" if a.dtype else ""
    return f"{a.path or a.graph} on {a.target}{symbols}, {a.runtime}{precision}"


def section(views: Views, name: str, top: int | None) -> Section:
    """Return one section by name."""
    match name:
        case "assumptions":
            c = views.coverage
            launched = plural(len(views.kernels), "kernel")
            work = f"{launched} for {plural(c.nodes_executed, 'node')}"
            if c.nodes_executed != c.nodes_in_file:
                work += f", {c.nodes_in_file} in the file"
            return assumptions.section(views.assumptions, work)
        case "summary":
            from .sections import summary

            return summary.section(views.summary, views.coverage, views.verdict)
        case "prediction" if views.prediction is not None:
            return prediction.section(views.prediction, views.verdict.confidence)
        case "coverage":
            return coverage.section(views.coverage)
        case "kernels":
            return kernels.section(views.kernels, top)
        case "modules":
            from .sections import modules

            return modules.section(views.module_tree)
        case "source":
            return source.section(views.kernels)
        case "pressure":
            return pressure.section(views.pressure, views.verdict.limits)
        case "ceilings":
            return pressure.ceilings(views.kernels, views.pressure, top)
        case "critical":
            from .sections import critical

            return critical.section(views.critical, views.kernels)
        case "bottlenecks":
            predicted, summed = views.prediction, views.summary.roofline_time_s
            total_s = (summed if predicted is None else predicted.time_s).value or 0.0
            return bottlenecks.section(views.bottlenecks, total_s)
        case "memory":
            from .memory_sections import memory

            return memory.section(views.memory)
        case "counts" if views.counts is not None:
            from . import counts

            return counts.section(views.counts)
        case _:
            raise ValueError(f"no view {name!r}")
