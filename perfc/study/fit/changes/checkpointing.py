"""Activation checkpointing: recompute part of the forward pass instead of saving it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perfc.passes.training.implementation import RecomputePolicy

from ..way import Way

if TYPE_CHECKING:
    from perfc.api import Report

RANK = 25
"""Position among the changes: after those that add no time."""
POLICIES = (RecomputePolicy.SELECTIVE, RecomputePolicy.BLOCK)
"""Policies, the one that adds least time first; the optimal one is a search that `perfc analyze`
offers."""


def ways(report: Report, gpus: int) -> Iterator[Way]:
    """Yield the step with each policy, unless one is set."""
    how = report.deployment
    if not how.train or how.checkpointing is not RecomputePolicy.NONE:
        return
    for policy in POLICIES:
        title = f"--checkpointing {policy.value}"
        yield Way(title, report.with_(checkpointing=policy.value))
