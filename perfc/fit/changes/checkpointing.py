"""Activation checkpointing: part of the forward pass is done again instead of being kept."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perfc.passes.training.implementation import Policy

from ..way import Way

if TYPE_CHECKING:
    from perfc.api import Report

RANK = 25
POLICIES = (Policy.SELECTIVE, Policy.BLOCK)
"""The gentler one first; the optimal one is a search that `perfc analyze` offers."""


def ways(report: Report, gpus: int) -> Iterator[Way]:
    """The step with each policy, where none was asked for."""
    how = report.deployment
    if not how.train or how.checkpointing is not Policy.NONE:
        return
    for policy in POLICIES:
        title = f"--checkpointing {policy.value}"
        yield Way(title, report.under(checkpointing=policy.value))
