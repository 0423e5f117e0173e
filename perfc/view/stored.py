"""Stored tensors of a model file, and their size in the runtime."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, cast

from perfc.ir import Dim, Value, dim_sum
from perfc.passes.memory.liveness import all_weights, in_memory

if TYPE_CHECKING:
    from perfc.api import Report
    from perfc.passes.roofline.parameters import ParameterTable
    from perfc.view.report.memory_sections.footprint import Footprint


class StoredTensors:
    """Stored tensors of a report; part of `perfc.Report`."""

    @cached_property
    def parameter_table(self) -> ParameterTable:
        """Return the parameters of the model; the same for a training step."""
        from perfc.passes.rewriting.untie import Untie
        from perfc.passes.roofline.parameters import Parameters

        report = cast("Report", self)
        # the source has no gradients and optimizer state, which a training step adds to the module
        return report.analyses.get(Parameters(), report.analyses.apply(Untie(), report.source))

    @cached_property
    def footprint(self) -> Footprint:
        """Return the device memory of the run, as the allocator of its framework reserves it."""
        from perfc.view.report.memory_sections.footprint import footprint

        return footprint(cast("Report", self))

    @cached_property
    def weight_bytes(self) -> Dim:
        """Return the bytes of all stored tensors in the runtime; texts, of unknown width, as 0."""
        return dim_sum(w.nbytes or 0 for w in self.resident)

    @cached_property
    def resident(self) -> list[Value]:
        """Return the stored tensors in the runtime."""
        report = cast("Report", self)
        return list(in_memory(all_weights(report.module.graph), report.deployment.table))

    @property
    def has_unsized_weights(self) -> bool:
        """Return True if `weight_bytes` is a lower bound."""
        return any(w.nbytes is None for w in self.resident)
